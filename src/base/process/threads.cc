#include "base/process/threads.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __linux__
#endif

namespace cairn {

void LowerThreadPriority() {
#ifdef __linux__
  // Linux, unlike POSIX, has a nice value per thread. Beside a busy thread it still gets a tenth of
  // a processor, so it never starves.
  constexpr int kLowered = 10;
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kLowered);
#endif
}

}  // namespace cairn
