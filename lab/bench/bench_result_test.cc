#include "lab/bench/bench_result.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(Percentile, LiesOnALineBetweenTheNearestValues) {
  EXPECT_EQ(Percentile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(Percentile({1, 100}, 0.5), 50.5);
  EXPECT_DOUBLE_EQ(Percentile({0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}, 0.9), 90);
  EXPECT_DOUBLE_EQ(Percentile({10, 20}, 0.99), 19.9);
}

TEST(Percentile, OfOneValueIsThatValueAndOfNoneZero) {
  EXPECT_EQ(Percentile({7}, 0), 7);
  EXPECT_EQ(Percentile({7}, 0.99), 7);
  EXPECT_EQ(Percentile({7, 9}, 1), 9);
  EXPECT_EQ(Percentile({}, 0.5), 0);
}

}  // namespace
}  // namespace cairn
