#include "tree/prompt_cuts.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace cairn {
namespace {

constexpr Token kStart = 9;

// A prompt of zeros with message-start tokens at the given indices.
Tokens PromptOf(size_t tokens, const std::vector<size_t>& starts) {
  Tokens prompt(tokens, 0);
  for (const size_t start : starts) prompt[start] = kStart;
  return prompt;
}

PromptCuts Cuts(size_t tokens, const std::vector<size_t>& starts) {
  return {CutRules{64, {kStart}}, PromptOf(tokens, starts)};
}

TEST(PromptCuts, AreTheMultiplesOfTheGridWithoutMessageStarts) {
  const PromptCuts cuts(64, 200);
  EXPECT_EQ(cuts.AtOrBefore(130), 128U);
  EXPECT_EQ(cuts.AtOrBefore(63), 0U);
  EXPECT_EQ(cuts.After(0), 64U);
  EXPECT_EQ(cuts.After(192), 200U) << "the end of the prompt";
  EXPECT_EQ(cuts.Last(), 192U);
  EXPECT_EQ(PromptCuts(64, 192).Last(), 128U) << "the last token is always prefilled";
  EXPECT_EQ(PromptCuts(1, 200).Last(), 199U);
}

TEST(PromptCuts, LieBehindMessageStarts) {
  const PromptCuts cuts = Cuts(100, {29, 69});
  EXPECT_EQ(cuts.boundaries(), (std::vector<size_t>{30, 70}));
  EXPECT_EQ(cuts.AtOrBefore(29), 0U);
  EXPECT_EQ(cuts.AtOrBefore(30), 30U);
  EXPECT_EQ(cuts.After(0), 30U);
  EXPECT_EQ(cuts.Last(), 70U);
}

TEST(PromptCuts, CountTheGridFromTheBoundary) {
  const PromptCuts cuts = Cuts(600, {29, 29 + 191, 500});
  EXPECT_EQ(cuts.boundaries(), (std::vector<size_t>{30, 221, 501}));
  EXPECT_EQ(cuts.After(30), 94U);
  EXPECT_EQ(cuts.After(158), 221U);
  EXPECT_EQ(cuts.AtOrBefore(220), 158U);
  EXPECT_EQ(cuts.AtOrBefore(450), 221U + 192U);
  EXPECT_EQ(cuts.Last(), 501U + 64U);
}

TEST(PromptCuts, LeaveOutBoundariesThatAreTooClose) {
  EXPECT_EQ(Cuts(100, {3, 29, 30, 36, 37, 38}).boundaries(), (std::vector<size_t>{30, 38}));
}

TEST(PromptCuts, DependOnlyOnTheTokensBeforeThem) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    std::vector<size_t> starts;
    for (size_t at = 0; at < 1000; at += 1 + random() % 300) starts.push_back(at);
    const Tokens prompt = PromptOf(1000, starts);
    const CutRules rules{64, {kStart}};
    const PromptCuts whole(rules, prompt);
    const size_t length = 1 + random() % prompt.size();
    const PromptCuts prefix(rules, TokenSpan(prompt).first(length));
    for (const size_t boundary : whole.boundaries()) {
      EXPECT_TRUE(boundary > length || prefix.Has(boundary));
    }
    for (const size_t boundary : prefix.boundaries()) EXPECT_TRUE(whole.Has(boundary));
  }
}

TEST(PromptCuts, AgreeWithAWalkOverAllPositions) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100; ++i) {
    std::vector<size_t> starts;
    for (size_t at = 20; at < 590; at += 1 + random() % 250) starts.push_back(at);
    const PromptCuts cuts = Cuts(600, starts);
    size_t last = 0;
    for (size_t position = 0; position < 600; ++position) {
      const size_t begin = cuts.BoundaryAtOrBefore(position);
      const bool is_cut = (position - begin) % 64 == 0;
      if (is_cut) last = position;
      EXPECT_EQ(cuts.AtOrBefore(position), last) << position;
      EXPECT_EQ(cuts.Has(position), is_cut) << position;
    }
    for (size_t position = 0; position < 600; ++position) {
      size_t next = position + 1;
      while (next < 600 && !cuts.Has(next)) ++next;
      EXPECT_EQ(cuts.After(position), next) << position;
    }
  }
}

TEST(PromptCuts, PutACheckpointBehindTheMessageStartThatFollows) {
  const PromptCuts cuts = Cuts(300, {99});
  EXPECT_EQ(cuts.ForCheckpoint(99), 100U);
  EXPECT_EQ(cuts.ForCheckpoint(98), 64U);
  EXPECT_EQ(cuts.ForCheckpoint(170), 164U);
}

TEST(PromptCuts, EndTheFirstChunkAfterAnAnswerAtACutThatIsFarEnough) {
  const PromptCuts cuts = Cuts(600, {102, 130});
  EXPECT_EQ(cuts.FirstAfterAnswer(100, 8), 131U);
  EXPECT_EQ(cuts.FirstAfterAnswer(103, 8), 103U) << "the answer ends at a cut";
  EXPECT_EQ(cuts.FirstAfterAnswer(125, 64), 195U);
  EXPECT_EQ(cuts.FirstAfterAnswer(599, 64), 600U);
}

TEST(CleanAfter, IsTheEndOfAChunkBetweenBoundaries) {
  const std::vector<size_t> boundaries = {30, 221};
  EXPECT_EQ(CleanAfter(0, {0, 30}, 64, boundaries), 30U);
  EXPECT_EQ(CleanAfter(30, {30, 222 - 64}, 64, boundaries), 158U);
  EXPECT_EQ(CleanAfter(158, {158, 221}, 64, boundaries), 221U);
}

TEST(CleanAfter, IsTheLastStepOfTheGridWhereThePromptEnds) {
  EXPECT_EQ(CleanAfter(0, {0, 200}, 64, {}), 192U);
  EXPECT_EQ(CleanAfter(30, {30, 100}, 64, {30}), 94U);
  EXPECT_EQ(CleanAfter(94, {94, 100}, 64, {30}), 94U);
}

TEST(CleanAfter, DoesNotGrowOverAChunkThatNoColdRunHas) {
  EXPECT_EQ(CleanAfter(10, {10, 100}, 64, {}), 10U) << "it begins off the grid";
  EXPECT_EQ(CleanAfter(0, {64, 128}, 64, {}), 0U) << "it follows unclean tokens";
  EXPECT_EQ(CleanAfter(94, {94, 221}, 64, {30, 221}), 158U) << "a cold run cuts at 158";
  EXPECT_EQ(CleanAfter(0, {0, 64}, 64, {30}), 0U) << "it ignores a boundary";
}

}  // namespace
}  // namespace cairn
