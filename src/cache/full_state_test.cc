#include <gtest/gtest.h>

#include <string_view>

#include "cache/checkpoint_cache.h"

namespace cairn::full_state_test {
namespace {

constexpr NamespaceId kClient = 1;
constexpr size_t kWhole = 10'000;

Tokens T(std::string_view letters) {
  return Tokens(letters.begin(), letters.end());
}

CheckpointCache MakeCache(size_t ram_bytes_max) {
  CacheOptions options;
  options.ram_bytes_max = ram_bytes_max;
  return CheckpointCache(options, *MakePlacement("none"), *MakeEviction("lru"), MakeRamStore());
}

Status Insert(CheckpointCache* cache, std::string_view tokens, size_t clean, LineageId run,
              NamespaceId name_space = kClient) {
  Provenance provenance{clean, {}, {}};
  if (clean < tokens.size()) provenance.runs = {{run, clean}};
  return cache->InsertFullState(name_space, T(tokens), provenance, Bytes(kWhole));
}

TEST(FullStates, AreFoundByPromptsThatBeginAsTheyDo) {
  CheckpointCache cache = MakeCache(10 * kWhole);
  ASSERT_TRUE(Insert(&cache, "abcd", 4, 0));
  ASSERT_TRUE(Insert(&cache, "xyz", 3, 0));
  const auto match = cache.Match(kClient, T("abef"));
  ASSERT_EQ(match.full_states.size(), 1u);
  EXPECT_EQ(match.full_states[0]->tokens, T("abcd"));
  EXPECT_TRUE(cache.Match(kClient + 1, T("abcd")).full_states.empty());
}

TEST(FullStates, ReplaceWhatTheyHaveOutgrown) {
  CheckpointCache cache = MakeCache(10 * kWhole);
  ASSERT_TRUE(Insert(&cache, "abcd", 2, 7));
  ASSERT_TRUE(Insert(&cache, "abcdef", 2, 7));
  EXPECT_EQ(cache.stats().full_states, 1u);
  EXPECT_EQ(cache.stats().outgrown, 1u);
  EXPECT_EQ(cache.FullStats().full_states_held.ram.things, 1u);
  // The same tokens of another run have other bits.
  ASSERT_TRUE(Insert(&cache, "abcdefgh", 2, 8));
  EXPECT_EQ(cache.stats().full_states, 2u);
  cache.CheckInvariants();
}

TEST(FullStates, AreGivenUpForRoomUnlessTheyArePinned) {
  CheckpointCache cache = MakeCache(2 * kWhole + kWhole / 2);
  ASSERT_TRUE(Insert(&cache, "aa", 2, 0));
  ASSERT_TRUE(Insert(&cache, "bb", 2, 0));
  const FullStateId first = cache.Match(kClient, T("a")).full_states.at(0)->id;
  ASSERT_TRUE(cache.Pin(first));
  ASSERT_TRUE(Insert(&cache, "cc", 2, 0));
  EXPECT_EQ(cache.Match(kClient, T("a")).full_states.size(), 1u);
  EXPECT_TRUE(cache.Match(kClient, T("b")).full_states.empty());
  cache.Unpin(first);
  ASSERT_TRUE(Insert(&cache, "dd", 2, 0));
  EXPECT_EQ(cache.stats().full_states, 2u);
  EXPECT_EQ(cache.stats().evicted, 2u);
  cache.CheckInvariants();
}

TEST(FullStates, ThatAreTooLargeAreRefusedAndLeaveNothing) {
  CheckpointCache cache = MakeCache(kWhole);
  EXPECT_EQ(Insert(&cache, "abcd", 4, 0).error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(cache.stats().bytes, 0u);
  EXPECT_EQ(cache.stats().refused, 1u);
}

TEST(FullStates, ThatCouldNotBeSetAreForgotten) {
  CheckpointCache cache = MakeCache(10 * kWhole);
  ASSERT_TRUE(Insert(&cache, "abcd", 4, 0));
  const FullStateId id = cache.Match(kClient, T("a")).full_states.at(0)->id;
  ASSERT_TRUE(cache.Pin(id));
  cache.Unpin(id);
  cache.Discard(id);
  EXPECT_EQ(cache.Pin(id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(cache.stats().discarded, 1u);
  EXPECT_EQ(cache.stats().bytes, 0u);
}

}  // namespace
}  // namespace cairn::full_state_test
