#include "cache/cache_budget.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

constexpr size_t kMib = size_t{1} << 20;
constexpr size_t kLimit = 3200 * kMib;
constexpr size_t kReserve = 100 * kMib;

MemoryRoom Left(uint64_t bytes, bool refused = false) {
  return {kLimit, bytes, "a test", refused};
}

TEST(CacheBudget, IsWhatWasAskedForWhileThereIsRoom) {
  CacheBudget budget(800 * kMib);
  EXPECT_EQ(CacheBudget::ReserveOf(kLimit), kReserve);
  EXPECT_EQ(budget.Next(Left(2000 * kMib), 700 * kMib, 0), 800 * kMib);
  EXPECT_EQ(budget.Next(Left(kReserve), 700 * kMib, 1), 800 * kMib);
}

TEST(CacheBudget, GoesDownUntilTwiceTheReserveIsLeft) {
  CacheBudget budget(800 * kMib);
  EXPECT_EQ(budget.Next(Left(60 * kMib), 700 * kMib, 0), 560 * kMib);
  // The bytes that it dropped are free now.
  EXPECT_EQ(budget.Next(Left(200 * kMib), 560 * kMib, 250), 560 * kMib);
  // Another process took them.
  EXPECT_EQ(budget.Next(Left(0), 560 * kMib, 500), 360 * kMib);
  EXPECT_EQ(budget.Next(Left(0), 100 * kMib, 750), 0u);
}

TEST(CacheBudget, GoesDownByAQuarterWhenAnAllocationFailed) {
  CacheBudget budget(800 * kMib);
  EXPECT_EQ(budget.Next(Left(2000 * kMib, true), 400 * kMib, 0), 300 * kMib);
  EXPECT_EQ(budget.Next(Left(0, true), 300 * kMib, 1), 100 * kMib);
}

TEST(CacheBudget, GrowsAgainBitByBitOnceItWasCalm) {
  CacheBudget budget(800 * kMib);
  budget.Next(Left(0), 700 * kMib, 1000);
  ASSERT_EQ(budget.now(), 500 * kMib);
  EXPECT_EQ(budget.Next(Left(2000 * kMib), 500 * kMib, 30'999), 500 * kMib);
  EXPECT_EQ(budget.Next(Left(400 * kMib), 500 * kMib, 31'000), 600 * kMib);
  EXPECT_EQ(budget.Next(Left(200 * kMib), 600 * kMib, 31'250), 600 * kMib);
  EXPECT_EQ(budget.Next(Left(2000 * kMib), 600 * kMib, 31'500), 800 * kMib);
}

TEST(CacheBudget, FollowsANewConfiguredBudget) {
  CacheBudget budget(800 * kMib);
  budget.SetAsked(300 * kMib);
  EXPECT_EQ(budget.Next(Left(2000 * kMib), 700 * kMib, 0), 300 * kMib);
  budget.SetAsked(900 * kMib);
  EXPECT_EQ(budget.Next(Left(2000 * kMib), 300 * kMib, 1), 900 * kMib);
}

TEST(CacheBudget, GrowsNoFasterForANewConfiguredBudgetWhereMemoryWasShort) {
  CacheBudget budget(800 * kMib);
  budget.Next(Left(0), 700 * kMib, 1000);
  ASSERT_EQ(budget.now(), 500 * kMib);
  budget.SetAsked(900 * kMib);
  EXPECT_EQ(budget.Next(Left(2000 * kMib), 500 * kMib, 1001), 500 * kMib);
  EXPECT_EQ(budget.Next(Left(2000 * kMib), 500 * kMib, 31'001), 900 * kMib);
  budget.SetAsked(400 * kMib);
  EXPECT_EQ(budget.now(), 400 * kMib);
}

TEST(CacheBudget, WithoutALimitItGoesDownAsAnyOther) {
  CacheBudget budget(SIZE_MAX);
  EXPECT_EQ(budget.Next(Left(0), 700 * kMib, 0), 500 * kMib);
  EXPECT_GT(budget.Next(Left(2000 * kMib), 500 * kMib, 60'000), 1000 * kMib);
}

}  // namespace
}  // namespace cairn
