#include "api/wall_clock.h"

#include <chrono>

namespace cairn {

int64_t NowUnixS() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace cairn
