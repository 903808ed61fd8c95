#include "cache/checkpoint_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace cairn::checkpoint_cache_test {
namespace {

constexpr NamespaceId kClient = 1;
// Large compared with the tokens that lead to it, as real ones are: all tokens of a test's trees
// take less than half a snapshot.
constexpr size_t kSnapshot = 10'000;
constexpr size_t kTrees = kSnapshot / 2 - 1;
constexpr size_t kPlenty = 1 << 20;

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
                            NamespaceId name_space = kClient) {
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
  CheckpointCache cache = MakeCache(kPlenty);
  ASSERT_TRUE(Insert(&cache, "ab", 10));
  ASSERT_TRUE(Insert(&cache, "abcd", 10));
  ASSERT_TRUE(Insert(&cache, "abxy", 10));
  const auto match = cache.Match(kClient, T("abcdef"));
  EXPECT_EQ(match.shared, 4u);
  EXPECT_EQ(Positions(match), (std::vector<size_t>{2, 4}));
  cache.CheckInvariants();
}

TEST(CheckpointCache, NeverMatchesAcrossNamespaces) {
  CheckpointCache cache = MakeCache(kPlenty);
  ASSERT_TRUE(Insert(&cache, "abcd", 10, 1));
  EXPECT_TRUE(cache.Match(2, T("abcd")).checkpoints.empty());
  EXPECT_EQ(cache.Match(2, T("abcd")).shared, 0u);
}

Status InsertPrompt(CheckpointCache* cache, std::string_view prefix, size_t turns) {
  Checkpoint end;
  end.checkpoint_class = turns > 0 ? CheckpointClass::kPrompt : CheckpointClass::kReply;
  end.turns = turns;
  const auto inserted = cache->Insert(kClient, T(prefix), end, Bytes(10));
  if (!inserted) return tl::unexpected(inserted.error());
  return {};
}

TEST(CheckpointCache, MatchKnowsThePromptThatANewOnePartsFrom) {
  CheckpointCache cache = MakeCache(kPlenty);
  ASSERT_TRUE(InsertPrompt(&cache, "abc", 1));
  ASSERT_TRUE(InsertPrompt(&cache, "abcdef", 2));
  // An answer's end has no number of turns: the prompt before it has.
  ASSERT_TRUE(InsertPrompt(&cache, "abcdefgh", 0));
  const auto match = cache.Match(kClient, T("abcdX"));
  EXPECT_EQ(match.neighbour_tokens, 6u);
  EXPECT_EQ(match.neighbour_turns, 2u);
  // This prompt repeats the stored prompt in full and diverges in the answer.
  EXPECT_EQ(cache.Match(kClient, T("abcdefgX")).neighbour_tokens, 0u);
  EXPECT_EQ(cache.Match(kClient, T("X")).neighbour_tokens, 0u);
  // Of two prompts the newer one is reported.
  ASSERT_TRUE(InsertPrompt(&cache, "abcdZZZZ", 3));
  EXPECT_EQ(cache.Match(kClient, T("abcdX")).neighbour_tokens, 8u);
  EXPECT_EQ(cache.Match(kClient, T("abcdX")).neighbour_turns, 3u);
  EXPECT_EQ(cache.Match(kClient, T("abcdeX")).neighbour_turns, 2u);
}

TEST(CheckpointCache, TellsWhyThingsWent) {
  CacheOptions options;
  options.ram_bytes_max = 3 * (kSnapshot + kTrees / 3);
  options.path_checkpoints_max = 2;
  CheckpointCache cache(options, *MakePlacement("none"), *MakeEviction("lru"), MakeRamStore());
  ASSERT_TRUE(Insert(&cache, "a", kSnapshot));
  ASSERT_TRUE(Insert(&cache, "a", kSnapshot));
  EXPECT_EQ(cache.stats().replaced, 1u);
  ASSERT_TRUE(Insert(&cache, "ab", kSnapshot));
  ASSERT_TRUE(Insert(&cache, "abc", kSnapshot));
  EXPECT_EQ(cache.stats().path_full, 1u);
  EXPECT_EQ(cache.stats().evicted, 1u);
  for (const char* prefix : {"x", "y"}) ASSERT_TRUE(Insert(&cache, prefix, kSnapshot));
  EXPECT_EQ(cache.stats().evicted, 2u);
  EXPECT_EQ(cache.stats().path_full, 1u);
  Checkpoint end;
  end.checkpoint_class = CheckpointClass::kEnd;
  end.logits_bytes = 1;
  ASSERT_TRUE(cache.Insert(kClient, T("e"), end, Bytes(1)));
  ASSERT_TRUE(cache.Insert(kClient, T("ef"), end, Bytes(1)));
  EXPECT_EQ(cache.stats().outgrown, 1u);
  cache.CheckInvariants();
}

TEST(CheckpointCache, TellsWhatItHoldsOfEachClass) {
  CheckpointCache cache = MakeCache(kPlenty);
  ASSERT_TRUE(Insert(&cache, "a", 100));
  ASSERT_TRUE(Insert(&cache, "ab", 50));
  const CacheStats stats = cache.FullStats();
  ASSERT_EQ(stats.checkpoints_held.size(), 1u);
  const HeldStats& turns = stats.checkpoints_held.at(CheckpointClass::kTurn);
  EXPECT_EQ(turns.ram.things, 2u);
  EXPECT_EQ(turns.ram.bytes, 150u);
  EXPECT_EQ(turns.disk.things, 0u);
  EXPECT_EQ(stats.bytes_max, kPlenty);
}

TEST(CheckpointCache, HoldsItsBudgetToTheByte) {
  const size_t budget = 100 + PrefixTree::BytesOf(2) + PrefixTree::NodeBytes();
  CheckpointCache cache = MakeCache(budget);
  ASSERT_TRUE(Insert(&cache, "a", 60));
  ASSERT_TRUE(Insert(&cache, "ab", 40));
  EXPECT_EQ(cache.stats().bytes, budget);
  EXPECT_EQ(cache.stats().token_bytes, budget - 100);
  ASSERT_TRUE(Insert(&cache, "abc", 1));
  EXPECT_EQ(cache.stats().bytes, 41 + PrefixTree::BytesOf(3) + PrefixTree::NodeBytes());
  EXPECT_EQ(cache.stats().evicted, 1u);
  const size_t too_much = budget - PrefixTree::BytesOf(4) + 1;
  EXPECT_EQ(Insert(&cache, "abcd", too_much).error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(cache.stats().checkpoints, 2u);
  cache.CheckInvariants();
  EXPECT_TRUE(Insert(&cache, "abcd", too_much - 1));
  EXPECT_EQ(cache.stats().bytes, budget);
}

TEST(CheckpointCache, TokensTakeRoomAndGiveItBack) {
  const std::string first(1000, 'a');
  const std::string second(1000, 'b');
  CheckpointCache cache = MakeCache(PrefixTree::BytesOf(1500));
  ASSERT_TRUE(Insert(&cache, first, 1));
  ASSERT_TRUE(Insert(&cache, second, 1));
  EXPECT_EQ(cache.stats().evicted, 1u);
  EXPECT_EQ(cache.stats().token_bytes, PrefixTree::BytesOf(1000));
  EXPECT_EQ(cache.Match(kClient, T(first)).shared, 0u);
  // Tokens that other objects hold already cost no more.
  ASSERT_TRUE(Insert(&cache, second.substr(0, 900), 1));
  EXPECT_EQ(cache.stats().evicted, 1u);
  cache.CheckInvariants();
}

TEST(CheckpointCache, WhatIsRefusedLeavesNoTokens) {
  CheckpointCache cache = MakeCache(kSnapshot + kTrees);
  const CheckpointId id = *Insert(&cache, "ab", kSnapshot);
  ASSERT_TRUE(cache.Pin(id));
  const size_t before = cache.stats().bytes;
  EXPECT_FALSE(Insert(&cache, "axy", kSnapshot));
  const Provenance on_grid{3, {}};
  EXPECT_EQ(
      cache.InsertSegment(kClient, T("axy"), on_grid, {0, 3, 0}, Bytes(kSnapshot)).error().code,
      ErrorCode::kNoSpace);
  EXPECT_EQ(cache.stats().bytes, before);
  EXPECT_EQ(cache.Match(kClient, T("axy")).shared, 1u);
  EXPECT_EQ(cache.Match(kClient, T("axy")).stored_on_grid, 0u);
  cache.CheckInvariants();
}

TEST(CheckpointCache, RefreshesOnlyTheCheckpointThatWasUsed) {
  CheckpointCache cache = MakeCache(2 * kSnapshot + kTrees);
  const CheckpointId first = *Insert(&cache, "a", kSnapshot);
  ASSERT_TRUE(Insert(&cache, "ab", kSnapshot));
  ASSERT_TRUE(cache.Pin(first));
  cache.Unpin(first);
  ASSERT_TRUE(Insert(&cache, "abc", kSnapshot));
  EXPECT_EQ(Positions(cache.Match(kClient, T("abc"))), (std::vector<size_t>{1, 3}));
}

TEST(CheckpointCache, WhatIsPinnedIsNotGivenUp) {
  CheckpointCache cache = MakeCache(kSnapshot + kTrees);
  const CheckpointId id = *Insert(&cache, "a", kSnapshot);
  ASSERT_TRUE(cache.Pin(id));
  EXPECT_EQ(Insert(&cache, "ab", kSnapshot).error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(cache.stats().refused, 1u);
  cache.Unpin(id);
  EXPECT_TRUE(Insert(&cache, "ab", kSnapshot));
  EXPECT_EQ(cache.Pin(id).error().code, ErrorCode::kNotFound);
}

TEST(CheckpointCache, EvictionNoneRefusesWhatDoesNotFit) {
  CheckpointCache cache = MakeCache(kSnapshot + PrefixTree::BytesOf(1), "none", "none");
  ASSERT_TRUE(Insert(&cache, "a", kSnapshot));
  EXPECT_EQ(Insert(&cache, "b", 1).error().code, ErrorCode::kNoSpace);
}

TEST(CheckpointCache, AStoreThatKeepsNothingIsAMiss) {
  CheckpointCache cache(CacheOptions{}, *MakePlacement("none"), *MakeEviction("lru"),
                        MakeNoneStore());
  EXPECT_FALSE(Insert(&cache, "a", 10));
  EXPECT_TRUE(cache.Match(kClient, T("a")).checkpoints.empty());
}

TEST(CheckpointCache, TheSamePlaceIsStoredOnce) {
  CheckpointCache cache = MakeCache(kPlenty);
  ASSERT_TRUE(Insert(&cache, "ab", 10));
  ASSERT_TRUE(Insert(&cache, "ab", 30));
  EXPECT_EQ(cache.stats().bytes, 30 + PrefixTree::BytesOf(2));
  EXPECT_TRUE(cache.Holds(kClient, T("ab"), 0));
  EXPECT_FALSE(cache.Holds(kClient, T("ab"), 3));
  EXPECT_FALSE(cache.Holds(kClient, T("a"), 0));
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
  const std::vector<Placement> plan = cache.Plan(Conversation(), {}, {300, {64, 1000}, 128, 0});
  EXPECT_EQ(plan, (std::vector<Placement>{{640, CheckpointClass::kTurn},
                                          {832, CheckpointClass::kLadder},
                                          {960, CheckpointClass::kPrompt}}));
}

TEST(CheckpointCache, PlansOneCheckpointWhereTwoPoliciesMeet) {
  const CheckpointCache cache = MakeCache(100);
  PromptShape shape = Conversation();
  shape.turns.push_back({970, true});
  const std::vector<Placement> plan = cache.Plan(shape, {}, {900, {64, 1000}, 128, 0});
  EXPECT_EQ(plan, (std::vector<Placement>{{960, CheckpointClass::kPrompt}}));
}

TEST(CheckpointCache, TheMinimumStepSparesTheLastTurnAndTheEnd) {
  const CheckpointCache cache = MakeCache(100, "near-end,user-turns", "lru", 5000);
  const std::vector<Placement> plan = cache.Plan(Conversation(), {}, {0, {64, 1000}, 128, 0});
  EXPECT_EQ(plan, (std::vector<Placement>{{640, CheckpointClass::kTurn},
                                          {832, CheckpointClass::kLadder},
                                          {960, CheckpointClass::kPrompt}}));
}

// Stores a range of `text` as the offload of a sequence of run 7 does, clean up to `clean`.
Status Offload(CheckpointCache* cache, std::string_view text, size_t clean, size_t bytes) {
  const Tokens tokens = T(text);
  const Provenance provenance{clean, {{7, clean}}};
  for (const SegmentGap& gap : cache->MissingSegments(kClient, tokens, provenance)) {
    if (Status put = cache->InsertSegment(kClient, tokens, provenance, gap, Bytes(bytes)); !put) {
      return put;
    }
  }
  return {};
}

TEST(CheckpointCache, MatchSaysWhichCheckpointsHaveTheirKv) {
  CheckpointCache cache = MakeCache(kPlenty);
  ASSERT_TRUE(Insert(&cache, "ab", 10));
  ASSERT_TRUE(Insert(&cache, "abcdef", 10));
  ASSERT_TRUE(Offload(&cache, "abcdXY", 4, kSnapshot));
  const auto match = cache.Match(kClient, T("abcdef"));
  ASSERT_EQ(match.checkpoints.size(), 2u);
  EXPECT_EQ(match.stored_on_grid, 4u);
  EXPECT_TRUE(match.checkpoints[0].kv_stored);
  EXPECT_FALSE(match.checkpoints[1].kv_stored);
}

TEST(CheckpointCache, DropsTheNamespacesThatAreGone) {
  CheckpointCache cache = MakeCache(kPlenty);
  ASSERT_TRUE(Insert(&cache, "ab", 10));
  const auto pinned = Insert(&cache, "abcd", 10);
  ASSERT_TRUE(Insert(&cache, "abcd", 10, kClient + 1));
  ASSERT_TRUE(Offload(&cache, "abcdXY", 4, kSnapshot));
  ASSERT_TRUE(cache.InsertFullState(kClient, T("xyz"), {3, {}, {}}, Bytes(10)));
  ASSERT_TRUE(cache.Pin(*pinned));
  const auto is_gone = [](NamespaceId name_space) { return name_space == kClient; };
  EXPECT_EQ(cache.DropNameSpaces(is_gone), 4u) << "a checkpoint, two segments, a full state";
  cache.CheckInvariants();
  EXPECT_EQ(Positions(cache.Match(kClient, T("abcd"))), (std::vector<size_t>{4}));
  EXPECT_EQ(Positions(cache.Match(kClient + 1, T("abcd"))), (std::vector<size_t>{4}));
  cache.Unpin(*pinned);
  EXPECT_EQ(cache.DropNameSpaces(is_gone), 1u);
  EXPECT_TRUE(cache.Match(kClient, T("abcd")).checkpoints.empty());
  cache.CheckInvariants();
}

TEST(CheckpointCache, APinnedPathIsNotGivenUp) {
  CheckpointCache cache = MakeCache(2 * kSnapshot + kTrees);
  ASSERT_TRUE(Offload(&cache, "abcdXY", 4, kSnapshot));
  const auto path = cache.PinPath(kClient, T("abcdXY"), 7);
  ASSERT_TRUE(path.has_value());
  EXPECT_EQ(path->parts.size(), 2u);
  EXPECT_EQ(path->provenance.clean, 4u);
  EXPECT_EQ(Insert(&cache, "z", kSnapshot / 2).error().code, ErrorCode::kNoSpace);
  cache.UnpinPath(*path);
  EXPECT_TRUE(Insert(&cache, "z", kSnapshot / 2));
  EXPECT_EQ(cache.PinPath(kClient, T("abcdXY"), 7).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(cache.PinPath(kClient, T("abcd"), 0).has_value());
  cache.CheckInvariants();
}

TEST(CheckpointCache, ACheckpointThatIsNothingButSegmentsGoesWithThem) {
  CheckpointCache cache = MakeCache(2 * kSnapshot + kTrees);
  ASSERT_TRUE(Offload(&cache, "abcdXY", 4, kSnapshot));
  Checkpoint reply;
  reply.checkpoint_class = CheckpointClass::kReply;
  reply.lineage = 7;
  ASSERT_TRUE(cache.Insert(kClient, T("abcdXY"), reply, Bytes()));
  EXPECT_EQ(cache.stats().checkpoints, 1u);
  ASSERT_TRUE(Insert(&cache, "z", kSnapshot / 2));
  EXPECT_EQ(cache.stats().segments, 1u);
  EXPECT_EQ(cache.stats().checkpoints, 1u);
  EXPECT_TRUE(cache.Match(kClient, T("abcdXYZ")).checkpoints.empty());
}

// Slots of a hybrid model that hold `texts`; the last one is being offloaded if `leaving`.
SlotsView Slots(const std::vector<Tokens>& texts, bool leaving = false) {
  SlotsView view;
  view.needs_snapshots = true;
  view.snapshots_need_kv = true;
  view.held = [texts, leaving] {
    std::vector<SlotsView::Held> held;
    for (const Tokens& text : texts) held.push_back({kClient, text});
    if (leaving) held.back().leaving = true;
    return held;
  };
  return view;
}

TEST(CheckpointCache, ALongRangeIsStoredInPieces) {
  CacheOptions options;
  options.segment_tokens_max = 4;
  const CheckpointCache cache(options, *MakePlacement("none"), *MakeEviction("lru"),
                              MakeRamStore());
  const auto gaps = cache.MissingSegments(kClient, T("abcdefghij"), Provenance{10, {}});
  EXPECT_EQ(gaps, (std::vector<SegmentGap>{{0, 4, 0}, {4, 8, 0}, {8, 10, 0}}));
}

// Two prompts whose second messages share only a part of a step of the grid: the bits of that part
// depend on where the message ends.
TEST(CheckpointCache, ARangeBeginsAtACutEvenWhereMoreOfItsTokensAreStored) {
  CheckpointCache cache = MakeCache(1 << 20);
  const Provenance clean{12, {}};
  ASSERT_TRUE(cache.InsertSegment(kClient, T("abcdefghijkl"), clean, {0, 12, 0}, Bytes(12)));
  const PromptCuts cuts(4, 12, {5});
  const auto gaps = cache.MissingSegments(kClient, T("abcdefghXYZW"), clean, cuts);
  EXPECT_EQ(gaps, (std::vector<SegmentGap>{{5, 12, 0}}));
  ASSERT_TRUE(cache.InsertSegment(kClient, T("abcdefghXYZW"), clean, gaps[0], Bytes(7)));
  const auto path = cache.PinPath(kClient, T("abcdefghXYZW"), 0);
  ASSERT_TRUE(path.has_value());
  ASSERT_EQ(path->parts.size(), 2u);
  EXPECT_EQ(path->parts[0].end, 5u);
  EXPECT_EQ(path->parts[1].begin, 5u);
  cache.CheckInvariants();
}

TEST(CheckpointCache, ASnapshotWhoseKvIsGoneGoesBeforeOneThatLeadsSomewhere) {
  CheckpointCache cache = MakeCache(3 * kSnapshot + kTrees, "none", "value");
  cache.SetSlots(Slots({T("slotslotslotX")}));
  ASSERT_TRUE(Insert(&cache, "lostlostlostlost", kSnapshot));
  ASSERT_TRUE(Insert(&cache, "s", kSnapshot));
  ASSERT_TRUE(Insert(&cache, "sl", kSnapshot));
  // Worth 16 tokens if there were KV for it; the others are worth one each.
  ASSERT_TRUE(Insert(&cache, "slo", kSnapshot));
  EXPECT_TRUE(cache.Match(kClient, T("lostlostlostlost")).checkpoints.empty());
  EXPECT_EQ(cache.Match(kClient, T("slotX")).checkpoints.size(), 3u);
}

TEST(CheckpointCache, WhatASlotHoldsTooGoesBeforeWhatNobodyHolds) {
  CheckpointCache cache = MakeCache(4 * kSnapshot + kTrees, "none", "value");
  for (const std::string_view text : {"awayawayaway", "slotslotslotslot"}) {
    ASSERT_TRUE(Offload(&cache, text, text.size(), kSnapshot));
    ASSERT_TRUE(Insert(&cache, text, kSnapshot));
  }
  cache.SetSlots(Slots({T("slotslotslotslotX")}));
  ASSERT_TRUE(Insert(&cache, "slots", kSnapshot));
  EXPECT_TRUE(cache.Match(kClient, T("awayawayaway")).checkpoints.at(0).kv_stored);
  EXPECT_EQ(cache.Match(kClient, T("slotslotslotslot")).stored_on_grid, 0u);
  // The snapshots stay, because the slot's KV makes them reachable.
  EXPECT_EQ(cache.Match(kClient, T("slotslotslotslot")).checkpoints.size(), 2u);
  cache.CheckInvariants();
}

TEST(CheckpointCache, ASegmentCountsAsHeldByASlotThatHasAllThatItsCheckpointsNeed) {
  CheckpointCache cache = MakeCache(4 * kSnapshot + kTrees, "none", "value");
  ASSERT_TRUE(Offload(&cache, "awayawayaway", 12, kSnapshot));
  ASSERT_TRUE(Insert(&cache, "awayawayaway", kSnapshot));
  ASSERT_TRUE(Offload(&cache, "slotslotslotslot", 16, kSnapshot));
  ASSERT_TRUE(Insert(&cache, "slotslotslot", kSnapshot));
  // The slot has diverged within the segment, behind its checkpoint.
  cache.SetSlots(Slots({T("slotslotslotsX")}));
  ASSERT_TRUE(Insert(&cache, "slots", kSnapshot));
  EXPECT_TRUE(cache.Match(kClient, T("awayawayaway")).checkpoints.at(0).kv_stored);
  EXPECT_EQ(cache.Match(kClient, T("slotslotslotslot")).stored_on_grid, 0u);
}

TEST(CheckpointCache, AShortLastSegmentIsWorthAllThatDependsOnIt) {
  CheckpointCache cache = MakeCache(5 * kSnapshot + kTrees, "none", "value");
  cache.SetSlots(Slots({}));
  ASSERT_TRUE(Offload(&cache, "longlonglonglon", 15, kSnapshot));
  ASSERT_TRUE(Offload(&cache, "longlonglonglong", 16, kSnapshot));
  ASSERT_TRUE(Insert(&cache, "longlonglonglong", kSnapshot));
  ASSERT_TRUE(Offload(&cache, "tiny", 4, kSnapshot));
  ASSERT_TRUE(Insert(&cache, "tiny", kSnapshot));
  ASSERT_TRUE(Offload(&cache, "z", 1, kSnapshot));
  EXPECT_EQ(cache.Match(kClient, T("tiny")).stored_on_grid, 0u);
  EXPECT_TRUE(cache.Match(kClient, T("longlonglonglong")).checkpoints.at(0).kv_stored);
}

TEST(CheckpointCache, APromptPassesTheEndsOfItsConversationsEarlierPrompts) {
  CheckpointCache cache = MakeCache(3 * kSnapshot + kTrees, "none", "value");
  Checkpoint end;
  end.checkpoint_class = CheckpointClass::kPrompt;
  end.turns = 1;
  ASSERT_TRUE(cache.Insert(kClient, T("bbbb"), end, Bytes(kSnapshot)));
  ASSERT_TRUE(cache.Insert(kClient, T("aaaa"), end, Bytes(kSnapshot)));
  end.turns = 3;
  ASSERT_TRUE(cache.Insert(kClient, T("aaaaaaaa"), end, Bytes(kSnapshot)));
  ASSERT_TRUE(Insert(&cache, "c", kSnapshot));
  EXPECT_EQ(cache.Match(kClient, T("bbbb")).checkpoints.size(), 1u);
  EXPECT_EQ(Positions(cache.Match(kClient, T("aaaaaaaa"))), std::vector<size_t>{8});
}

TEST(CheckpointCache, ACheckpointTakesOverThePromptsOfAnEvictedOneBehindIt) {
  CheckpointCache cache = MakeCache(3 * kSnapshot + kTrees, "none", "value");
  Checkpoint what;
  what.checkpoint_class = CheckpointClass::kLadder;
  ASSERT_TRUE(cache.Insert(kClient, Tokens(30, 'a'), what, Bytes(kSnapshot)));
  what.checkpoint_class = CheckpointClass::kPrompt;
  ASSERT_TRUE(cache.Insert(kClient, Tokens(31, 'a'), what, Bytes(kSnapshot)));
  ASSERT_TRUE(Insert(&cache, std::string(20, 'b'), kSnapshot));
  // The prompt's end is only a token behind the ladder …
  ASSERT_TRUE(Insert(&cache, std::string(50, 'c'), kSnapshot));
  ASSERT_EQ(Positions(cache.Match(kClient, Tokens(40, 'a'))), std::vector<size_t>{30});
  // … which is where the conversation goes on from now.
  ASSERT_TRUE(Insert(&cache, std::string(60, 'd'), kSnapshot));
  EXPECT_EQ(Positions(cache.Match(kClient, Tokens(40, 'a'))), std::vector<size_t>{30});
  EXPECT_TRUE(cache.Match(kClient, Tokens(20, 'b')).checkpoints.empty());
  cache.CheckInvariants();
}

TEST(CheckpointCache, WhatASlotIsAboutToLoseIsNotGivenUpForItself) {
  CheckpointCache cache = MakeCache(4 * kSnapshot + kTrees, "none", "value");
  ASSERT_TRUE(Offload(&cache, "oldold", 6, kSnapshot));
  ASSERT_TRUE(Insert(&cache, "oldold", kSnapshot));
  cache.SetSlots(Slots({T("slotslotslotslot")}, /*leaving=*/true));
  ASSERT_TRUE(Insert(&cache, "slotslotslotslot", kSnapshot));
  ASSERT_TRUE(Offload(&cache, "slotslotslot", 12, kSnapshot));
  ASSERT_TRUE(Offload(&cache, "slotslotslotslot", 16, kSnapshot));
  cache.SetSlots(Slots({}));
  const auto match = cache.Match(kClient, T("slotslotslotslot"));
  EXPECT_EQ(match.stored_on_grid, 16u);
  ASSERT_EQ(match.checkpoints.size(), 1u);
  EXPECT_TRUE(match.checkpoints[0].kv_stored);
  EXPECT_EQ(cache.Match(kClient, T("oldold")).stored_on_grid, 0u);
}

TEST(CheckpointCache, QueriesOfConversationsThatLeftTheSlotsAreNotPinned) {
  CheckpointCache cache = MakeCache(4 * kSnapshot + kTrees, "none", "lru");
  Checkpoint query;
  query.checkpoint_class = CheckpointClass::kQuery;
  ASSERT_TRUE(cache.Insert(kClient, T("gone"), query, Bytes(kSnapshot)));
  ASSERT_TRUE(cache.Insert(kClient, T("here"), query, Bytes(kSnapshot)));
  cache.SetSlots(Slots({T("here and more")}));
  std::string text = "z";
  for (int step = 0; step < 4; ++step) ASSERT_TRUE(Insert(&cache, text += "t", kSnapshot));
  EXPECT_TRUE(cache.Match(kClient, T("gone")).checkpoints.empty());
  EXPECT_EQ(cache.Match(kClient, T("here")).checkpoints.size(), 1u);
}

TEST(CheckpointCache, TheLastQueryOutlivesALongToolLoop) {
  CheckpointCache cache = MakeCache(10 * kSnapshot + kTrees, "none", "lru");
  Checkpoint query;
  query.checkpoint_class = CheckpointClass::kQuery;
  std::string text = "q";
  ASSERT_TRUE(cache.Insert(kClient, T(text), query, Bytes(kSnapshot)));
  for (int step = 0; step < 60; ++step) ASSERT_TRUE(Insert(&cache, text += "t", kSnapshot));
  EXPECT_EQ(cache.Match(kClient, T("qX")).checkpoints.size(), 1u);
  // The next query is deeper, so this one is no longer protected.
  ASSERT_TRUE(cache.Insert(kClient, T(text += "q"), query, Bytes(kSnapshot)));
  for (int step = 0; step < 20; ++step) ASSERT_TRUE(Insert(&cache, text += "t", kSnapshot));
  EXPECT_TRUE(cache.Match(kClient, T("qX")).checkpoints.empty());
}

TEST(CheckpointCache, TheLastQueryOutlivesAToolLoopWhereItTakesMoreThanHalfTheBudget) {
  CheckpointCache cache = MakeCache(kSnapshot * 3 / 2 + kTrees, "none", "lru");
  Checkpoint query;
  query.checkpoint_class = CheckpointClass::kQuery;
  std::string text = "q";
  ASSERT_TRUE(cache.Insert(kClient, T(text), query, Bytes(kSnapshot)));
  for (int step = 0; step < 20; ++step) {
    text += "t";
    // Small checkpoints come and go beside it; a second one of its size has no room.
    ASSERT_TRUE(Insert(&cache, text, kSnapshot / 4));
    EXPECT_FALSE(Insert(&cache, text + "u", kSnapshot));
  }
  EXPECT_EQ(cache.Match(kClient, T("qX")).checkpoints.size(), 1u);
  // The next query takes its place, in this conversation or in another.
  ASSERT_TRUE(cache.Insert(kClient, T(text += "q"), query, Bytes(kSnapshot)));
  EXPECT_TRUE(cache.Match(kClient, T("qX")).checkpoints.empty());
  ASSERT_TRUE(cache.Insert(kClient, T("other q"), query, Bytes(kSnapshot)));
  EXPECT_EQ(cache.Match(kClient, T("other q")).checkpoints.size(), 1u);
}

TEST(CheckpointCache, APathHoldsNoMoreCheckpointsThanAsked) {
  CacheOptions options;
  options.path_checkpoints_max = 3;
  CheckpointCache cache(options, *MakePlacement("none"), *MakeEviction("fifo"), MakeRamStore());
  std::string text;
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(Insert(&cache, text += "t", 10));
  ASSERT_TRUE(Insert(&cache, "other", 10));
  EXPECT_EQ(Positions(cache.Match(kClient, T(text))), (std::vector<size_t>{6, 7, 8}));
  EXPECT_EQ(cache.stats().checkpoints, 4u);
}

TEST(CheckpointCache, AnOlderPromptsEndGoesWhenANewOneIsKept) {
  CheckpointCache cache = MakeCache(kPlenty);
  Checkpoint end;
  end.checkpoint_class = CheckpointClass::kEnd;
  end.logits_bytes = 4;
  ASSERT_TRUE(cache.Insert(kClient, T("ab"), end, Bytes(10)));
  ASSERT_TRUE(cache.Insert(kClient, T("abcd"), end, Bytes(10)));
  EXPECT_EQ(Positions(cache.Match(kClient, T("abcd"))), (std::vector<size_t>{4}));
}

}  // namespace
}  // namespace cairn::checkpoint_cache_test
