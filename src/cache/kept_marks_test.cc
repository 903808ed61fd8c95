// The protection of checkpoints that clients marked.

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>

#include "cache/cache_overview.h"
#include "cache/checkpoint_cache.h"

namespace cairn::kept_marks_test {
namespace {

constexpr NamespaceId kClient = 1;
constexpr size_t kPlenty = 1 << 20;

Tokens T(std::string_view letters) {
  return Tokens(letters.begin(), letters.end());
}

CheckpointCache MakeCache(size_t ram_bytes_max) {
  CacheOptions options;
  options.ram_bytes_max = ram_bytes_max;
  options.min_step_tokens = 0;
  return CheckpointCache(options, *MakePlacement("near-end,user-turns"), *MakeEviction("lru"),
                         MakeRamStore());
}

Result<CheckpointId> Insert(CheckpointCache* cache, std::string_view prefix, size_t bytes,
                            NamespaceId name_space = kClient) {
  Checkpoint turn;
  turn.checkpoint_class = CheckpointClass::kTurn;
  return cache->Insert(name_space, T(prefix), turn, Bytes(bytes));
}

TEST(KeptMarks, WhatAClientMarkedStaysForItsTime) {
  const size_t budget = 400 + PrefixTree::BytesOf(100);
  CheckpointCache cache = MakeCache(budget);
  cache.SetNow(1000);
  ASSERT_TRUE(Insert(&cache, "a", 100));
  EXPECT_FALSE(cache.Keep(kClient, T("b"), 50)) << "nothing is stored there";
  EXPECT_TRUE(cache.Keep(kClient, T("a"), 50));
  EXPECT_EQ(cache.stats().kept, 1u);
  // It is unused for longest by far.
  for (const char* prefix : {"b", "c", "d", "e", "f"}) ASSERT_TRUE(Insert(&cache, prefix, 100));
  EXPECT_EQ(cache.Match(kClient, T("a")).checkpoints.size(), 1u);
  // A hit restarts the time.
  cache.SetNow(1040);
  const CheckpointId id = cache.Match(kClient, T("a")).checkpoints.at(0).id;
  ASSERT_TRUE(cache.Pin(id));
  cache.Unpin(id);
  cache.SetNow(1080);
  for (const char* prefix : {"g", "h", "i", "j", "k"}) ASSERT_TRUE(Insert(&cache, prefix, 100));
  EXPECT_EQ(cache.Match(kClient, T("a")).checkpoints.size(), 1u);
  cache.SetNow(1090);
  EXPECT_EQ(cache.stats().kept, 0u);
  for (const char* prefix : {"l", "m", "n", "o", "p"}) ASSERT_TRUE(Insert(&cache, prefix, 100));
  EXPECT_TRUE(cache.Match(kClient, T("a")).checkpoints.empty());
  cache.CheckInvariants();
}

TEST(KeptMarks, MarksKeepAtMostHalfTheBudgetAndTheNewestOnes) {
  // Room for both, and half of it for one and a bit.
  CheckpointCache cache = MakeCache(2 * (150 + PrefixTree::BytesOf(1)) + 100);
  ASSERT_TRUE(Insert(&cache, "a", 150));
  ASSERT_TRUE(Insert(&cache, "b", 150));
  EXPECT_TRUE(cache.Keep(kClient, T("a"), 50));
  EXPECT_TRUE(cache.Keep(kClient, T("a"), 50)) << "the same one takes no more";
  cache.SetNow(10);
  EXPECT_TRUE(cache.Keep(kClient, T("b"), 50));
  EXPECT_EQ(cache.stats().kept, 1u);
  EXPECT_EQ(cache.stats().keeps_refused, 0u);
  cache.SetNow(55);
  EXPECT_EQ(cache.stats().kept, 1u) << "b is kept, a is not";
}

TEST(KeptMarks, AMarkThatDoesNotFitIsRefused) {
  CheckpointCache cache = MakeCache(200 + PrefixTree::BytesOf(1));
  ASSERT_TRUE(Insert(&cache, "a", 150));
  EXPECT_FALSE(cache.Keep(kClient, T("a"), 50));
  EXPECT_EQ(cache.stats().keeps_refused, 1u);
}

TEST(KeptMarks, AClientsMarksTakeNothingFromTheShareOfOthers) {
  constexpr NamespaceId kOther = kClient + 1;
  // Half the budget holds four of them.
  CheckpointCache cache = MakeCache(8 * (150 + PrefixTree::BytesOf(8)) + 100);
  const auto insert = [&](NamespaceId name_space, const std::string& prefix) {
    return Insert(&cache, prefix, 150, name_space);
  };
  for (const char* prefix : {"a", "b", "c", "d", "e", "f"}) {
    ASSERT_TRUE(insert(kClient, prefix));
    EXPECT_TRUE(cache.Keep(kClient, T(prefix), 1000)) << prefix;
  }
  EXPECT_EQ(cache.stats().kept, 4u);
  // Another client gets its half, and no more of it than that.
  for (const char* prefix : {"x", "y", "z"}) {
    ASSERT_TRUE(insert(kOther, prefix));
    EXPECT_TRUE(cache.Keep(kOther, T(prefix), 1000)) << prefix;
  }
  EXPECT_EQ(cache.stats().kept, 4u);
  const auto kept = [&](NamespaceId name_space) {
    size_t count = 0;
    for (const HeldCheckpoint& held : CacheOverview(&cache).HeldBy(name_space, 0, 100, 0)) {
      count += held.kept ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(kept(kClient), 2u);
  EXPECT_EQ(kept(kOther), 2u);
}

TEST(KeptMarks, WhatWasPinnedByHandIsNotGivenUpForAMark) {
  CheckpointCache cache = MakeCache(2 * (150 + PrefixTree::BytesOf(1)) + 100);
  ASSERT_TRUE(Insert(&cache, "a", 150));
  ASSERT_TRUE(Insert(&cache, "b", 150));
  ASSERT_TRUE(cache.Keep(kClient, T("a"), std::numeric_limits<double>::max() / 4));
  EXPECT_FALSE(cache.Keep(kClient, T("b"), 50));
  EXPECT_EQ(cache.stats().kept, 1u);
}

TEST(KeptMarks, AMarkOutlivesTheCheckpointThatIsReplaced) {
  CheckpointCache cache = MakeCache(kPlenty);
  ASSERT_TRUE(Insert(&cache, "a", 10));
  ASSERT_TRUE(cache.Keep(kClient, T("a"), 50));
  ASSERT_TRUE(Insert(&cache, "a", 20));
  EXPECT_EQ(cache.stats().kept, 1u);
}

}  // namespace
}  // namespace cairn::kept_marks_test
