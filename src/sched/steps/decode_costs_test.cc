#include "sched/steps/speculation.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace cairn {
namespace {

void AddTwice(DecodeCosts* costs, size_t tokens, double ms) {
  // The first decode of a size does not count.
  costs->Add(tokens, ms * 10);
  costs->Add(tokens, ms);
}

TEST(DecodeCosts, LiesBetweenItsNeighboursWhereNothingWasMeasured) {
  DecodeCosts costs;
  EXPECT_EQ(costs.Of(3), 0);
  AddTwice(&costs, 1, 10);
  AddTwice(&costs, 5, 18);
  EXPECT_DOUBLE_EQ(costs.Of(1), 10);
  EXPECT_DOUBLE_EQ(costs.Of(3), 14);
  EXPECT_DOUBLE_EQ(costs.Of(5), 18);
  EXPECT_GT(costs.Of(10), 18);
}

TEST(BestDraftLength, IsZeroBeforeAnythingWasMeasured) {
  EXPECT_EQ(BestDraftLength({}, {1, 1}, 0.9, {0}, 8), 0u);
}

TEST(BestDraftLength, IsAllThatMayBeWhereMoreTokensCostNothing) {
  DecodeCosts costs;
  AddTwice(&costs, 1, 10);
  AddTwice(&costs, 9, 10);
  EXPECT_EQ(BestDraftLength(costs, {1, 1}, 0.9, {0}, 8), 8u);
}

TEST(BestDraftLength, IsZeroWhereEachTokenCostsAsMuchAsTheFirst) {
  DecodeCosts costs;
  for (size_t tokens = 1; tokens <= 9; ++tokens) {
    AddTwice(&costs, tokens, 10 * static_cast<double>(tokens));
  }
  EXPECT_EQ(BestDraftLength(costs, {1, 1}, 0.9, {0}, 8), 0u);
}

TEST(BestDraftLength, IsShorterTheFewerTokensAreAccepted) {
  DecodeCosts costs;
  for (size_t tokens = 1; tokens <= 17; ++tokens) {
    AddTwice(&costs, tokens, 10 + static_cast<double>(tokens));
  }
  size_t before = 17;
  for (const double accepted : {0.95, 0.8, 0.5, 0.1}) {
    const size_t length = BestDraftLength(costs, {1, 1}, accepted, {0}, 16);
    EXPECT_LT(length, before) << accepted;
    before = length;
  }
  EXPECT_EQ(BestDraftLength(costs, {1, 1}, 0.05, {0}, 16), 0u);
}

TEST(BestDraftLength, CountsTheSnapshotThatADraftNeeds) {
  DecodeCosts costs;
  AddTwice(&costs, 1, 10);
  AddTwice(&costs, 9, 12);
  EXPECT_GT(BestDraftLength(costs, {1, 1}, 0.7, {5}, 8), 0u);
  EXPECT_EQ(BestDraftLength(costs, {1, 1}, 0.7, {50}, 8), 0u);
  // No longer than what can be rolled back without one.
  EXPECT_EQ(BestDraftLength(costs, {1, 1}, 0.7, {50, 3}, 8), 3u);
}

TEST(BestDraftLength, CountsTheTimeOfEachDraftedToken) {
  DecodeCosts costs;
  AddTwice(&costs, 1, 10);
  AddTwice(&costs, 9, 12);
  EXPECT_EQ(BestDraftLength(costs, {1, 1}, 0.7, {0, 0, 20}, 8), 0u);
  const size_t cheap = BestDraftLength(costs, {1, 1}, 0.7, {0, 0, 0.1}, 8);
  const size_t dear = BestDraftLength(costs, {1, 1}, 0.7, {0, 0, 3}, 8);
  EXPECT_LT(dear, cheap);
  EXPECT_GT(dear, 0u);
}

TEST(DecodeCosts, TriesALargerDecodeThatWasNeverMeasured) {
  DecodeCosts costs;
  AddTwice(&costs, 1, 10);
  EXPECT_EQ(BestDraftLength(costs, {1, 1}, 0.9, {0}, 4), 4u);
}

}  // namespace
}  // namespace cairn
