#include "sched/slots/slot_mover.h"

#include <gtest/gtest.h>

#include <random>

#include "testing/sched/scheduler_fixture.h"

namespace cairn::moved_chunks_test {
namespace {

using test::Join;
using test::Text;
using Chunks = std::vector<MovedChunk>;

Tokens RandomText(size_t tokens, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tokens text(tokens);
  for (Token& token : text) token = static_cast<Token>(random() % 200);
  return text;
}

TEST(MovedChunks, AreFoundBehindWhatWasTakenOut) {
  const Tokens header = RandomText(100, 1);
  const Tokens rest = RandomText(80, 2);
  const Tokens held = Join(Join(header, RandomText(50, 3)), rest);
  const Tokens prompt = Join(Join(header, rest), RandomText(20, 4));
  EXPECT_EQ(FindMovedChunks(held, prompt, 64), (Chunks{{150, 100, 80}}));
  EXPECT_EQ(FindMovedChunks(held, prompt, 81), Chunks{});
}

TEST(MovedChunks, FollowOneAnother) {
  const Tokens a = RandomText(40, 1);
  const Tokens b = RandomText(40, 2);
  const Tokens held = Join(Join(Join(RandomText(10, 3), a), RandomText(7, 4)), b);
  EXPECT_EQ(FindMovedChunks(held, Join(Join(a, b), Text(1)), 32),
            (Chunks{{10, 0, 40}, {57, 40, 40}}));
  // Chunks are never moved to higher positions: text that the prompt has in another order is
  // prefilled.
  EXPECT_EQ(FindMovedChunks(held, Join(Join(b, a), Text(1)), 32), (Chunks{{57, 0, 40}}));
}

TEST(MovedChunks, LeaveThePromptsLastTokenToBeRead) {
  const Tokens text = RandomText(64, 1);
  const Tokens held = Join(Text(3), text);
  EXPECT_EQ(FindMovedChunks(held, text, 63), (Chunks{{3, 0, 63}}));
  EXPECT_EQ(FindMovedChunks(held, text, 64), Chunks{});
}

TEST(MovedChunks, AreNoneWhereThePromptGoesOnOrThereIsNothing) {
  const Tokens text = RandomText(200, 1);
  EXPECT_EQ(FindMovedChunks(text, Join(text, Text(100)), 16), Chunks{});
  EXPECT_EQ(FindMovedChunks({}, text, 16), Chunks{});
  EXPECT_EQ(FindMovedChunks(text, {}, 16), Chunks{});
}

}  // namespace
}  // namespace cairn::moved_chunks_test
