#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace cairn {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "cairn: %s:%d: this must hold and does not: %s\n", file, line, condition);
  std::abort();
}

}  // namespace cairn
