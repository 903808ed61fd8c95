#include "sched/prefill_chunks.h"

#include <gtest/gtest.h>

#include "media/media_tokens.h"

namespace cairn {
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

}  // namespace
}  // namespace cairn
