#include "store/object_rank.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"

namespace cairn {
namespace {

// log2 of the most uses that a time is believed to stand for.
constexpr double kHalfLivesAheadMax = 20;
// Far less than what a 64-bit time could not take.
constexpr double kSecondsAheadMax = 2e9;
constexpr double kWorthMsMin = 1e-9;
constexpr double kWorthMsMax = 1e18;

// What is dated so far ahead that no number of uses would explain it is of a clock that was wrong,
// here or where it was written. Believed, nothing could push it out until that time has come; so it
// counts as used a half-life ago, and what is used now goes before it.
constexpr double kOfAWrongClock = -1;

// In half-lives; negative for what was used last before now.
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
