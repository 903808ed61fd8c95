#include "fleet/remote/tier/remote_shared.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;

TEST(MeasuredPace, FollowsTransfersAndIgnoresSmallOnes) {
  MeasuredPace pace;
  EXPECT_EQ(pace.bytes_per_ms(0), MeasuredPace::kAssumedBytesPerMs);
  pace.AddTransfer(1000, 1000, 0);
  pace.AddUnfinished(1000, 1000, 0);
  EXPECT_EQ(pace.bytes_per_ms(0), MeasuredPace::kAssumedBytesPerMs);
  for (int i = 0; i < 40; ++i) pace.AddTransfer(kMib, 1, 0);
  EXPECT_NEAR(pace.bytes_per_ms(0), static_cast<double>(kMib), 10);
  // What is faster than assumed stays.
  EXPECT_EQ(pace.bytes_per_ms(1e9), pace.bytes_per_ms(0));
}

TEST(MeasuredPace, ATransferThatDidNotEndIsNoFasterThanItsPartThatCouldHaveCome) {
  MeasuredPace pace;
  pace.AddUnfinished(kMib, 1024, 0);
  EXPECT_EQ(pace.bytes_per_ms(0), 1024.0);
  pace.AddUnfinished(10 * kMib, 1024, 0);
  EXPECT_EQ(pace.bytes_per_ms(0), 1024.0);
}

TEST(MeasuredPace, ASlowStoreIsTriedAgain) {
  MeasuredPace pace;
  pace.AddUnfinished(kMib, 1024, 1000);
  EXPECT_NEAR(pace.bytes_per_ms(21'000), 2048, 1);
  EXPECT_EQ(pace.bytes_per_ms(10 * 60'000), MeasuredPace::kAssumedBytesPerMs);
}

}  // namespace
}  // namespace cairn
