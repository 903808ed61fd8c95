#include "store/object_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace cairn {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kNowNs = int64_t{1'800'000'000} * kSecondNs;
constexpr double kHalfLifeS = 100;
constexpr int64_t kHalfLifeNs = 100 * kSecondNs;

TEST(ObjectRank, FallsByOneInAHalfLifeAndRisesByOneWithTwiceTheWorth) {
  const double rank = ObjectRank(1000, 50, kNowNs, kNowNs, kHalfLifeS);
  EXPECT_NEAR(rank - ObjectRank(1000, 50, kNowNs - kHalfLifeNs, kNowNs, kHalfLifeS), 1, 1e-6);
  EXPECT_NEAR(ObjectRank(2000, 50, kNowNs, kNowNs, kHalfLifeS) - rank, 1, 1e-6);
  EXPECT_NEAR(rank - ObjectRank(1000, 100, kNowNs, kNowNs, kHalfLifeS), 1, 1e-6);
}

TEST(ObjectRank, OrdersTwoObjectsAlikeAtAnyLaterMoment) {
  const auto first_is_higher = [](int64_t now_ns) {
    return ObjectRank(1000, 50, kNowNs - 3 * kHalfLifeNs, now_ns, kHalfLifeS) >
           ObjectRank(100, 50, kNowNs, now_ns, kHalfLifeS);
  };
  EXPECT_TRUE(first_is_higher(kNowNs));
  EXPECT_TRUE(first_is_higher(kNowNs + 50 * kHalfLifeNs));
}

TEST(ObjectRank, IsANumberWhateverAFileSays) {
  for (const double worth :
       {0.0, -5.0, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    for (const int64_t time_ns :
         {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
      EXPECT_TRUE(std::isfinite(ObjectRank(worth, 0, time_ns, kNowNs, kHalfLifeS)));
    }
  }
}

TEST(ObjectRank, BelievesNoTimeThatAClockGoneWrongHasLeftBehind) {
  constexpr int64_t kYearNs = int64_t{365} * 86'400 * kSecondNs;
  const double now = ObjectRank(1000, 50, kNowNs, kNowNs, kHalfLifeS);
  EXPECT_NEAR(ObjectRank(1000, 50, kNowNs + 10 * kYearNs, kNowNs, kHalfLifeS), now - 1, 1e-6);
  // A time that uses can explain is believed.
  EXPECT_GT(ObjectRank(1000, 50, kNowNs + 19 * kHalfLifeNs, kNowNs, kHalfLifeS), now);
}

TEST(TimeAfterUses, CountsWhatIsLeftOfEarlierUses) {
  // One use now counts for the use and for the writing.
  EXPECT_EQ(TimeAfterUses(kNowNs, kNowNs, 1, kHalfLifeS), kNowNs + kHalfLifeNs);
  EXPECT_EQ(TimeAfterUses(kNowNs, kNowNs, 3, kHalfLifeS), kNowNs + 2 * kHalfLifeNs);
  // A half-life later, half a use is left.
  EXPECT_NEAR(
      static_cast<double>(TimeAfterUses(kNowNs - kHalfLifeNs, kNowNs, 1, kHalfLifeS) - kNowNs),
      std::log2(1.5) * static_cast<double>(kHalfLifeNs), 1e3);
  // Uses of long ago do not count.
  EXPECT_EQ(TimeAfterUses(0, kNowNs, 1, kHalfLifeS), kNowNs);
}

TEST(TimeAfterUses, AddsUpTheSameInOneStepAndInMany) {
  int64_t by_one = kNowNs;
  for (int i = 0; i < 7; ++i) by_one = TimeAfterUses(by_one, kNowNs, 1, kHalfLifeS);
  const int64_t at_once = TimeAfterUses(kNowNs, kNowNs, 7, kHalfLifeS);
  EXPECT_NEAR(static_cast<double>(by_one - at_once), 0, 1e4);
}

TEST(TimeAfterUses, BelievesNoTimeThatIsFarAhead) {
  const int64_t time_ns = TimeAfterUses(std::numeric_limits<int64_t>::max(), kNowNs, 1, kHalfLifeS);
  EXPECT_LT(time_ns, kNowNs + 21 * kHalfLifeNs);
  EXPECT_GT(TimeAfterUses(kNowNs, kNowNs, 1, 1e300), kNowNs);
}

}  // namespace
}  // namespace cairn
