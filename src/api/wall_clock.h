// The machine's wall clock, for dates that clients and templates are shown. Nothing that decides
// anything asks it: see base/clock.h.

#ifndef CAIRN_API_WALL_CLOCK_H_
#define CAIRN_API_WALL_CLOCK_H_

#include <cstdint>

namespace cairn {

// Seconds since 1970. Any thread.
int64_t NowUnixS();

}  // namespace cairn

#endif  // CAIRN_API_WALL_CLOCK_H_
