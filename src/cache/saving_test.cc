#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "cache/checkpoint_cache.h"
#include "testing/store/fake_disk.h"

namespace cairn::saving_test {
namespace {

constexpr double kSlow = 100;  // milliseconds per token: everything is worth saving
constexpr NamespaceId kClient = 3;
constexpr size_t kBytes = 10'000;  // compared with which tokens take almost no memory

Tokens Text(size_t n, char letter = 'x') {
  return Tokens(n, letter);
}

Bytes Filled(size_t bytes, uint8_t value) {
  Bytes filled(bytes);
  std::fill(filled.begin(), filled.end(), value);
  return filled;
}

std::unique_ptr<CheckpointCache> CacheOn(test::FakeDisk* disk, size_t ram_bytes_max = 1 << 20) {
  CacheOptions options;
  options.ram_bytes_max = ram_bytes_max;
  auto cache = std::make_unique<CheckpointCache>(options, *MakePlacement("near-end"),
                                                 *MakeEviction("value"), MakeTieredStore(disk));
  disk->Restart();
  cache->SetSavedAs({{1, 2}, {{kClient, 33}}});
  cache->TakeEvents();
  return cache;
}

Checkpoint Of(CheckpointClass checkpoint_class) {
  Checkpoint what;
  what.checkpoint_class = checkpoint_class;
  return what;
}

CheckpointId Insert(CheckpointCache* cache, const Tokens& tokens, uint8_t value = 1,
                    CheckpointClass checkpoint_class = CheckpointClass::kReply) {
  const auto id = cache->Insert(kClient, tokens, Of(checkpoint_class), Filled(kBytes, value));
  EXPECT_TRUE(id.has_value());
  return id.value_or(0);
}

void SaveAll(CheckpointCache* cache) {
  while (cache->SaveNext(kSlow).began) {
  }
  cache->TakeEvents();
}

TEST(Saving, WhatIsDroppedWithItsNamespaceIsGoneFromDiskToo) {
  test::FakeDisk disk;
  {
    const auto cache = CacheOn(&disk);
    Insert(cache.get(), Text(100));
    SaveAll(cache.get());
    EXPECT_EQ(cache->DropNameSpaces([](NamespaceId name_space) { return name_space == kClient; }),
              1u);
    cache->CheckInvariants();
  }
  {
    const auto cache = CacheOn(&disk);
    EXPECT_TRUE(cache->Match(kClient, Text(100)).checkpoints.empty());
    Insert(cache.get(), Text(100));
    SaveAll(cache.get());
  }
  EXPECT_EQ(CacheOn(&disk)->Match(kClient, Text(100)).checkpoints.size(), 1u)
      << "its name can be used again";
}

TEST(Saving, WhatWasSavedIsThereForTheNextProcess) {
  test::FakeDisk disk;
  {
    const auto cache = CacheOn(&disk);
    Insert(cache.get(), Text(100), 7);
    SaveAll(cache.get());
  }
  const auto cache = CacheOn(&disk);
  const auto match = cache->Match(kClient, Text(150));
  ASSERT_EQ(match.checkpoints.size(), 1u);
  EXPECT_EQ(match.checkpoints[0].position, 100u);
  EXPECT_EQ(match.checkpoints[0].checkpoint_class, CheckpointClass::kReply);
  const auto bytes = cache->Pin(match.checkpoints[0].id);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(Bytes(bytes->begin(), bytes->end()), Filled(kBytes, 7));
  cache->Unpin(match.checkpoints[0].id);
  EXPECT_LT(cache->stats().bytes, kBytes);  // only its tokens count
  cache->CheckInvariants();
}

TEST(Saving, WhatIsSavedLeavesMemoryBeforeAnythingIsLost) {
  test::FakeDisk disk;
  const auto cache = CacheOn(&disk, 10 * kBytes);
  Insert(cache.get(), Text(20, 'a'), 1);
  SaveAll(cache.get());
  for (char letter = 'b'; letter < 'b' + 9; ++letter) Insert(cache.get(), Text(20, letter));
  EXPECT_EQ(cache->stats().released, 1u);
  EXPECT_EQ(cache->stats().evicted, 0u);
  const HeldStats held = cache->FullStats().checkpoints_held.at(CheckpointClass::kReply);
  EXPECT_EQ(held.ram.things, 9u);
  EXPECT_EQ(held.disk.things, 1u);
  EXPECT_EQ(held.disk.bytes, kBytes);
  const auto match = cache->Match(kClient, Text(20, 'a'));
  ASSERT_EQ(match.checkpoints.size(), 1u);
  const auto bytes = cache->Pin(match.checkpoints[0].id);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ((*bytes)[0], 1);
  cache->Unpin(match.checkpoints[0].id);
  cache->CheckInvariants();
}

TEST(Saving, WhatMustGoIsSavedFirstWhereItIsWorthIt) {
  test::FakeDisk disk;
  const auto cache = CacheOn(&disk, 10 * kBytes);
  cache->SaveNext(kSlow);  // sets the cost of prefill
  for (char letter = 'a'; letter < 'a' + 20; ++letter) Insert(cache.get(), Text(20, letter));
  EXPECT_EQ(cache->stats().evicted, 0u);
  EXPECT_EQ(cache->stats().checkpoints, 20u);
  EXPECT_GT(disk.names().size(), 9u);
  cache->CheckInvariants();
  // No caller waits for a disk that is too slow.
  disk.SetWrites(false);
  disk.SetQueueMax(0);
  for (char letter = 'A'; letter < 'A' + 20; ++letter) Insert(cache.get(), Text(20, letter));
  EXPECT_GT(cache->stats().evicted, 9u);
  cache->CheckInvariants();
}

// How many of the texts of `letters` are still there, in memory or on disk.
size_t Held(CheckpointCache* cache, size_t tokens, std::string_view letters) {
  return static_cast<size_t>(std::count_if(letters.begin(), letters.end(), [&](char letter) {
    return !cache->Match(kClient, Text(tokens, letter)).checkpoints.empty();
  }));
}

TEST(Saving, WhatIsWorthLeastLeavesAFullDiskWhicheverCameFirst) {
  constexpr size_t kFileBytes = kBytes + 400 * sizeof(Token);
  constexpr std::string_view kDear = "abc";
  constexpr std::string_view kCheap = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (const bool dear_first : {false, true}) {
    SCOPED_TRACE(dear_first);
    test::FakeDisk disk;
    disk.SetBytesMax(8 * kFileBytes);
    const auto cache = CacheOn(&disk, 4 * kBytes);
    cache->SaveNext(kSlow);
    const auto insert = [&](std::string_view letters, size_t tokens) {
      for (const char letter : letters) Insert(cache.get(), Text(tokens, letter));
      cache->TakeEvents();
    };
    if (dear_first) insert(kDear, 400);
    insert(kCheap, 20);
    if (!dear_first) insert(kDear, 400);
    EXPECT_EQ(Held(cache.get(), 400, kDear), kDear.size());
    EXPECT_GT(Held(cache.get(), 20, kCheap), 4u) << "the rest of the disk is used";
    EXPECT_LT(Held(cache.get(), 20, kCheap), 10u);
    EXPECT_LE(disk.names().size(), 9u) << "short texts take less";
    cache->CheckInvariants();
  }
}

TEST(Saving, AConversationLargerThanTheMemoryLeavesItsSlotWhole) {
  test::FakeDisk disk;
  const auto cache = CacheOn(&disk, 3 * kBytes);
  const Tokens tokens = Text(900);
  SlotsView view;
  view.needs_snapshots = view.snapshots_need_kv = true;
  view.held = [&tokens] { return std::vector<SlotsView::Held>{{kClient, tokens, true}}; };
  cache->SetSlots(view);
  cache->SaveNext(kSlow);
  Insert(cache.get(), tokens);
  for (size_t begin = 0; begin < 900; begin += 100) {
    const Provenance provenance{900, {}, {}};
    ASSERT_TRUE(cache->InsertSegment(kClient, tokens, provenance, {begin, begin + 100, 0},
                                     Filled(kBytes, 1)));
    cache->TakeEvents();
  }
  const auto match = cache->Match(kClient, tokens);
  ASSERT_EQ(match.checkpoints.size(), 1u);
  EXPECT_TRUE(match.checkpoints[0].kv_stored);
  EXPECT_EQ(cache->stats().evicted, 0u);
  cache->CheckInvariants();
}

// Ten thousand bytes for the state after a turn of 20 tokens.
TEST(Saving, ASnapshotIsWrittenWhereItIsLightBesideTheKvOrSparesMuchMoreThanItsWrite) {
  constexpr double kEnough =
      2.0 * kBytes / (1 << 20) / 20 * 2;  // pays the write of a reply of 20 tokens
  const auto is_saved = [](double ms_per_token, size_t kv_bytes_per_token, bool last) {
    test::FakeDisk disk;
    const auto cache = CacheOn(&disk);
    SlotsView view;
    view.kv_bytes_per_token = kv_bytes_per_token;
    cache->SetSlots(view);
    Insert(cache.get(), Text(20));
    return cache->SaveNext(ms_per_token, last).began;
  };
  EXPECT_FALSE(is_saved(1.5 * kEnough, 100, false));
  EXPECT_TRUE(is_saved(10 * kEnough, 100, false));
  EXPECT_TRUE(is_saved(1.5 * kEnough, 2000, false)) << "a quarter of the KV's bytes";
  EXPECT_FALSE(is_saved(0.1 * kEnough, 2000, false));
  EXPECT_TRUE(is_saved(1.5 * kEnough, 100, true)) << "the server ends";
}

// The next turn prefilled the answer again after the state behind it had left memory.
TEST(Saving, TheLastStateOfAConversationIsWrittenWhenItLeavesMemoryThoughItSparesLittle) {
  constexpr double kEnough = 2.0 * kBytes / (1 << 20) / 20;  // 20 tokens take as long as the write
  struct Case {
    double ms_per_token = 1.2 * kEnough;
    size_t answers = 1;
    bool goes_on = false;
    std::vector<size_t> turns_of_prompts = {};  // that have come before
  };
  const auto left = [](const Case& of) -> std::string {
    const auto [ms_per_token, answers, goes_on, turns_of_prompts] = of;
    test::FakeDisk disk;
    const auto cache = CacheOn(&disk, 10 * kBytes);
    for (const size_t turns : turns_of_prompts) {
      PromptShape shape;
      shape.turns.resize(turns);
      cache->Learn(shape, {});
    }
    SlotsView view;
    view.kv_bytes_per_token = 100;
    cache->SetSlots(view);
    cache->SaveNext(ms_per_token);
    Checkpoint what = Of(CheckpointClass::kReply);
    what.answers = answers;
    EXPECT_TRUE(cache->Insert(kClient, Text(20), what, Filled(kBytes, 1)));
    if (goes_on) Insert(cache.get(), Text(40));
    // These are worth more, so all of the above leave memory.
    for (char letter = 'a'; letter < 'a' + 10; ++letter) Insert(cache.get(), Text(200, letter));
    const auto match = cache->Match(kClient, Text(20));
    if (match.checkpoints.empty() || match.checkpoints.back().position < 20) return "evicted";
    return cache->InMemory(match.checkpoints.back().id) ? "in memory" : "on disk";
  };
  EXPECT_EQ(left({}), "on disk");
  EXPECT_EQ(left({.ms_per_token = 0.8 * kEnough}), "evicted");
  EXPECT_EQ(left({.answers = 0}), "evicted") << "no answer ends there";
  EXPECT_EQ(left({.goes_on = true}), "evicted") << "the next turn begins behind it";
  const std::vector<size_t> once(200, 1);
  EXPECT_EQ(left({.turns_of_prompts = once}), "evicted") << "those that ask once do not ask again";
  EXPECT_EQ(left({.turns_of_prompts = std::vector<size_t>(200, 0)}), "evicted");
  EXPECT_EQ(left({.answers = 2, .turns_of_prompts = once}), "on disk") << "this one has";
  std::vector<size_t> again = once;
  for (int i = 0; i < 400; ++i) again.insert(again.end(), {1, 2, 3});
  EXPECT_EQ(left({.turns_of_prompts = again}), "on disk") << "they do by now";
}

TEST(Saving, WhatMustGoMayStandBehindWhatRoomIsMadeFor) {
  test::FakeDisk disk;
  const auto cache = CacheOn(&disk, 3 * kBytes);
  cache->SaveNext(kSlow);
  for (size_t tokens = 40; tokens > 0; tokens -= 4) Insert(cache.get(), Text(tokens));
  EXPECT_EQ(cache->stats().evicted, 0u);
  EXPECT_EQ(cache->Match(kClient, Text(40)).checkpoints.size(), 10u);
  cache->CheckInvariants();
}

TEST(Saving, WhatStandsOnASegmentIsSavedWithItWhenItMustGo) {
  test::FakeDisk disk;
  const auto cache = CacheOn(&disk, 10 * kBytes);
  Tokens tokens;  // of the slot that is offloaded
  SlotsView view;
  view.needs_snapshots = view.snapshots_need_kv = true;
  view.held = [&tokens] { return std::vector<SlotsView::Held>{{kClient, tokens, true}}; };
  cache->SetSlots(view);
  cache->SaveNext(kSlow);
  for (char letter = 'a'; letter < 'a' + 20; ++letter) {
    tokens = Text(20, letter);
    Insert(cache.get(), tokens);
    const Provenance provenance{20, {}, {}};
    ASSERT_TRUE(cache->InsertSegment(kClient, tokens, provenance, {0, 20, 0}, Filled(kBytes, 1)));
  }
  EXPECT_EQ(cache->stats().evicted, 0u);
  for (char letter = 'a'; letter < 'a' + 20; ++letter) {
    const auto match = cache->Match(kClient, Text(20, letter));
    ASSERT_EQ(match.checkpoints.size(), 1u);
    EXPECT_TRUE(match.checkpoints[0].kv_stored);
  }
  cache->CheckInvariants();
}

TEST(Saving, WhatLeavesMemoryOnItsWayToTheDiskCanStillBeHad) {
  test::FakeDisk disk;
  const auto cache = CacheOn(&disk, 10 * kBytes);
  disk.SetWrites(false);
  Insert(cache.get(), Text(20, 'a'), 9);
  EXPECT_TRUE(cache->SaveNext(kSlow).began);
  for (char letter = 'b'; letter < 'b' + 9; ++letter) Insert(cache.get(), Text(20, letter));
  EXPECT_EQ(cache->stats().released, 1u);
  const auto match = cache->Match(kClient, Text(20, 'a'));
  ASSERT_EQ(match.checkpoints.size(), 1u);
  const auto bytes = cache->Pin(match.checkpoints[0].id);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ((*bytes)[0], 9);
  cache->Unpin(match.checkpoints[0].id);
}

TEST(Saving, WhatCouldNotBeWrittenIsLostOnlyIfItHasLeftMemory) {
  test::FakeDisk disk;
  const auto cache = CacheOn(&disk);
  disk.FailWrites(true);
  Insert(cache.get(), Text(20, 'a'));
  SaveAll(cache.get());
  SaveAll(cache.get());
  EXPECT_EQ(cache->Match(kClient, Text(20, 'a')).checkpoints.size(), 1u);
  // It is not tried again and again (the disk accepts no more after two), but it is not reported as
  // saved.
  EXPECT_FALSE(cache->SaveNext(kSlow).began);
  EXPECT_GT(cache->SaveNext(kSlow).bytes_left, 0u);
  cache->CheckInvariants();
  disk.FailWrites(false);
  EXPECT_TRUE(cache->SaveNext(kSlow).began);
  cache->TakeEvents();
  EXPECT_EQ(cache->SaveNext(kSlow).bytes_left, 0u);
}

TEST(Saving, WhatIsNotWorthItsBytesIsNotWritten) {
  test::FakeDisk disk;
  const auto cache = CacheOn(&disk);
  Insert(cache.get(), Text(20, 'a'), 1, CheckpointClass::kLadder);
  constexpr double kFast = 1e-6;
  EXPECT_FALSE(cache->SaveNext(kFast).began);
  EXPECT_TRUE(cache->SaveNext(kSlow).began);
}

TEST(Saving, TheBestForItsBytesIsWrittenFirst) {
  test::FakeDisk disk;
  const auto cache = CacheOn(&disk);
  Insert(cache.get(), Text(20, 'a'));
  Insert(cache.get(), Text(400, 'b'));
  EXPECT_TRUE(cache->SaveNext(kSlow).began);
  ASSERT_EQ(disk.names().size(), 1u);
  EXPECT_EQ(disk.header(disk.names()[0]).tokens, Text(400, 'b'));
}

TEST(Saving, AFullQueueIsOfferedItAgain) {
  test::FakeDisk disk;
  const auto cache = CacheOn(&disk);
  disk.SetWrites(false);
  disk.SetQueueMax(0);
  Insert(cache.get(), Text(20, 'a'));
  const auto step = cache->SaveNext(kSlow);
  EXPECT_FALSE(step.began);
  EXPECT_EQ(step.bytes_left, kBytes);
  disk.SetQueueMax(1);
  EXPECT_TRUE(cache->SaveNext(kSlow).began);
}

TEST(Saving, SegmentsComeBackInWhateverOrderTheyAreFound) {
  test::FakeDisk disk;
  const Tokens tokens = Text(300);
  const auto offload = [&](CheckpointCache* cache, size_t begin, size_t end) {
    const Provenance provenance{end, {}, {}};
    ASSERT_TRUE(cache->InsertSegment(kClient, TokenSpan(tokens).first(end), provenance,
                                     {begin, end, 0}, Filled(kBytes, static_cast<uint8_t>(end))));
  };
  {
    const auto cache = CacheOn(&disk);
    offload(cache.get(), 0, 100);
    offload(cache.get(), 100, 200);
    offload(cache.get(), 200, 300);
    Insert(cache.get(), tokens);
    SaveAll(cache.get());
  }
  ASSERT_EQ(disk.names().size(), 4u);
  const auto cache = CacheOn(&disk);
  const auto match = cache->Match(kClient, tokens);
  EXPECT_EQ(match.stored_on_grid, 300u);
  ASSERT_EQ(match.checkpoints.size(), 1u);
  EXPECT_TRUE(match.checkpoints[0].kv_stored);
  const auto path = cache->PinPath(kClient, tokens, 0);
  ASSERT_TRUE(path.has_value());
  ASSERT_EQ(path->parts.size(), 3u);
  const auto bytes = cache->LoadPart(*path, 1);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ((*bytes)[0], 200);
  cache->UnpinPath(*path);
  cache->CheckInvariants();
}

// Stores three segments of 100 tokens each.
void InsertThreeSegments(CheckpointCache* cache, const Tokens& tokens) {
  for (const size_t begin : {0, 100, 200}) {
    const size_t end = begin + 100;
    const Provenance provenance{end, {}, {}};
    ASSERT_TRUE(cache->InsertSegment(kClient, TokenSpan(tokens).first(end), provenance,
                                     {begin, end, 0}, Filled(kBytes, 1)));
  }
}

// Eight segments of a conversation of 60,000 tokens may be as large as the context itself.
TEST(Saving, OneSegmentOfAPathIsInMemoryAtATime) {
  test::FakeDisk disk;
  const Tokens tokens = Text(300);
  {
    const auto cache = CacheOn(&disk);
    InsertThreeSegments(cache.get(), tokens);
    SaveAll(cache.get());
  }
  const auto cache = CacheOn(&disk);
  const auto path = cache->PinPath(kClient, tokens, 0);
  ASSERT_TRUE(path.has_value());
  EXPECT_EQ(disk.reads(), 0u);
  for (const size_t part : {0, 1, 2}) ASSERT_TRUE(cache->LoadPart(*path, part).has_value());
  EXPECT_EQ(disk.reads(), 3u);
  ASSERT_TRUE(cache->LoadPart(*path, 2).has_value());
  ASSERT_TRUE(cache->LoadPart(*path, 0).has_value());
  // None of the earlier ones was still in memory.
  EXPECT_EQ(disk.reads(), 5u);
  cache->UnpinPath(*path);
  cache->CheckInvariants();
}

TEST(Saving, WhatBeginsInASegmentThatVanishedGoesWithIt) {
  test::FakeDisk disk;
  const Tokens tokens = Text(300);
  {
    const auto cache = CacheOn(&disk);
    InsertThreeSegments(cache.get(), tokens);
    Insert(cache.get(), tokens);
    SaveAll(cache.get());
  }
  const auto cache = CacheOn(&disk);
  for (const ObjectName& name : disk.names()) {
    if (disk.header(name).tokens.size() == 200) disk.Lose(name);
  }
  const auto path = cache->PinPath(kClient, tokens, 0);
  ASSERT_TRUE(path.has_value());
  EXPECT_TRUE(cache->LoadPart(*path, 0).has_value());
  EXPECT_FALSE(cache->LoadPart(*path, 1).has_value());
  cache->UnpinPath(*path);
  EXPECT_EQ(cache->Match(kClient, tokens).stored_on_grid, 100u);
  cache->TakeEvents();
  cache->CheckInvariants();
}

TEST(Saving, WhatTheFolderTellsOfTwiceIsTakenInOnce) {
  test::FakeDisk disk;
  {
    const auto cache = CacheOn(&disk);
    Insert(cache.get(), Text(100), 7);
    ASSERT_TRUE(cache->InsertFullState(kClient, Text(90, 'w'), {90, {}, {}}, Filled(kBytes, 1)));
    SaveAll(cache.get());
  }
  const auto cache = CacheOn(&disk);
  disk.Restart();
  cache->TakeEvents();
  EXPECT_EQ(cache->Match(kClient, Text(90, 'w')).full_states.size(), 1u);
  EXPECT_EQ(cache->Match(kClient, Text(100)).checkpoints.size(), 1u);
  EXPECT_EQ(cache->stats().taken_in, 2u);
  cache->CheckInvariants();
}

TEST(Saving, WhatOthersSaveIsFoundAlthoughMemoryIsFull) {
  test::FakeDisk disk;
  const auto cache = CacheOn(&disk, 10 * kBytes);
  for (char letter = 'a'; letter < 'a' + 20; ++letter) {
    Insert(cache.get(), Text(20, letter));
    SaveAll(cache.get());
  }
  {
    const auto other = CacheOn(&disk);
    Insert(other.get(), Text(3000, 'z'), 9);
    SaveAll(other.get());
  }
  disk.Restart();
  cache->TakeEvents();
  EXPECT_EQ(cache->Match(kClient, Text(3000, 'z')).checkpoints.size(), 1u);
  EXPECT_EQ(cache->stats().evicted, 0u);
  EXPECT_LE(cache->stats().bytes, 10 * kBytes);
  cache->CheckInvariants();
}

TEST(Saving, NothingUnsavedGoesForWhatOthersSaved) {
  test::FakeDisk disk;
  const auto cache = CacheOn(&disk, 10 * kBytes);
  for (char letter = 'a'; letter < 'a' + 9; ++letter) Insert(cache.get(), Text(20, letter));
  {
    const auto other = CacheOn(&disk);
    Insert(other.get(), Text(3000, 'z'), 9);
    SaveAll(other.get());
  }
  disk.Restart();
  cache->TakeEvents();
  EXPECT_TRUE(cache->Match(kClient, Text(3000, 'z')).checkpoints.empty());
  EXPECT_EQ(cache->stats().checkpoints, 9u);
  // Once there is room, it is offered again.
  cache->SetBudget(20 * kBytes);
  cache->TakeEvents();
  EXPECT_EQ(cache->Match(kClient, Text(3000, 'z')).checkpoints.size(), 1u);
}

TEST(Saving, AnotherClientsThingsStayOnTheDisk) {
  test::FakeDisk disk;
  {
    const auto cache = CacheOn(&disk);
    Insert(cache.get(), Text(100));
    SaveAll(cache.get());
  }
  auto cache = std::make_unique<CheckpointCache>(CacheOptions{}, *MakePlacement("near-end"),
                                                 *MakeEviction("value"), MakeTieredStore(&disk));
  disk.Restart();
  cache->SetSavedAs({{1, 2}, {{kClient, 44}}});
  cache->TakeEvents();
  EXPECT_EQ(cache->stats().checkpoints, 0u);
  EXPECT_EQ(disk.names().size(), 1u);
}

}  // namespace
}  // namespace cairn::saving_test
