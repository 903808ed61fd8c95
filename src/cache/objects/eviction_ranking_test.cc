#include "cache/objects/eviction_ranking.h"

#include <gtest/gtest.h>

#include "cache/checkpoint_cache.h"

namespace cairn::conversation_room_test {
namespace {

constexpr NamespaceId kClient = 1;
// Tokens take almost nothing beside it.
constexpr size_t kBudget = 1'000'000;

class ConversationRoom : public ::testing::Test {
 protected:
  ConversationRoom()
      : cache_({.ram_bytes_max = kBudget}, *MakePlacement("none"), *MakeEviction("lru"),
               MakeRamStore()) {}

  // Stores the checkpoint at the end of a prompt of `turns` turns.
  void Prompt(const Tokens& prompt, size_t turns, size_t bytes) {
    Checkpoint end;
    end.checkpoint_class = CheckpointClass::kPrompt;
    end.turns = turns;
    ASSERT_TRUE(cache_.Insert(kClient, prompt, end, Bytes(bytes)));
  }
  void Kv(const Tokens& tokens, size_t bytes) {
    ASSERT_TRUE(cache_.InsertSegment(kClient, tokens, {}, {0, tokens.size(), 0}, Bytes(bytes)));
  }
  size_t RoomFor(const Tokens& tokens) const { return cache_.RoomFor(kClient, tokens, kBudget); }

  CheckpointCache cache_;
};

Tokens Text(size_t n, char letter) {
  return Tokens(n, letter);
}

TEST_F(ConversationRoom, IsTheWholeBudgetWhereNothingElseIsStored) {
  EXPECT_EQ(RoomFor(Text(20, 'a')), kBudget);
  Prompt(Text(10, 'a'), 1, 300'000);
  EXPECT_EQ(RoomFor(Text(20, 'a')), kBudget);
}

TEST_F(ConversationRoom, LeavesTheRoomOfWhatWasUsedSinceItsLastPromptButOne) {
  Prompt(Text(10, 'a'), 1, 1000);
  Prompt(Text(10, 'b'), 1, 100'000);
  Kv(Text(10, 'b'), 200'000);
  Prompt(Text(20, 'a'), 3, 1000);
  EXPECT_EQ(RoomFor(Text(20, 'a')), kBudget - 300'000);
}

TEST_F(ConversationRoom, IsNeverLessThanHalfTheBudget) {
  Prompt(Text(10, 'a'), 1, 1000);
  Prompt(Text(10, 'b'), 1, 900'000);
  Prompt(Text(20, 'a'), 3, 1000);
  EXPECT_EQ(RoomFor(Text(20, 'a')), kBudget / 2);
}

TEST_F(ConversationRoom, TakesTheRoomOfWhatWasUnusedSinceThen) {
  Prompt(Text(10, 'b'), 1, 900'000);
  Prompt(Text(10, 'a'), 1, 1000);
  EXPECT_EQ(RoomFor(Text(10, 'a')), kBudget / 2) << "it is not known to return";
  Prompt(Text(20, 'a'), 3, 1000);
  EXPECT_EQ(RoomFor(Text(20, 'a')), kBudget);
}

TEST_F(ConversationRoom, CountsFromTheTimeItsKvWasStored) {
  Prompt(Text(10, 'b'), 1, 400'000);
  Kv(Text(10, 'a'), 1000);
  EXPECT_EQ(RoomFor(Text(20, 'a')), kBudget);
  Prompt(Text(10, 'c'), 1, 300'000);
  EXPECT_EQ(RoomFor(Text(20, 'a')), kBudget - 300'000);
}

TEST_F(ConversationRoom, IsNoMoreThanWanted) {
  EXPECT_EQ(cache_.RoomFor(kClient, Text(20, 'a'), 1000), 1000U);
  Prompt(Text(10, 'a'), 1, 1000);
  Prompt(Text(10, 'b'), 1, 900'000);
  Prompt(Text(20, 'a'), 3, 1000);
  EXPECT_EQ(cache_.RoomFor(kClient, Text(20, 'a'), kBudget / 2), kBudget / 2);
  EXPECT_EQ(cache_.RoomFor(kClient, Text(20, 'a'), kBudget / 2 + 1), kBudget / 2);
}

// Where a client writes answers anew, no checkpoint lies at theirs: an edit of the last message
// prefilled the whole conversation again.
TEST(PromptEnds, TheEndOfAPromptStaysWhereNothingElseStandsBeforeTheNextTurn) {
  const auto left = [](size_t turn_tokens, bool has_reply, bool needs_snapshots) {
    CheckpointCache cache({.ram_bytes_max = kBudget}, *MakePlacement("none"), *MakeEviction("lru"),
                          MakeRamStore());
    SlotsView view;
    view.needs_snapshots = needs_snapshots;
    cache.SetSlots(view);
    Checkpoint end;
    end.checkpoint_class = CheckpointClass::kEnd;
    end.logits_bytes = 1;
    Tokens prompt(10, 'a');
    for (int turn = 0; turn < 4; ++turn) {
      if (turn > 0 && has_reply) {
        Checkpoint reply;
        reply.checkpoint_class = CheckpointClass::kReply;
        prompt.resize(prompt.size() + 1, 'r');
        EXPECT_TRUE(cache.Insert(kClient, prompt, reply, Bytes(1)));
      }
      prompt.resize(prompt.size() + turn_tokens, 'a');
      EXPECT_TRUE(cache.Insert(kClient, prompt, end, Bytes(2)));
    }
    cache.CheckInvariants();
    return 4 - cache.stats().outgrown;
  };
  EXPECT_EQ(left(100, false, true), 4U);
  EXPECT_EQ(left(100, true, true), 1U) << "the next turn's edit begins behind the answer";
  EXPECT_EQ(left(2, false, true), 1U) << "a prompt that grows in small steps";
  EXPECT_EQ(left(100, false, false), 1U) << "a model that can be cut anywhere";
}

}  // namespace
}  // namespace cairn::conversation_room_test
