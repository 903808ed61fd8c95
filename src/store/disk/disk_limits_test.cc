#include "store/disk/disk_limits.h"

#include <gtest/gtest.h>

#include "testing/store/disk_fixture.h"

namespace cairn {
namespace {

constexpr uint64_t kGib = uint64_t{1} << 30;
constexpr int64_t kHourNs = 3600 * test::kSecondNs;
constexpr int64_t kNoonNs = 500'000 * kHourNs;

TEST(DiskBudget, IsATenthOfTheRoomOr32GibWhereAFifthStaysFree) {
  EXPECT_EQ(DiskBudget::Fitting(1000 * kGib, 2000 * kGib), 100 * kGib);
  EXPECT_EQ(DiskBudget::Fitting(200 * kGib, 500 * kGib), 32 * kGib);
  EXPECT_EQ(DiskBudget::Fitting(132 * kGib, 500 * kGib), 32 * kGib)
      << "a fifth is left to the byte";
  EXPECT_EQ(DiskBudget::Fitting(130 * kGib, 500 * kGib), 13 * kGib);
  EXPECT_EQ(DiskBudget::Fitting(20 * kGib, 40 * kGib), 2 * kGib);
  EXPECT_EQ(DiskBudget::Fitting(0, 40 * kGib), 0u);
}

TEST(DiskBudget, CountsTheFolderAsFreeSoThatARestartChoosesTheSame) {
  DiskBudget first(std::nullopt);
  first.LookAt({1000 * kGib, 2000 * kGib}, 0);
  DiskBudget restarted(std::nullopt);
  restarted.LookAt({910 * kGib, 2000 * kGib}, 90 * kGib);
  EXPECT_EQ(first.bytes_max(), 100 * kGib);
  EXPECT_EQ(restarted.bytes_max(), 100 * kGib);
}

TEST(DiskBudget, ShrinksToHalfOfWhatOthersLeaveAndGrowsNoFurtherThanItWas) {
  DiskBudget budget(std::nullopt);
  budget.LookAt({1000 * kGib, 2000 * kGib}, 0);
  budget.LookAt({120 * kGib, 2000 * kGib}, 80 * kGib);
  EXPECT_EQ(budget.bytes_max(), 100 * kGib);
  EXPECT_FALSE(budget.is_shrunk());
  budget.LookAt({20 * kGib, 2000 * kGib}, 80 * kGib);
  EXPECT_EQ(budget.bytes_max(), 50 * kGib);
  EXPECT_TRUE(budget.is_shrunk());
  budget.LookAt({1900 * kGib, 2000 * kGib}, 50 * kGib);
  EXPECT_EQ(budget.bytes_max(), 100 * kGib);
  EXPECT_FALSE(budget.is_shrunk());
}

TEST(DiskBudget, ThatTheUserNamedStaysWhateverTheDeviceHas) {
  DiskBudget budget(5 * kGib);
  budget.LookAt({1 * kGib, 2000 * kGib}, 4 * kGib);
  EXPECT_EQ(budget.bytes_max(), 5 * kGib);
  EXPECT_FALSE(budget.is_shrunk());
}

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
