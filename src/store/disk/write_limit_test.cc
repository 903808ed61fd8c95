#include "store/disk/write_limit.h"

#include <gtest/gtest.h>

#include "testing/store/disk_fixture.h"

namespace cairn {
namespace {

constexpr int64_t kHourNs = 3600 * test::kSecondNs;
constexpr int64_t kNoonNs = 500'000 * kHourNs;

TEST(WriteLimit, CountsTheHourAndThe23BeforeIt) {
  WriteLimit limit(0);
  EXPECT_EQ(limit.LastDayBytes(kNoonNs), 0u);
  limit.Add(kNoonNs, 100);
  limit.Add(kNoonNs + kHourNs / 2, 20);
  limit.Add(kNoonNs + 5 * kHourNs, 3);
  EXPECT_EQ(limit.LastDayBytes(kNoonNs + 5 * kHourNs), 123u);
  EXPECT_EQ(limit.LastDayBytes(kNoonNs + 24 * kHourNs - 1), 123u);
  EXPECT_EQ(limit.LastDayBytes(kNoonNs + 24 * kHourNs), 3u);
  EXPECT_EQ(limit.LastDayBytes(kNoonNs + 29 * kHourNs), 0u);
}

TEST(WriteLimit, ForgetsTheHoursThatPassedWithoutAWrite) {
  WriteLimit limit(0);
  limit.Add(kNoonNs, 100);
  limit.Add(kNoonNs + 23 * kHourNs, 20);
  limit.Add(kNoonNs + 30 * kHourNs, 3);
  EXPECT_EQ(limit.LastDayBytes(kNoonNs + 30 * kHourNs), 23u);
  limit.Add(kNoonNs + 1000 * kHourNs, 1);
  EXPECT_EQ(limit.LastDayBytes(kNoonNs + 1000 * kHourNs), 1u);
}

TEST(WriteLimit, CountsOnUnderAClockThatIsSetBack) {
  WriteLimit limit(0);
  limit.Add(kNoonNs, 100);
  limit.Add(kNoonNs - 100 * kHourNs, 20);
  EXPECT_EQ(limit.LastDayBytes(kNoonNs - 100 * kHourNs), 120u);
  EXPECT_EQ(limit.LastDayBytes(kNoonNs + 23 * kHourNs), 120u);
}

TEST(WriteLimit, IsReachedWithWhatIsQueuedAndNoMoreADayLater) {
  WriteLimit limit(100);
  limit.Add(kNoonNs, 60);
  EXPECT_FALSE(limit.IsReached(kNoonNs, 39));
  EXPECT_TRUE(limit.IsReached(kNoonNs, 40));
  EXPECT_FALSE(limit.IsReached(kNoonNs + 24 * kHourNs, 40));
}

TEST(WriteLimit, OfZeroIsNeverReached) {
  WriteLimit limit(0);
  limit.Add(kNoonNs, UINT64_MAX / 2);
  EXPECT_FALSE(limit.IsReached(kNoonNs, UINT64_MAX / 4));
}

}  // namespace
}  // namespace cairn
