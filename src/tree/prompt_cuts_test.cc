#include "tree/prompt_cuts.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "media/media_tokens.h"

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

// Found as a prefill of long histories that took 1.4 times as long as llama-server's.
TEST(PromptCuts, HaveBoundariesFurtherApartTheDeeperTheyLie) {
  const CutRules rules{64, {kStart}, 64};
  EXPECT_EQ(rules.GapAt(0), kBoundaryGapTokens);
  EXPECT_EQ(rules.GapAt(64 * kBoundaryGapTokens), kBoundaryGapTokens);
  EXPECT_EQ(rules.GapAt(6400), 100U);
  EXPECT_EQ(rules.GapAt(10'000'000), kBoundaryGapTokensMax);
  Tokens prompt(10'000, 0);
  for (size_t i = 19; i < prompt.size(); i += 20) prompt[i] = kStart;
  const PromptCuts cuts(rules, prompt);
  size_t last = 0;
  for (const size_t boundary : cuts.boundaries()) {
    EXPECT_GE(boundary - last, rules.GapAt(boundary));
    EXPECT_LT(boundary - last, rules.GapAt(boundary) + 20) << "the first one that may count does";
    last = boundary;
  }
  EXPECT_GT(last, 9'700U);
}

TEST(PromptCuts, OfAPrefixAreThoseOfThePromptWhateverTheGaps) {
  std::mt19937 random(1);
  for (const size_t divisor : {0, 4, 16, 64}) {
    const CutRules rules{16, {kStart}, divisor};
    Tokens prompt(2'000, 0);
    for (Token& token : prompt) token = random() % 15 == 0 ? kStart : 0;
    const PromptCuts whole(rules, prompt);
    for (const size_t tokens : {1U, 17U, 300U, 999U, 1'999U}) {
      const PromptCuts cuts(rules, TokenSpan(prompt).first(tokens));
      std::vector<size_t> expected;
      for (const size_t boundary : whole.boundaries()) {
        if (boundary <= tokens) expected.push_back(boundary);
      }
      EXPECT_EQ(cuts.boundaries(), expected) << divisor << " " << tokens;
    }
  }
}

TEST(PromptCuts, LeaveOutBoundariesThatAreTooClose) {
  EXPECT_EQ(Cuts(100, {3, 29, 30, 36, 37, 38}).boundaries(), (std::vector<size_t>{30, 38}));
}

// A prompt of zeros with two media.
Tokens PromptWithMedia(size_t begin, size_t rows) {
  Tokens prompt(100, 0);
  for (const uint64_t key : {1, 2}) {
    const Tokens medium = MediaTokens({key, 0}, rows, rows);
    prompt.insert(prompt.begin() + static_cast<ptrdiff_t>(begin), medium.begin(), medium.end());
  }
  return prompt;
}

TEST(PromptCuts, LieAroundMediaAndNotInside) {
  const CutRules rules{64, {kStart}};
  const PromptCuts cuts(rules, PromptWithMedia(70, 100));
  EXPECT_EQ(cuts.boundaries(), (std::vector<size_t>{70, 170, 270}));
  EXPECT_TRUE(cuts.IsMedium(70) && cuts.IsMedium(170) && !cuts.IsMedium(270));
  EXPECT_EQ(cuts.AtOrBefore(69), 64U);
  EXPECT_EQ(cuts.AtOrBefore(169), 70U);
  EXPECT_EQ(cuts.AtOrBefore(170), 170U);
  EXPECT_EQ(cuts.After(70), 170U);
  EXPECT_EQ(cuts.After(100), 170U);
  EXPECT_EQ(cuts.Last(), 270U);
  EXPECT_EQ(cuts.CleanAfter(70, {70, 170}), 170U) << "a medium is always a chunk of its own";
  EXPECT_EQ(cuts.CleanAfter(64, {64, 170}), 64U);
}

TEST(PromptCuts, GoBackToTheGridBehindMediaWithoutMessageStarts) {
  const CutRules rules{64, {}};
  Tokens prompt = PromptWithMedia(70, 100);
  prompt.resize(500, 0);
  const PromptCuts cuts(rules, prompt);
  EXPECT_EQ(cuts.boundaries(), (std::vector<size_t>{70, 170, 270, 320}));
  EXPECT_EQ(cuts.AtOrBefore(319), 270U);
  EXPECT_EQ(cuts.After(320), 384U);
  EXPECT_EQ(cuts.CleanAfter(270, {270, 320}), 320U);
  // The same, however the prompt grew.
  PromptCuts grown(rules, TokenSpan(prompt).first(300));
  grown.Extend(rules, TokenSpan(prompt).first(400));
  grown.CutTo(310);
  grown.Extend(rules, prompt);
  EXPECT_EQ(grown.boundaries(), cuts.boundaries());
}

TEST(PromptCuts, LieAroundAMediumAtTheBeginOrEndOfAPrompt) {
  const CutRules rules{64, {}};
  const Tokens medium = MediaTokens({1, 0}, 100, 100);
  PromptCuts cuts(rules, medium);
  EXPECT_EQ(cuts.boundaries(), (std::vector<size_t>{100}));
  EXPECT_EQ(cuts.AtOrBefore(100), 100U);
  EXPECT_EQ(cuts.Last(), 0U) << "its last row is computed with all others";
  Tokens longer = medium;
  longer.resize(110, 0);
  cuts.Extend(rules, longer);
  EXPECT_EQ(cuts.boundaries(), PromptCuts(rules, longer).boundaries());
  EXPECT_EQ(cuts.Last(), 100U);
  cuts.CutTo(0);
  EXPECT_FALSE(cuts.IsMedium(0));
}

// Indices from `begin` to `end`, at most `step_max` apart.
std::vector<size_t> RandomStarts(size_t begin, size_t end, size_t step_max,
                                 std::mt19937_64* random) {
  std::vector<size_t> starts;
  for (size_t at = begin; at < end; at += 1 + (*random)() % step_max) starts.push_back(at);
  return starts;
}

TEST(PromptCuts, DependOnlyOnTheTokensBeforeThem) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    const Tokens prompt = PromptOf(1000, RandomStarts(0, 1000, 300, &random));
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
    const PromptCuts cuts = Cuts(600, RandomStarts(20, 590, 250, &random));
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

TEST(PromptCuts, OfAPromptThatGrowsAndShrinksAreThoseOfAllOfIt) {
  std::mt19937_64 random(3);
  const Tokens prompt = PromptOf(1000, RandomStarts(0, 1000, 40, &random));
  const CutRules rules{64, {kStart}};
  PromptCuts cuts(rules, {});
  for (int i = 0; i < 200; ++i) {
    const TokenSpan tokens = TokenSpan(prompt).first(random() % (prompt.size() + 1));
    if (tokens.size() < cuts.tokens()) cuts.CutTo(tokens.size());
    cuts.Extend(rules, tokens);
    EXPECT_EQ(cuts.tokens(), tokens.size());
    EXPECT_EQ(cuts.boundaries(), PromptCuts(rules, tokens).boundaries());
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

size_t Clean(size_t clean_before, const TokenRange& chunk, std::vector<size_t> boundaries) {
  return PromptCuts(64, 400, std::move(boundaries)).CleanAfter(clean_before, chunk);
}

TEST(PromptCuts, OneMoreCutCanBeAllowedForACheckpoint) {
  PromptCuts cuts(64, 600, {125});
  cuts.AllowOffGrid(170);
  EXPECT_TRUE(cuts.Has(170));
  EXPECT_EQ(cuts.AtOrBefore(169), 125U);
  EXPECT_EQ(cuts.AtOrBefore(188), 125U) << "the grid behind it stays";
  EXPECT_EQ(cuts.AtOrBefore(189), 189U);
  cuts.CutTo(150);
  EXPECT_FALSE(cuts.Has(170));
}

TEST(CleanAfter, IsTheEndOfAChunkBetweenBoundaries) {
  const std::vector<size_t> boundaries = {30, 221};
  EXPECT_EQ(Clean(0, {0, 30}, boundaries), 30U);
  EXPECT_EQ(Clean(30, {30, 222 - 64}, boundaries), 158U);
  EXPECT_EQ(Clean(158, {158, 221}, boundaries), 221U);
}

TEST(CleanAfter, IsTheLastStepOfTheGridWhereThePromptEnds) {
  EXPECT_EQ(Clean(0, {0, 200}, {}), 192U);
  EXPECT_EQ(Clean(30, {30, 100}, {30}), 94U);
  EXPECT_EQ(Clean(94, {94, 100}, {30}), 94U);
}

TEST(CleanAfter, DoesNotGrowOverAChunkThatNoColdRunHas) {
  EXPECT_EQ(Clean(10, {10, 100}, {}), 10U) << "it begins off the grid";
  EXPECT_EQ(Clean(0, {64, 128}, {}), 0U) << "it follows unclean tokens";
  EXPECT_EQ(Clean(94, {94, 221}, {30, 221}), 158U) << "a cold run cuts at 158";
  EXPECT_EQ(Clean(0, {0, 64}, {30}), 0U) << "it ignores a boundary";
}

TEST(PromptCuts, EndTheFirstChunkAfterAnAnswerWhereAMediumBegins) {
  Tokens prompt(70, 7);
  const Tokens medium = MediaTokens({1, 2}, 16, 16);
  prompt.insert(prompt.end(), medium.begin(), medium.end());
  prompt.resize(300, 7);
  const PromptCuts cuts(CutRules{64}, prompt);
  EXPECT_EQ(cuts.MediumAfter(0), 70U);
  EXPECT_EQ(cuts.MediumAfter(70), 300U);
  EXPECT_EQ(cuts.FirstAfterAnswer(66, 8), 70U);
  EXPECT_EQ(cuts.FirstAfterAnswer(20, 64), 70U);
  EXPECT_EQ(cuts.FirstAfterAnswer(20, 8), 64U);
}

}  // namespace
}  // namespace cairn
