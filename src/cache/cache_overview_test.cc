#include <gtest/gtest.h>

#include "cache/cache_overview.h"
#include "cache/checkpoint_cache.h"

namespace cairn::cache_overview_test {
namespace {

constexpr NamespaceId kClient = 1;
constexpr NamespaceId kOther = 2;

Checkpoint Of(CheckpointClass checkpoint_class) {
  Checkpoint checkpoint;
  checkpoint.checkpoint_class = checkpoint_class;
  return checkpoint;
}

class OverviewTest : public ::testing::Test {
 protected:
  OverviewTest() : OverviewTest(1 << 20) {}
  explicit OverviewTest(size_t ram_bytes_max)
      : cache_({.ram_bytes_max = ram_bytes_max}, *MakePlacement("none"), *MakeEviction("lru"),
               MakeRamStore()) {
    cache_.SetNow(100);
    header_ = *cache_.Insert(kClient, Tokens(64, 'h'), Of(CheckpointClass::kHeader), Bytes(10));
    Tokens longer(64, 'h');
    longer.insert(longer.end(), 64, 'u');
    cache_.SetNow(300);
    turn_ = *cache_.Insert(kClient, longer, Of(CheckpointClass::kTurn), Bytes(20));
    other_ = *cache_.Insert(kOther, Tokens(64, 'h'), Of(CheckpointClass::kHeader), Bytes(30));
  }

  CheckpointCache cache_;
  CheckpointId header_ = 0;
  CheckpointId turn_ = 0;
  CheckpointId other_ = 0;
};

TEST_F(OverviewTest, CountsWhatIsHeldByClass) {
  const CacheStats stats = cache_.FullStats();
  ASSERT_EQ(stats.checkpoints_held.size(), 2u);
  const HeldStats& headers = stats.checkpoints_held.at(CheckpointClass::kHeader);
  EXPECT_EQ(headers.ram.things, 2u);
  EXPECT_EQ(headers.ram.bytes, 40u);
  EXPECT_EQ(headers.disk.things, 0u);
  EXPECT_EQ(stats.checkpoints_held.at(CheckpointClass::kTurn).ram.things, 1u);
  EXPECT_EQ(stats.bytes_max, size_t{1} << 20);
}

TEST_F(OverviewTest, ListsAClientsOwnWithWhatStandsBetweenThem) {
  const auto held = CacheOverview(&cache_).HeldBy(kClient, 0, 10, 4);
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0].checkpoint.id, header_);
  EXPECT_EQ(held[0].parent, 0u);
  EXPECT_EQ(held[0].tokens, Tokens(4, 'h'));
  EXPECT_EQ(held[0].checkpoint.created_ms, 100);
  EXPECT_EQ(held[1].checkpoint.id, turn_);
  EXPECT_EQ(held[1].parent, header_);
  EXPECT_EQ(held[1].tokens, Tokens(4, 'u'));
}

TEST_F(OverviewTest, ListsPageByPage) {
  const auto first = CacheOverview(&cache_).HeldBy(kClient, 0, 1, 4);
  ASSERT_EQ(first.size(), 1u);
  const auto second = CacheOverview(&cache_).HeldBy(kClient, first[0].checkpoint.id, 1, 4);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].checkpoint.id, turn_);
  EXPECT_TRUE(CacheOverview(&cache_).HeldBy(kClient, turn_, 1, 4).empty());
}

TEST_F(OverviewTest, TellsAllTokensOnTheWayToOne) {
  const Tokens path = *CacheOverview(&cache_).PathOfHeld(kClient, turn_);
  ASSERT_EQ(path.size(), 128u);
  EXPECT_EQ(path.front(), 'h');
  EXPECT_EQ(path.back(), 'u');
}

TEST_F(OverviewTest, AnothersCheckpointIsNone) {
  for (const CheckpointId id : {other_, CheckpointId{999}}) {
    EXPECT_EQ(CacheOverview(&cache_).PathOfHeld(kClient, id).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(CacheOverview(&cache_).FindHeld(kClient, id, 4).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(CacheOverview(&cache_).KeepHeld(kClient, id, true).error().code,
              ErrorCode::kNotFound);
    EXPECT_EQ(CacheOverview(&cache_).DropHeld(kClient, id).error().code, ErrorCode::kNotFound);
  }
  EXPECT_EQ(cache_.stats().checkpoints, 3u);
}

TEST_F(OverviewTest, WhatIsDroppedIsNotMatchedAgain) {
  ASSERT_TRUE(CacheOverview(&cache_).DropHeld(kClient, header_).has_value());
  const auto match = cache_.Match(kClient, Tokens(100, 'h'));
  EXPECT_TRUE(match.checkpoints.empty());
  cache_.CheckInvariants();
  EXPECT_EQ(CacheOverview(&cache_).HeldBy(kClient, 0, 10, 4).front().parent, 0u);
}

TEST_F(OverviewTest, WhatIsInUseIsNotDropped) {
  ASSERT_TRUE(cache_.Pin(header_).has_value());
  EXPECT_EQ(CacheOverview(&cache_).DropHeld(kClient, header_).error().code,
            ErrorCode::kUnavailable);
  cache_.Unpin(header_);
  EXPECT_TRUE(CacheOverview(&cache_).DropHeld(kClient, header_).has_value());
}

class FullOverviewTest : public OverviewTest {
 protected:
  // Room for three or four checkpoints.
  FullOverviewTest() : OverviewTest(3000) {}
};

TEST_F(FullOverviewTest, WhatIsKeptOutlivesOthersUntilItIsToldOtherwise) {
  ASSERT_TRUE(CacheOverview(&cache_).KeepHeld(kClient, header_, true).has_value());
  EXPECT_TRUE(CacheOverview(&cache_).FindHeld(kClient, header_, 0)->kept);
  const auto fill = [&](Token first) {
    for (Token token = first; token < first + 40; ++token) {
      static_cast<void>(
          cache_.Insert(kClient, Tokens(64, token), Of(CheckpointClass::kTurn), Bytes(300)));
    }
  };
  fill(1000);
  EXPECT_TRUE(CacheOverview(&cache_).FindHeld(kClient, header_, 0).has_value());
  EXPECT_FALSE(CacheOverview(&cache_).FindHeld(kClient, turn_, 0).has_value());
  ASSERT_TRUE(CacheOverview(&cache_).KeepHeld(kClient, header_, false).has_value());
  EXPECT_FALSE(CacheOverview(&cache_).FindHeld(kClient, header_, 0)->kept);
  fill(2000);
  EXPECT_FALSE(CacheOverview(&cache_).FindHeld(kClient, header_, 0).has_value());
}

}  // namespace
}  // namespace cairn::cache_overview_test
