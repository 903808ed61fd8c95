#include "base/clock.h"

#include <chrono>

namespace cairn {

double SteadyClock::NowMs() const {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(since_start).count();
}

}  // namespace cairn
