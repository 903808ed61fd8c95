#include "sched/slots/restorer.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(MeasuredRate, IsZeroBeforeAnythingWasMeasured) {
  MeasuredRate rate;
  rate.Add(100, 0);
  rate.Add(0, 100);
  EXPECT_EQ(rate.units_per_ms(), 0);
  EXPECT_EQ(rate.ms_per_unit(), 0);
}

TEST(MeasuredRate, CountsPiecesByTheirSize) {
  MeasuredRate rate;
  rate.Add(10'000, 10);
  // Each pays a fixed cost of a millisecond, and hardly anything else.
  for (int i = 0; i < 3; ++i) rate.Add(10, 1);
  EXPECT_GT(rate.units_per_ms(), 500);
  EXPECT_DOUBLE_EQ(rate.units_per_ms() * rate.ms_per_unit(), 1);
}

TEST(MeasuredRate, ForgetsWhatWasMeasuredLongAgo) {
  MeasuredRate rate;
  rate.Add(1000, 1);
  for (int i = 0; i < 30; ++i) rate.Add(1000, 10);
  EXPECT_NEAR(rate.units_per_ms(), 100, 1);
}

}  // namespace
}  // namespace cairn
