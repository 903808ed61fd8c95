#include "store/object_rank.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"

namespace cairn {
namespace {

// log2 of the largest number of uses that a time is allowed to stand for.
constexpr double kHalfLivesAheadMax = 20;
// Far below the range of a 64-bit time.
constexpr double kSecondsAheadMax = 2e9;
constexpr double kWorthMsMin = 1e-9;
constexpr double kWorthMsMax = 1e18;

// A time too far ahead for any number of uses was set under a wrong clock, here or on the machine
// that wrote the file. If it were believed, the object could not be evicted before that time. It
// counts as used a half-life ago, so objects used now rank higher.
constexpr double kOfAWrongClock = -1;

// In half-lives; negative if the last use was before now.
double Ahead(int64_t time_ns, int64_t now_ns, double half_life_s) {
  const double seconds =
      (static_cast<double>(time_ns) - static_cast<double>(now_ns)) / kNsPerSecond;
  const double ahead = seconds / half_life_s;
  return ahead > kHalfLivesAheadMax ? kOfAWrongClock : ahead;
}

}  // namespace

int64_t TimeAfterUses(int64_t time_ns, int64_t now_ns, uint64_t uses, double half_life_s) {
  const double left = std::exp2(Ahead(time_ns, now_ns, half_life_s));
  const double ahead = std::min(std::log2(left + static_cast<double>(uses)), kHalfLivesAheadMax);
  const double seconds = half_life_s * ahead;
  return now_ns + std::llround(std::min(seconds, kSecondsAheadMax) * kNsPerSecond);
}

double ObjectRank(double worth_ms, uint64_t bytes, int64_t time_ns, int64_t now_ns,
                  double half_life_s) {
  const double worth =
      std::isnan(worth_ms) ? kWorthMsMin : std::clamp(worth_ms, kWorthMsMin, kWorthMsMax);
  const double size = static_cast<double>(std::max<uint64_t>(bytes, 1));
  return std::log2(worth / size) + Ahead(time_ns, now_ns, half_life_s);
}

}  // namespace cairn
