#include "sched/prefill_chunks.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace cairn
