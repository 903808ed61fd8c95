#include "http/connections/socket.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

constexpr double kPauseMs = 30'000;

TEST(Pace, OnePauseMayBeAsLongAsAllowed) {
  Pace pace(kPauseMs, 1024);
  pace.Wait(kPauseMs - 1);
  EXPECT_GT(pace.left_ms(), 0);
  pace.Wait(1);
  EXPECT_EQ(pace.left_ms(), 0);
}

TEST(Pace, AByteNowAndThenDoesNotMakeUpForTheTimeBetween) {
  Pace pace(kPauseMs, 1024);
  int bytes = 0;
  for (; pace.left_ms() > 0; ++bytes) {
    pace.Wait(5'000);
    pace.Move(1);
  }
  EXPECT_LE(bytes, 7) << "without a least rate it would go on for ever";
}

TEST(Pace, AClientAtTheLeastRateGoesOn) {
  Pace pace(kPauseMs, 1024);
  for (int second = 0; second < 10'000; ++second) {
    pace.Wait(1'000);
    pace.Move(1024);
    ASSERT_GT(pace.left_ms(), 0);
  }
}

TEST(Pace, BytesInAdvanceBuyNoLongerPause) {
  Pace pace(kPauseMs, 1024);
  pace.Move(1 << 30);
  pace.Wait(kPauseMs);
  EXPECT_EQ(pace.left_ms(), 0);
}

TEST(Pace, WithoutALeastRateEveryByteMakesUpForAll) {
  Pace pace(kPauseMs, 0);
  pace.Wait(kPauseMs - 1);
  pace.Move(1);
  EXPECT_EQ(pace.left_ms(), kPauseMs);
}

}  // namespace
}  // namespace cairn
