#include "base/histogram.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(Histogram, CountsAValueOnABoundBelowIt) {
  Histogram<2> histogram({1, 5});
  for (const double value : {0.5, 1.0, 1.5, 5.0, 5.5, 100.0}) histogram.Add(value);
  EXPECT_EQ(histogram.CountTo(0), 2u);
  EXPECT_EQ(histogram.CountTo(1), 4u);
  EXPECT_EQ(histogram.CountTo(2), 6u);
  EXPECT_EQ(histogram.count(), 6u);
  EXPECT_DOUBLE_EQ(histogram.sum(), 113.5);
}

TEST(Histogram, OfNothingIsZeroEverywhere) {
  const Histogram<1> histogram({1});
  EXPECT_EQ(histogram.CountTo(0), 0u);
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.sum(), 0);
}

TEST(SecondsHistogram, TakesMilliseconds) {
  SecondsHistogram histogram;
  histogram.AddMs(1);
  histogram.AddMs(2'000'000);
  EXPECT_EQ(histogram.CountTo(0), 1u);
  EXPECT_EQ(histogram.CountTo(histogram.bounds().size() - 1), 1u);
  EXPECT_EQ(histogram.count(), 2u);
  EXPECT_DOUBLE_EQ(histogram.sum(), 2000.001);
}

TEST(SecondsHistogram, HasBoundsThatRise) {
  for (size_t i = 1; i < kSecondsBounds.size(); ++i) {
    EXPECT_LT(kSecondsBounds[i - 1], kSecondsBounds[i]);
  }
}

}  // namespace
}  // namespace cairn
