#include "sched/prefill_chunks.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(NextChunkEnd, CutsAtTheLastGridMultipleBeforeTheEnd) {
  const ChunkRules rules;
  EXPECT_EQ(NextChunkEnd(rules, 0, 200, 0), 192u);
  EXPECT_EQ(NextChunkEnd(rules, 192, 200, 0), 200u);
  EXPECT_EQ(NextChunkEnd(rules, 0, 64, 0), 64u);
  EXPECT_EQ(NextChunkEnd(rules, 0, 128, 0), 64u);
}

TEST(NextChunkEnd, StopsForCheckpointsAndFullUbatches) {
  const ChunkRules rules;
  EXPECT_EQ(NextChunkEnd(rules, 0, 2000, 0), 512u);
  EXPECT_EQ(NextChunkEnd(rules, 512, 2000, 640), 640u);
  EXPECT_EQ(NextChunkEnd({64, 100}, 0, 2000, 0), 64u);
}

TEST(NextChunkEnd, ComesBackToTheGridFirst) {
  const ChunkRules rules;
  EXPECT_EQ(NextChunkEnd(rules, 70, 2000, 1024), 128u);
  EXPECT_EQ(NextChunkEnd(rules, 70, 100, 0), 100u);
}

TEST(NextChunkEnd, TakesAFullStepAfterAnAnswerWhereNoCheckpointIsWanted) {
  ChunkRules rules;
  rules.long_after_answer = true;
  EXPECT_EQ(NextChunkEnd(rules, 70, 2000, 0), 192u);
  EXPECT_EQ(NextChunkEnd(rules, 64, 2000, 0), 576u);
  // Too few tokens are left for a cut that could be resumed from.
  EXPECT_EQ(NextChunkEnd(rules, 70, 192, 0), 192u);
  EXPECT_EQ(NextChunkEnd(rules, 70, 193, 0), 192u);
  // Such a chunk is up to two steps long.
  rules.chunk_tokens_max = 100;
  EXPECT_EQ(NextChunkEnd(rules, 70, 2000, 0), 128u);
}

}  // namespace
}  // namespace cairn
