#include "lab/load/load_client.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

using Values = std::vector<double>;

TEST(LoadStats, AGapBelongsToTheWindowInWhichItsLaterPieceCame) {
  const PieceTimes answer = {{0, 10, 30, 60, 100}, 0, true};
  EXPECT_EQ(GapsIn(answer, {20, 80}), (Values{20, 30, 20}));
  EXPECT_EQ(GapsIn(answer, {0, 1000}), (Values{10, 20, 30, 40}));
  EXPECT_EQ(GapsIn(answer, {200, 300}), Values{});
}

TEST(LoadStats, AnAnswerThatStandsStillHasAGapUpToTheWindowsEnd) {
  EXPECT_EQ(GapsIn({{0, 10}, 0, false}, {20, 80}), (Values{70}));
  EXPECT_EQ(GapsIn({{0, 10, 500}, 0, false}, {20, 80}), (Values{70}));
  EXPECT_EQ(GapsIn({{0, 10}, 0, true}, {20, 80}), Values{}) << "nobody waits after the end";
}

TEST(LoadStats, AnAnswerThatBeginsAfterTheWindowHasNoGapInIt) {
  EXPECT_EQ(GapsIn({{100, 110, 120}, 0, false}, {20, 80}), Values{});
  EXPECT_EQ(GapsIn({{}, 0, false}, {20, 80}), Values{});
}

TEST(LoadStats, AllStreamFromTheLastFirstPieceToTheFirstLastOne) {
  const TimeWindow window = TimeOfAll({{{0, 50, 100}, 0, true}, {{20, 200}, 0, true}});
  EXPECT_EQ(window.begin_ms, 20);
  EXPECT_EQ(window.end_ms, 100);
  EXPECT_EQ(TimeOfAll({{{0, 10}, 0, true}, {{20, 200}, 0, true}}).length_ms(), 0);
  EXPECT_EQ(TimeOfAll({{{0, 10}, 0, true}, {{}, 0, true}}).length_ms(), 0);
  EXPECT_EQ(TimeOfAll({}).length_ms(), 0);
}

TEST(LoadStats, SpeedCountsTheTokensOfAllAnswersInTheWindow) {
  const PieceTimes one = {{0, 10, 20, 30}, 0, true};
  const PieceTimes two = {{5, 15, 25, 35}, 8, true};  // two tokens per delta
  EXPECT_DOUBLE_EQ(TokensPerSecond({one}, {0, 30}), 100);
  EXPECT_DOUBLE_EQ(TokensPerSecond({one, two}, {0, 40}), 300);
  EXPECT_EQ(TokensPerSecond({one}, {30, 30}), 0);
}

TEST(LoadStats, ASpreadIsMedianNinetyNinthPercentileAndLargest) {
  Values values;
  for (int i = 0; i <= 100; ++i) values.push_back(100 - i);
  const Spread spread = SpreadOf(values);
  EXPECT_DOUBLE_EQ(spread.p50, 50);
  EXPECT_DOUBLE_EQ(spread.p99, 99);
  EXPECT_DOUBLE_EQ(spread.max, 100);
  EXPECT_EQ(SpreadOf({}).p99, 0);
  EXPECT_EQ(SpreadOf({7}).p99, 7);
}

TEST(LoadStats, NothingIsARatioOfNothing) {
  EXPECT_EQ(RatioOf(3, 0), 0);
  EXPECT_EQ(RatioOf(3, 2), 1.5);
}

}  // namespace
}  // namespace cairn
