#include "cache/checkpoint_cache.h"

#include <gtest/gtest.h>

#include <string_view>

namespace cairn {
namespace {

constexpr NamespaceId kAsker = 1;

Tokens T(std::string_view letters) {
  return Tokens(letters.begin(), letters.end());
}

CheckpointCache MakeCache(size_t ram_bytes_max, std::string_view placement = "near-end,user-turns",
                          std::string_view eviction = "lru", size_t min_step_tokens = 0) {
  CacheOptions options;
  options.ram_bytes_max = ram_bytes_max;
  options.min_step_tokens = min_step_tokens;
  return CheckpointCache(options, *MakePlacement(placement), *MakeEviction(eviction),
                         MakeRamStore());
}

Result<CheckpointId> Insert(CheckpointCache* cache, std::string_view prefix, size_t bytes,
                            NamespaceId name_space = kAsker) {
  Checkpoint turn;
  turn.checkpoint_class = CheckpointClass::kTurn;
  return cache->Insert(name_space, T(prefix), turn, Bytes(bytes));
}

std::vector<size_t> Positions(const CheckpointCache::MatchResult& match) {
  std::vector<size_t> positions;
  for (const Checkpoint& checkpoint : match.checkpoints) positions.push_back(checkpoint.position);
  return positions;
}

TEST(CheckpointCache, MatchesEveryCheckpointOnThePromptsPath) {
  CheckpointCache cache = MakeCache(1000);
  ASSERT_TRUE(Insert(&cache, "ab", 10));
  ASSERT_TRUE(Insert(&cache, "abcd", 10));
  ASSERT_TRUE(Insert(&cache, "abxy", 10));
  const auto match = cache.Match(kAsker, T("abcdef"));
  EXPECT_EQ(match.shared, 4u);
  EXPECT_EQ(Positions(match), (std::vector<size_t>{2, 4}));
  cache.CheckInvariants();
}

TEST(CheckpointCache, NeverMatchesAcrossNamespaces) {
  CheckpointCache cache = MakeCache(1000);
  ASSERT_TRUE(Insert(&cache, "abcd", 10, 1));
  EXPECT_TRUE(cache.Match(2, T("abcd")).checkpoints.empty());
  EXPECT_EQ(cache.Match(2, T("abcd")).shared, 0u);
}

Status InsertPrompt(CheckpointCache* cache, std::string_view prefix, size_t turns) {
  Checkpoint end;
  end.checkpoint_class = turns > 0 ? CheckpointClass::kPrompt : CheckpointClass::kReply;
  end.turns = turns;
  const auto inserted = cache->Insert(kAsker, T(prefix), end, Bytes(10));
  if (!inserted) return tl::unexpected(inserted.error());
  return {};
}

TEST(CheckpointCache, MatchKnowsThePromptThatANewOnePartsFrom) {
  CheckpointCache cache = MakeCache(1 << 20);
  ASSERT_TRUE(InsertPrompt(&cache, "abc", 1));
  ASSERT_TRUE(InsertPrompt(&cache, "abcdef", 2));
  // An answer's end says nothing of turns: the prompt before it does.
  ASSERT_TRUE(InsertPrompt(&cache, "abcdefgh", 0));
  const auto match = cache.Match(kAsker, T("abcdX"));
  EXPECT_EQ(match.neighbour_tokens, 6u);
  EXPECT_EQ(match.neighbour_turns, 2u);
  // This one has left the prompt behind and parts in the answer.
  EXPECT_EQ(cache.Match(kAsker, T("abcdefgX")).neighbour_tokens, 0u);
  EXPECT_EQ(cache.Match(kAsker, T("X")).neighbour_tokens, 0u);
  // Of two prompts the newer one.
  ASSERT_TRUE(InsertPrompt(&cache, "abcdZZZZ", 3));
  EXPECT_EQ(cache.Match(kAsker, T("abcdX")).neighbour_tokens, 8u);
  EXPECT_EQ(cache.Match(kAsker, T("abcdX")).neighbour_turns, 3u);
  EXPECT_EQ(cache.Match(kAsker, T("abcdeX")).neighbour_turns, 2u);
}

TEST(CheckpointCache, HoldsItsBudgetToTheByte) {
  CheckpointCache cache = MakeCache(100);
  ASSERT_TRUE(Insert(&cache, "a", 60));
  ASSERT_TRUE(Insert(&cache, "ab", 40));
  EXPECT_EQ(cache.stats().bytes, 100u);
  ASSERT_TRUE(Insert(&cache, "abc", 1));
  EXPECT_EQ(cache.stats().bytes, 41u);
  EXPECT_EQ(cache.stats().evicted, 1u);
  EXPECT_EQ(Insert(&cache, "abcd", 101).error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(cache.stats().checkpoints, 2u);
  cache.CheckInvariants();
}

TEST(CheckpointCache, RefreshesOnlyTheCheckpointThatWasUsed) {
  CheckpointCache cache = MakeCache(20);
  const CheckpointId first = *Insert(&cache, "a", 10);
  ASSERT_TRUE(Insert(&cache, "ab", 10));
  ASSERT_TRUE(cache.Pin(first));
  cache.Unpin(first);
  ASSERT_TRUE(Insert(&cache, "abc", 10));
  EXPECT_EQ(Positions(cache.Match(kAsker, T("abc"))), (std::vector<size_t>{1, 3}));
}

TEST(CheckpointCache, WhatIsPinnedIsNotGivenUp) {
  CheckpointCache cache = MakeCache(10);
  const CheckpointId id = *Insert(&cache, "a", 10);
  ASSERT_TRUE(cache.Pin(id));
  EXPECT_EQ(Insert(&cache, "ab", 10).error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(cache.stats().refused, 1u);
  cache.Unpin(id);
  EXPECT_TRUE(Insert(&cache, "ab", 10));
  EXPECT_EQ(cache.Pin(id).error().code, ErrorCode::kNotFound);
}

TEST(CheckpointCache, EvictionNoneRefusesWhatDoesNotFit) {
  CheckpointCache cache = MakeCache(10, "none", "none");
  ASSERT_TRUE(Insert(&cache, "a", 10));
  EXPECT_EQ(Insert(&cache, "b", 1).error().code, ErrorCode::kNoSpace);
}

TEST(CheckpointCache, AStoreThatKeepsNothingIsAMiss) {
  CheckpointCache cache(CacheOptions{}, *MakePlacement("none"), *MakeEviction("lru"),
                        MakeNoneStore());
  EXPECT_FALSE(Insert(&cache, "a", 10));
  EXPECT_TRUE(cache.Match(kAsker, T("a")).checkpoints.empty());
}

TEST(CheckpointCache, TheSamePlaceIsStoredOnce) {
  CheckpointCache cache = MakeCache(100);
  ASSERT_TRUE(Insert(&cache, "ab", 10));
  ASSERT_TRUE(Insert(&cache, "ab", 30));
  EXPECT_EQ(cache.stats().bytes, 30u);
  EXPECT_TRUE(cache.Holds(kAsker, T("ab"), 0));
  EXPECT_FALSE(cache.Holds(kAsker, T("ab"), 3));
  EXPECT_FALSE(cache.Holds(kAsker, T("a"), 0));
}

PromptShape Conversation() {
  PromptShape shape;
  shape.tokens = 1000;
  shape.header_end = 300;
  shape.turns = {{300, true}, {700, true}};
  shape.messages_end = 990;
  return shape;
}

TEST(CheckpointCache, PlansOnTheGridAndOnlyWhatLiesAhead) {
  const CheckpointCache cache = MakeCache(100);
  const std::vector<Placement> plan = cache.Plan(Conversation(), {}, {300, 64, 128, 0});
  EXPECT_EQ(plan, (std::vector<Placement>{{640, CheckpointClass::kTurn},
                                          {832, CheckpointClass::kLadder},
                                          {960, CheckpointClass::kPrompt}}));
}

TEST(CheckpointCache, PlansOneCheckpointWhereTwoPoliciesMeet) {
  const CheckpointCache cache = MakeCache(100);
  PromptShape shape = Conversation();
  shape.turns.push_back({970, true});
  const std::vector<Placement> plan = cache.Plan(shape, {}, {900, 64, 128, 0});
  EXPECT_EQ(plan, (std::vector<Placement>{{960, CheckpointClass::kPrompt}}));
}

TEST(CheckpointCache, TheMinimumStepSparesTheLastTurnAndTheEnd) {
  const CheckpointCache cache = MakeCache(100, "near-end,user-turns", "lru", 5000);
  const std::vector<Placement> plan = cache.Plan(Conversation(), {}, {0, 64, 128, 0});
  EXPECT_EQ(plan, (std::vector<Placement>{{640, CheckpointClass::kTurn},
                                          {832, CheckpointClass::kLadder},
                                          {960, CheckpointClass::kPrompt}}));
}

// Stores a range of `text` as a sequence of run 7 would park it, clean up to `clean`.
Status Park(CheckpointCache* cache, std::string_view text, size_t clean, size_t bytes) {
  const Tokens tokens = T(text);
  const Provenance provenance{clean, {{7, clean}}};
  for (const SegmentGap& gap : cache->MissingSegments(kAsker, tokens, provenance)) {
    if (Status put = cache->InsertSegment(kAsker, tokens, provenance, gap, Bytes(bytes)); !put) {
      return put;
    }
  }
  return {};
}

TEST(CheckpointCache, MatchSaysWhichCheckpointsHaveTheirKv) {
  CheckpointCache cache = MakeCache(1000);
  ASSERT_TRUE(Insert(&cache, "ab", 10));
  ASSERT_TRUE(Insert(&cache, "abcdef", 10));
  ASSERT_TRUE(Park(&cache, "abcdXY", 4, 10));
  const auto match = cache.Match(kAsker, T("abcdef"));
  ASSERT_EQ(match.checkpoints.size(), 2u);
  EXPECT_EQ(match.stored_on_grid, 4u);
  EXPECT_TRUE(match.checkpoints[0].kv_stored);
  EXPECT_FALSE(match.checkpoints[1].kv_stored);
}

TEST(CheckpointCache, APinnedPathIsNotGivenUp) {
  CheckpointCache cache = MakeCache(20);
  ASSERT_TRUE(Park(&cache, "abcdXY", 4, 10));
  const auto path = cache.PinPath(kAsker, T("abcdXY"), 7);
  ASSERT_TRUE(path.has_value());
  EXPECT_EQ(path->parts.size(), 2u);
  EXPECT_EQ(path->provenance.clean, 4u);
  EXPECT_EQ(Insert(&cache, "z", 5).error().code, ErrorCode::kNoSpace);
  cache.UnpinPath(*path);
  EXPECT_TRUE(Insert(&cache, "z", 5));
  EXPECT_EQ(cache.PinPath(kAsker, T("abcdXY"), 7).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(cache.PinPath(kAsker, T("abcd"), 0).has_value());
  cache.CheckInvariants();
}

TEST(CheckpointCache, ACheckpointThatIsNothingButSegmentsGoesWithThem) {
  CheckpointCache cache = MakeCache(20);
  ASSERT_TRUE(Park(&cache, "abcdXY", 4, 10));
  Checkpoint reply;
  reply.checkpoint_class = CheckpointClass::kReply;
  reply.lineage = 7;
  ASSERT_TRUE(cache.Insert(kAsker, T("abcdXY"), reply, Bytes()));
  EXPECT_EQ(cache.stats().checkpoints, 1u);
  ASSERT_TRUE(Insert(&cache, "z", 5));
  EXPECT_EQ(cache.stats().segments, 1u);
  EXPECT_EQ(cache.stats().checkpoints, 1u);
  EXPECT_TRUE(cache.Match(kAsker, T("abcdXYZ")).checkpoints.empty());
}

TEST(CheckpointCache, TheLastQueryOutlivesALongToolLoop) {
  CheckpointCache cache = MakeCache(100, "none", "lru");
  Checkpoint query;
  query.checkpoint_class = CheckpointClass::kQuery;
  std::string text = "q";
  ASSERT_TRUE(cache.Insert(kAsker, T(text), query, Bytes(10)));
  for (int step = 0; step < 60; ++step) ASSERT_TRUE(Insert(&cache, text += "t", 10));
  EXPECT_EQ(cache.Match(kAsker, T("qX")).checkpoints.size(), 1u);
  // The next query is a deeper one, and this one no longer stands out.
  ASSERT_TRUE(cache.Insert(kAsker, T(text += "q"), query, Bytes(10)));
  for (int step = 0; step < 20; ++step) ASSERT_TRUE(Insert(&cache, text += "t", 10));
  EXPECT_TRUE(cache.Match(kAsker, T("qX")).checkpoints.empty());
}

TEST(CheckpointCache, APathHoldsNoMoreCheckpointsThanAsked) {
  CacheOptions options;
  options.path_checkpoints_max = 3;
  CheckpointCache cache(options, *MakePlacement("none"), *MakeEviction("fifo"), MakeRamStore());
  std::string text;
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(Insert(&cache, text += "t", 10));
  ASSERT_TRUE(Insert(&cache, "other", 10));
  EXPECT_EQ(Positions(cache.Match(kAsker, T(text))), (std::vector<size_t>{6, 7, 8}));
  EXPECT_EQ(cache.stats().checkpoints, 4u);
}

TEST(CheckpointCache, AnOlderPromptsEndGoesWhenANewOneIsKept) {
  CheckpointCache cache = MakeCache(1000);
  Checkpoint end;
  end.checkpoint_class = CheckpointClass::kEnd;
  end.logits_bytes = 4;
  ASSERT_TRUE(cache.Insert(kAsker, T("ab"), end, Bytes(10)));
  ASSERT_TRUE(cache.Insert(kAsker, T("abcd"), end, Bytes(10)));
  EXPECT_EQ(Positions(cache.Match(kAsker, T("abcd"))), (std::vector<size_t>{4}));
}

}  // namespace
}  // namespace cairn
