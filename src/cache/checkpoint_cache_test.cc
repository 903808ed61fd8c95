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

}  // namespace
}  // namespace cairn
