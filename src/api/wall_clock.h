// The machine's wall clock, for dates shown to clients and templates. No decision depends on it:
// see base/clock.h.

#ifndef CAIRN_API_WALL_CLOCK_H_
#define CAIRN_API_WALL_CLOCK_H_

#include <cstdint>

namespace cairn {

// Seconds since 1970. Any thread.
int64_t NowUnixS();

}  // namespace cairn

#endif  // CAIRN_API_WALL_CLOCK_H_
