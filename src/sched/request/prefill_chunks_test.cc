#include "sched/request/prefill_chunks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "media/media_tokens.h"
#include "testing/base/played_share.h"

namespace cairn::prefill_chunks_test {
namespace {

TEST(NextChunkEnd, CutsAtTheLastGridMultipleBeforeTheEnd) {
  const ChunkRules rules;
  EXPECT_EQ(NextChunkEnd({64, 200}, rules, 0, 0), 192u);
  EXPECT_EQ(NextChunkEnd({64, 200}, rules, 192, 0), 200u);
  EXPECT_EQ(NextChunkEnd({64, 64}, rules, 0, 0), 64u);
  EXPECT_EQ(NextChunkEnd({64, 128}, rules, 0, 0), 64u);
}

TEST(NextChunkEnd, StopsForCheckpointsAndFullUbatches) {
  const ChunkRules rules;
  EXPECT_EQ(NextChunkEnd({64, 2000}, rules, 0, 0), 512u);
  EXPECT_EQ(NextChunkEnd({64, 2000}, rules, 512, 640), 640u);
  EXPECT_EQ(NextChunkEnd({64, 2000}, {100}, 0, 0), 64u);
}

TEST(NextChunkEnd, ComesBackToTheGridFirst) {
  const ChunkRules rules;
  EXPECT_EQ(NextChunkEnd({64, 2000}, rules, 70, 1024), 128u);
  EXPECT_EQ(NextChunkEnd({64, 100}, rules, 70, 0), 100u);
}

TEST(NextChunkEnd, TakesAFullStepAfterAnAnswerWhereNoCheckpointIsWanted) {
  ChunkRules rules;
  rules.off_cut_min = 64;
  EXPECT_EQ(NextChunkEnd({64, 2000}, rules, 70, 0), 192u);
  EXPECT_EQ(NextChunkEnd({64, 2000}, rules, 64, 0), 576u);
  // Too few tokens are left for a cut that could be resumed from.
  EXPECT_EQ(NextChunkEnd({64, 192}, rules, 70, 0), 192u);
  EXPECT_EQ(NextChunkEnd({64, 193}, rules, 70, 0), 192u);
  // Such a chunk is up to two steps long.
  rules.chunk_tokens_max = 100;
  EXPECT_EQ(NextChunkEnd({64, 2000}, rules, 70, 0), 128u);
}

// 3,000 tokens with boundaries at 100, 150 and 1,400.
PromptCuts Chat() {
  return {64, 3000, {100, 150, 1400}};
}

TEST(NextChunkEnd, EndsAChunkAtEachBoundary) {
  const ChunkRules rules;
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 0, 0), 64u);
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 64, 0), 100u);
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 100, 0), 150u);
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 150, 0), 150u + 512);
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 1400, 0), 1400u + 512);
}

TEST(NextChunkEnd, EndsAChunkAtTheLastCutBeforeABoundary) {
  // 1,366 is 19 steps of the grid behind 150.
  EXPECT_EQ(NextChunkEnd(Chat(), {2000}, 150, 0), 1366u);
  EXPECT_EQ(NextChunkEnd(Chat(), {2000}, 1366, 0), 1400u);
  EXPECT_EQ(NextChunkEnd(Chat(), {2000}, 1400, 0), 1400u + 1536);
}

TEST(NextChunkEnd, EndsAChunkAtTheLastCutBeforeACheckpointThatIsNoCut) {
  const ChunkRules rules;
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 150, 500), 470u);
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 470, 500), 500u);
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 500, 0), 534u);
}

TEST(NextChunkEnd, PassesABoundaryThatFollowsAnAnswerAtOnce) {
  ChunkRules rules;
  rules.off_cut_min = 8;
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 97, 0), 150u);
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 90, 0), 100u);
}

TEST(NextChunkEnd, IsAUbatchAwayBehindAnAnswerWhereTheMemoryCanBeTruncatedAnywhere) {
  ChunkRules rules;
  rules.whole_behind_clean = true;
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 97, 0, false), 97u + 512);
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 2900, 2950, false), 3000u);
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 1366, 0, true), 1400u) << "clean tokens keep to the cuts";
  rules.whole_behind_clean = false;
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 1366, 0, false), 1400u);
}

TEST(NextChunkEnd, IsAMediumsBeginningAndEndBehindAnAnswerToo) {
  ChunkRules rules;
  rules.whole_behind_clean = true;
  Tokens prompt(100, 7);
  const Tokens medium = MediaTokens({1, 2}, 40, 40);
  prompt.insert(prompt.end(), medium.begin(), medium.end());
  prompt.resize(300, 7);
  const PromptCuts cuts({.grid_tokens = 64, .message_starts = {1}}, prompt);
  EXPECT_EQ(NextChunkEnd(cuts, rules, 30, 0, false), 100u);
  EXPECT_EQ(NextChunkEnd(cuts, rules, 100, 0, false), 140u);
  EXPECT_EQ(NextChunkEnd(cuts, rules, 140, 0, false), 300u);
}

TEST(NextChunkEnd, EndsAtACutBeforeWhereAShorterChunkIsWanted) {
  ChunkRules rules;
  rules.wanted_tokens = 200;
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 150, 0), 150u + 192);
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 1400 - 34, 0), 1400u);
  rules.wanted_tokens = 1;
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 150, 0), 150u + 64) << "a step of the grid at least";
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 150, 180), 180u);
  // From a position that is no cut, the bits of what follows depend on where the chunk ends.
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 97, 0), 100u);
  rules.off_cut_min = 64;
  EXPECT_EQ(NextChunkEnd({64, 2000}, rules, 70, 0), 192u);
  rules.whole_behind_clean = true;
  EXPECT_EQ(NextChunkEnd(Chat(), rules, 150, 0, false), 150u + 512);
}

// A turn of 116 tokens was prefilled as 68, 45 and 3.
TEST(NextChunkEnd, IsTheEndOfAShortTurnAfterAnAnswer) {
  ChunkRules rules;
  rules.off_cut_min = 8;
  rules.turn_tokens_max = 256;
  const PromptCuts turn(64, 616, {502, 613});
  EXPECT_EQ(NextChunkEnd(turn, rules, 500, 0), 616u);
  EXPECT_EQ(NextChunkEnd(turn, rules, 500, 566), 616u) << "it passes checkpoints";
  rules.needed_stop = 613;
  EXPECT_EQ(NextChunkEnd(turn, rules, 500, 0), 613u);
  EXPECT_EQ(NextChunkEnd(turn, rules, 613, 0), 616u);
  const PromptCuts longer(64, 800, {502, 797});
  rules.needed_stop = 0;
  EXPECT_EQ(NextChunkEnd(longer, rules, 500, 0), 566u) << "answers would wait";
  EXPECT_EQ(NextChunkEnd(longer, rules, 566, 0), 758u);
}

TEST(NextChunkEnd, PassesTheBoundaryOfAGenerationPromptThatTheReplyFollows) {
  ChunkRules rules;
  const PromptCuts chat(64, 116, {22, 113});
  EXPECT_EQ(NextChunkEnd(chat, rules, 22, 0), 86u);
  EXPECT_EQ(NextChunkEnd(chat, rules, 86, 0), 113u);
  rules.passes_last_boundary = true;
  EXPECT_EQ(NextChunkEnd(chat, rules, 22, 0), 86u);
  EXPECT_EQ(NextChunkEnd(chat, rules, 86, 0), 116u);
  EXPECT_EQ(NextChunkEnd(chat, rules, 86, 113), 116u) << "whatever is planned there";
  EXPECT_EQ(NextChunkEnd(chat, rules, 0, 22), 22u);
  const PromptCuts more(64, 160, {22, 113});
  EXPECT_EQ(NextChunkEnd(more, rules, 86, 0), 113u) << "more than a generation prompt follows";
}

// With `any` the last token of every prompt was a chunk of its own.
TEST(NextChunkEnd, IsTheEndOfThePromptWhereEveryPositionIsACut) {
  EXPECT_EQ(NextChunkEnd({1, 200}, {}, 0, 0), 200u);
  EXPECT_EQ(NextChunkEnd({1, 200}, {}, 0, 150), 150u);
}

// A server with -b 32 gave libllama the first tokens of an image as text.
TEST(NextChunkEnd, IsAMediumsBeginningWhereTheUbatchIsSmallerThanTheGrid) {
  ChunkRules rules{32};
  rules.off_cut_min = 8;
  Tokens prompt(36, 7);
  const Tokens medium = MediaTokens({1, 2}, 16, 16);
  prompt.insert(prompt.end(), medium.begin(), medium.end());
  prompt.resize(100, 7);
  const PromptCuts cuts({.grid_tokens = 64}, prompt);
  EXPECT_EQ(NextChunkEnd(cuts, rules, 0, 0), 32u);
  EXPECT_EQ(NextChunkEnd(cuts, rules, 32, 0), 36u);
  EXPECT_EQ(NextChunkEnd(cuts, rules, 36, 0), 52u);
}

// A prompt of texts and media, and all that decides how it is cut.
struct RandomPrompt {
  explicit RandomPrompt(uint64_t seed) : random(seed) {
    rules.chunk_tokens_max = 1 + Random(seed % 2 == 0 ? 40 : 600);
    rules.off_cut_min = 1 + Random(100);
    rules.whole_behind_clean = Random(2) == 0;
    rules.passes_last_boundary = Random(2) == 0;
    if (Random(2) == 0) rules.turn_tokens_max = Random(300);
    if (Random(2) == 0) rules.needed_stop = Random(1000);
    if (Random(2) == 0) rules.wanted_tokens = 1 + Random(200);
    cut_rules.grid_tokens = 1 + Random(130);
    if (Random(2) == 0) cut_rules.message_starts = {kStart};
    if (Random(2) == 0) cut_rules.gap_divisor = 1 + Random(64);
    for (size_t parts = 1 + Random(8); parts > 0; --parts) {
      const size_t text = Random(Random(2) == 0 ? 12 : 300);
      for (size_t i = 0; i < text; ++i) prompt.push_back(static_cast<Token>(Random(12)));
      if (Random(3) == 0) continue;
      const size_t rows = kMediumRowsMin + Random(Random(2) == 0 ? 30 : 700);
      const Tokens medium = MediaTokens({seed, parts}, rows, 1 + Random(rows));
      prompt.insert(prompt.end(), medium.begin(), medium.end());
    }
    if (prompt.empty() || Random(2) == 0) prompt.push_back(1);
  }
  size_t Random(size_t below) { return random() % below; }

  static constexpr Token kStart = 9;
  std::mt19937_64 random;
  ChunkRules rules;
  CutRules cut_rules;
  Tokens prompt;
};

// Whether the chunk is one that the engine takes at `begin`.
testing::AssertionResult IsGood(const RandomPrompt& of, size_t begin, size_t end) {
  const TokenSpan prompt = of.prompt;
  if (end <= begin) return testing::AssertionFailure() << "no progress at " << begin;
  if (end > prompt.size()) return testing::AssertionFailure() << "beyond the prompt's end";
  if (IsMediaToken(prompt[begin])) {
    if (end == MediumAt(prompt, begin).end) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "the medium at " << begin << " is split at " << end;
  }
  if (HasMedia(prompt.subspan(begin, end - begin))) {
    return testing::AssertionFailure() << "a medium is text in " << begin << " to " << end;
  }
  if (end - begin <= of.rules.chunk_tokens_max) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "longer than a ubatch: " << begin << " to " << end;
}

TEST(NextChunkEnd, NeverMixesTextAndMediaAndAlwaysAdvances) {
  for (uint64_t seed = 1; seed <= test::Played(20'000); ++seed) {
    RandomPrompt of(seed);
    const TokenSpan prompt = of.prompt;
    PromptCuts cuts(of.cut_rules, prompt);
    if (of.Random(3) == 0) cuts.AllowOffGrid(BeforeMedium(prompt, of.Random(prompt.size())));
    // A resumed prompt begins anywhere but inside a medium.
    size_t position = of.Random(2) * BeforeMedium(prompt, of.Random(prompt.size()));
    while (position < prompt.size()) {
      const size_t stop = of.Random(2) * of.Random(prompt.size() + 1);
      const size_t end = NextChunkEnd(cuts, of.rules, position, stop, of.Random(2) == 0);
      ASSERT_TRUE(IsGood(of, position, end)) << "seed " << seed;
      position = end;
    }
  }
}

}  // namespace
}  // namespace cairn::prefill_chunks_test
