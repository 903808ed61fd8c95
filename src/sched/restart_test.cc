// A conversation continues after a restart of the server: saved state comes back.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "testing/sched/server_life.h"

namespace cairn::restart_test {
namespace {

using test::Bench;
using test::Join;
using test::kClasses;
using test::Text;
using test::TokensOf;
using Life = test::ServerLife;

FakeEngineOptions SlowReader(MemoryClass memory_class, size_t slots = 1) {
  FakeEngineOptions options = Bench::EngineOptions(memory_class);
  options.slots = slots;
  return options;
}

// An earlier life that answers one prompt and saves everything. Returns `disk`.
test::FakeDisk* AnswerAndSave(test::FakeDisk* disk, MemoryClass memory_class,
                              const Tokens& prompt) {
  Life life(disk, SlowReader(memory_class), 1 << 20);
  life.Ask(Bench::Request(prompt, 20));
  life.SaveAll();
  return disk;
}

// A life whose disk has the state of a prompt and does not read yet.
struct StalledLife {
  explicit StalledLife(MemoryClass memory_class, size_t slots = 1)
      : life(AnswerAndSave(&disk, memory_class, prompt), SlowReader(memory_class, slots), 2 << 20) {
    disk.SetReads(false);
  }

  test::FakeDisk disk;
  const Tokens prompt = Text(1000, 'H');
  Life life;
};

// A question behind a system prefix of 960 tokens.
GenerationRequest HeaderRequest(char question) {
  GenerationRequest asked = Bench::Request(Join(Text(960, 'H'), Text(100, question)), 4);
  asked.shape.header_end = 960;
  asked.shape.turns = {{960, true}};
  return asked;
}

// An earlier life that answers two questions behind the system prefix and saves everything.
void AnswerBehindTheHeader(test::FakeDisk* disk, MemoryClass memory_class) {
  Life life(disk, SlowReader(memory_class, 3), 1 << 20, ReuseMode::kLive, "auto");
  life.Ask(HeaderRequest('a'));
  life.Ask(HeaderRequest('b'));
  life.SaveAll();
}

TEST(Restart, TheNextTurnReadsItsMessageAndAtMostAGridStep) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    test::FakeDisk disk;
    Tokens prompt = Text(1000, 'H');
    std::string before;
    {
      Life life(&disk, SlowReader(memory_class), 1 << 20);
      before = life.Ask(Bench::Request(prompt, 20)).text;
      life.SaveAll();
      life.CheckInvariants();
    }
    EXPECT_FALSE(disk.names().empty());
    const Tokens next = Join(Join(prompt, TokensOf(before)), Text(50, 'n'));
    Life life(&disk, SlowReader(memory_class), 2 << 20);
    const Bench::Answer after = life.Ask(Bench::Request(next, 20));
    EXPECT_LE(after.end.cost.prefill_tokens(), 50 + 64u);
    life.CheckInvariants();
    // Without a restart the answer is the same.
    Bench uninterrupted(SlowReader(memory_class), {});
    uninterrupted.Run(Bench::Request(prompt, 20));
    EXPECT_EQ(after.text, uninterrupted.Run(Bench::Request(next, 20)).text);
  }
}

TEST(Restart, ASlotWhereNoMoreMayBeReadAheadIsSavedAsAnyOther) {
  test::FakeDisk disk;
  const Tokens prompt = Text(1000, 'q');
  const Tokens expected = Join(prompt, Text(2000, 'w'));
  {
    Life life(&disk, SlowReader(MemoryClass::kHybrid), 1 << 20);
    life.Ask(Bench::Request(prompt, 50));
    life.Expect({0, expected, prompt.size(), false});
    life.Idle();
    const size_t prefetched = life.stats().prefetch.tokens;
    ASSERT_GT(prefetched, 500u);
    ASSERT_LT(prefetched, 1900u) << "it is held up half-way";
    life.SaveAll();
  }
  Life life(&disk, SlowReader(MemoryClass::kHybrid), 2 << 20);
  const auto next = life.Ask(Bench::Request(expected));
  EXPECT_LT(next.end.cost.prefill_tokens(), expected.size() - prompt.size());
}

TEST(Restart, WhatMemoryHasNoRoomForIsNotLostWhereTheQueueToTheDiskIsFullForAWhile) {
  test::FakeDisk disk;
  disk.SetQueueMax(1);
  const FakeEngineOptions engine = SlowReader(MemoryClass::kAttention, 3);
  const std::array<Tokens, 3> talks = {Text(1000, 'a'), Text(1000, 'b'), Text(1000, 'c')};
  CacheOptions room_for_one;
  // The tokens of what is on disk, answers included, stay in memory.
  room_for_one.ram_bytes_max = 2 * talks.size() * PrefixTree::BytesOf(1007) +
                               1600 * FakeEngine(engine).traits().kv_bytes_per_token;
  {
    Life life(&disk, engine, 1 << 20, ReuseMode::kLive, "none", room_for_one);
    for (const Tokens& talk : talks) life.Ask(Bench::Request(talk));
    disk.SetWrites(false);
    EXPECT_FALSE(life.SavesAll(10));
    disk.SetWrites(true);
    life.SaveAll();
    life.CheckInvariants();
  }
  Life life(&disk, engine, 2 << 20);
  for (const Tokens& talk : talks) {
    EXPECT_GT(life.Ask(Bench::Request(talk)).end.cost.reused_tokens, 900u);
  }
}

// A server with memory for half a conversation and two in its slots, whose disk takes nothing.
struct BusyDisk {
  BusyDisk() : life(&disk, LongContext(), 1 << 20, ReuseMode::kLive, "none", MemoryFor(4000)) {
    disk.SetQueueMax(0);
    for (const Tokens& talk : talks) life.Ask(Bench::Request(talk));
    // Long enough for the cache to hear how fast prefill is.
    for (int step = 0; step < 300; ++step) life.StepAndSave();
  }
  static FakeEngineOptions LongContext() {
    FakeEngineOptions options = SlowReader(MemoryClass::kHybrid, 2);
    options.context_tokens = 8192;
    options.chunk_tokens_max = 32;  // prefill is slow
    return options;
  }
  static CacheOptions MemoryFor(size_t tokens) {
    CacheOptions options;
    options.ram_bytes_max = 2 * PrefixTree::BytesOf(7007) +
                            tokens * FakeEngine(LongContext()).traits().kv_bytes_per_token;
    return options;
  }

  const std::array<Tokens, 2> talks = {Text(7000, 'a'), Text(7000, 'b')};
  test::FakeDisk disk;
  Life life;
};

TEST(Restart, ARequestWaitsUntilTheDiskHasTakenWhatItsSlotLoses) {
  BusyDisk busy;
  const auto next = busy.life.Submit(Bench::Request(Text(500, 'c')));
  busy.life.StepAndSave();
  EXPECT_EQ(busy.life.stats().open.waiting, 1u);
  // One that goes on in its own slot needs no such room.
  const auto other = busy.life.Submit(Bench::Request(Join(busy.talks[1], Text(20, 'n')), 4));
  busy.life.StepAndSave();
  EXPECT_EQ(busy.life.stats().open.waiting, 1u);
  busy.disk.SetQueueMax(SIZE_MAX);
  busy.life.StepUntilNothingIsLeft();
  EXPECT_EQ(Bench::Collect(next.get()).end.kind, GenerationEvent::Kind::kDone);
  EXPECT_EQ(Bench::Collect(other.get()).end.kind, GenerationEvent::Kind::kDone);
  EXPECT_GT(busy.life.Ask(Bench::Request(busy.talks[0])).end.cost.reused_tokens, 6900u);
  busy.life.CheckInvariants();
}

TEST(Restart, ARequestWaitsForADiskThatTakesNothingNoLongerThanThatSpares) {
  BusyDisk busy;
  const auto next = busy.life.Submit(Bench::Request(Text(500, 'c')));
  for (int step = 0; step < 100; ++step) busy.life.StepAndSave();
  EXPECT_EQ(Bench::Collect(next.get()).end.kind, GenerationEvent::Kind::kDone);
  busy.life.CheckInvariants();
}

// What is read for those that wait fills the memory, and the slots lose as much to it.
TEST(Restart, ConversationsThatTakeTurnsOnLittleMemoryAndADiskLoseNothing) {
  constexpr size_t kTalks = 12;
  constexpr size_t kTurns = 5;
  constexpr size_t kClients = 6;
  test::FakeDisk disk;
  FakeEngineOptions engine = SlowReader(MemoryClass::kHybrid, 4);
  engine.context_tokens = 4096;
  CacheOptions little;
  little.ram_bytes_max = 2 * kTalks * PrefixTree::BytesOf(2400) +
                         2 * 2400 * FakeEngine(engine).traits().kv_bytes_per_token;
  Life life(&disk, engine, 1 << 20, ReuseMode::kLive, "near-end,user-turns", little);
  std::vector<Tokens> talks(kTalks);
  for (size_t talk = 0; talk < kTalks; ++talk) {
    talks[talk] = Text(2000, static_cast<char>('a' + talk));
  }
  for (size_t turn = 0; turn < kTurns; ++turn) {
    for (size_t first = 0; first < kTalks; first += kClients) {
      std::vector<std::shared_ptr<Generation>> asked;
      for (size_t i = first; i < first + kClients; ++i) {
        asked.push_back(life.Submit(Bench::Request(talks[i], 16)));
      }
      while (life.StepAndSave()) {
      }
      for (size_t i = 0; i < kClients; ++i) {
        const Bench::Answer answer = Bench::Collect(asked[i].get());
        Tokens& talk = talks[first + i];
        if (turn > 0) EXPECT_LE(answer.end.cost.prefill_tokens(), 50 + 2 * 16u) << first + i;
        talk = Join(Join(talk, TokensOf(answer.text)), Text(50, static_cast<char>('A' + turn)));
      }
    }
  }
  life.CheckInvariants();
}

TEST(Restart, IdleSlotsOfADrainingServerAreSavedBesideARunningAnswer) {
  for (const bool draining : {false, true}) {
    SCOPED_TRACE(draining);
    test::FakeDisk disk;
    const Tokens prompt = Text(1000, 'H');
    {
      Life life(&disk, SlowReader(MemoryClass::kHybrid, 2), 1 << 20);
      life.Ask(Bench::Request(prompt, 20));
      const auto running = life.Submit(Bench::Request(Text(100, 'r'), 200));
      life.SetDraining(draining);
      for (int step = 0; step < 100; ++step) ASSERT_TRUE(life.StepAndSave()) << "it runs on";
      running->Cancel();
    }
    Life life(&disk, SlowReader(MemoryClass::kHybrid, 2), 2 << 20);
    const size_t reused =
        life.Ask(Bench::Request(Join(prompt, Text(50, 'n')))).end.cost.reused_tokens;
    EXPECT_EQ(reused > 900, draining) << reused << " tokens reused";
  }
}

TEST(Restart, ExactAnswersAreAColdRunsAfterwardsToo) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    test::FakeDisk disk;
    const Tokens prompt = Text(1000, 'H');
    std::string before;
    {
      Life life(&disk, SlowReader(memory_class), 1 << 20, ReuseMode::kExact);
      before = life.Ask(Bench::Request(prompt, 20)).text;
      life.SaveAll();
    }
    const Tokens next = Join(Join(prompt, TokensOf(before)), Text(50, 'n'));
    Life life(&disk, SlowReader(memory_class), 2 << 20, ReuseMode::kExact);
    const Bench::Answer after = life.Ask(Bench::Request(next, 20));
    EXPECT_LE(after.end.cost.prefill_tokens(), 50 + 20 + 64u);
    Bench cold(SlowReader(memory_class), {});
    EXPECT_EQ(after.text, cold.Run(Bench::Request(next, 20)).text);
  }
}

TEST(Restart, SlotsStoredWholeComeBackToo) {
  for (const MemoryClass memory_class : {MemoryClass::kHybrid, MemoryClass::kAttention}) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeEngineOptions options = SlowReader(memory_class);
    options.segments = false;
    test::FakeDisk disk;
    const Tokens prompt = Text(1000, 'H');
    std::string before;
    {
      Life life(&disk, options, 1 << 20);
      before = life.Ask(Bench::Request(prompt, 20)).text;
      life.SaveAll();
    }
    const Tokens next = Join(Join(prompt, TokensOf(before)), Text(50, 'n'));
    Life life(&disk, options, 2 << 20);
    EXPECT_LE(life.Ask(Bench::Request(next, 20)).end.cost.prefill_tokens(), 50 + 64u);
    life.CheckInvariants();
  }
}

// Four conversations behind one header, in slots with a stream each. Returns the bytes of their KV.
size_t SaveConversationsInStreams(test::FakeDisk* disk, const FakeEngineOptions& options) {
  Life life(disk, options, 1 << 20, ReuseMode::kExact);
  for (const char question : {'a', 'b', 'c', 'd'}) life.Ask(HeaderRequest(question));
  life.SaveAll();
  life.CheckInvariants();
  const HeldStats segments = life.cache_stats().segments_held;
  return segments.ram.bytes + segments.disk.bytes;
}

TEST(Restart, WithAStreamForEachSlotASharedHeaderIsSavedOnceAndComesBack) {
  for (const MemoryClass memory_class : {MemoryClass::kHybrid, MemoryClass::kAttention}) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeEngineOptions options = SlowReader(memory_class, 4);
    options.one_buffer = false;
    test::FakeDisk disk;
    const size_t kv_bytes = sizeof(uint64_t) * (960 + 4 * 100);
    EXPECT_LT(SaveConversationsInStreams(&disk, options), kv_bytes + 500);
    Life life(&disk, options, 2 << 20, ReuseMode::kExact);
    for (const char question : {'d', 'b'}) {
      EXPECT_GE(life.Ask(HeaderRequest(question)).end.cost.reused_tokens, 1024u);
    }
    const auto other = life.Ask(HeaderRequest('e'));
    EXPECT_EQ(other.end.cost.reused_tokens, 960u);
    life.CheckInvariants();
    EXPECT_EQ(life.stats().slot_counters.full_states_set, 0u);
    Bench cold(SlowReader(memory_class), {});
    EXPECT_EQ(other.text, cold.Run(HeaderRequest('e')).text);
  }
}

TEST(Restart, AnotherClientsConversationIsNotFound) {
  test::FakeDisk disk;
  GenerationRequest mine = Bench::Request(Text(1000, 'H'));
  mine.name_space = 1;
  {
    Life life(&disk, SlowReader(MemoryClass::kHybrid), 1 << 20);
    life.Ask(mine);
    life.SaveAll();
  }
  Life life(&disk, SlowReader(MemoryClass::kHybrid), 2 << 20);
  GenerationRequest theirs = mine;
  theirs.name_space = 2;
  EXPECT_EQ(life.Ask(theirs).end.cost.reused_tokens, 0u);
  EXPECT_GT(life.Ask(mine).end.cost.reused_tokens, 900u);
}

TEST(Restart, WhatVanishesFromTheDiskIsReadAgainAndNothingElseHappens) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    test::FakeDisk all;
    const Tokens prompt = Text(1000, 'H');
    AnswerAndSave(&all, memory_class, prompt);
    Bench cold(SlowReader(memory_class), {});
    const std::string answer = cold.Run(Bench::Request(prompt, 20)).text;
    for (const ObjectName& name : all.names()) {
      for (const bool told : {false, true}) {
        test::FakeDisk disk = all;
        Life life(&disk, SlowReader(memory_class), 2 << 20);
        life.Ask(Bench::Request(Text(10, 'o')));  // it finds the saved objects
        if (told) {
          disk.Lose(name);
        } else {
          disk.Remove(name);
        }
        EXPECT_EQ(life.Ask(Bench::Request(prompt, 20)).text, answer);
        life.CheckInvariants();
      }
    }
  }
}

TEST(Restart, OthersAreAnsweredWhileTheStateOfARequestIsReadFromDisk) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    StalledLife stalled(memory_class, 2);
    auto& [disk, prompt, life] = stalled;
    const auto stored = life.Submit(Bench::Request(prompt, 20));
    const auto cancelled = life.Submit(Bench::Request(prompt, 20));
    life.StepUntilNothingIsLeft();
    const auto other = life.Submit(Bench::Request(Text(300, 'o'), 20));
    life.StepUntilNothingIsLeft();
    EXPECT_EQ(Bench::Collect(other.get()).end.cost.prompt_tokens, 300u);
    EXPECT_EQ(life.stats().open.waiting, 2u) << "two wait for the disk";
    EXPECT_EQ(life.stats().open.loading, 2u);
    EXPECT_EQ(disk.reads(), 0u) << "nothing was read by the thread that answers";
    cancelled->Cancel();
    life.StepUntilNothingIsLeft();
    EXPECT_EQ(life.stats().open.waiting, 1u);
    disk.SetReads(true);
    life.StepUntilNothingIsLeft();
    const Bench::Answer answer = Bench::Collect(stored.get());
    EXPECT_EQ(life.stats().open.loading, 0u);
    EXPECT_GT(answer.end.cost.reused_tokens, 900u);
    ASSERT_NE(answer.end.report, nullptr);
    EXPECT_GT(answer.end.report->disk_tokens, 0u) << "the report says where the state came from";
    life.CheckInvariants();
  }
}

TEST(Restart, ARequestThatPassesAnotherInTheQueueIsNotReadByTheThreadThatAnswersEither) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    StalledLife stalled(memory_class);
    auto& [disk, prompt, life] = stalled;
    const auto longer = life.Submit(Bench::Request(Join(prompt, Text(600, 'l')), 20));
    const auto shorter = life.Submit(Bench::Request(Join(prompt, Text(60, 's')), 20));
    life.StepUntilNothingIsLeft();
    EXPECT_EQ(life.stats().open.loading, 1u) << "the shorter one is first in line";
    EXPECT_EQ(disk.reads(), 0u) << "nothing was read by the thread that answers";
    disk.SetReads(true);
    life.StepUntilNothingIsLeft();
    for (const auto& generation : {longer, shorter}) {
      EXPECT_GT(Bench::Collect(generation.get()).end.cost.reused_tokens, 900u);
    }
    life.CheckInvariants();
  }
}

// A request that names a slot keeps those behind it from taking it, so nothing would go on.
TEST(Restart, TheFirstInTheQueueDoesNotWaitForTheLoadsOfThoseBehindIt) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    StalledLife stalled(memory_class);
    auto& [disk, prompt, life] = stalled;
    const auto longer = life.Submit(Bench::Request(Join(prompt, Text(600, 'l')), 20));
    life.StepUntilNothingIsLeft();
    EXPECT_EQ(life.stats().open.loading, 1u) << "the only load that one slot allows";
    GenerationRequest wishing = Bench::Request(Join(prompt, Text(60, 's')), 20);
    wishing.slot = 0;
    const auto shorter = life.Submit(std::move(wishing));
    life.StepUntilNothingIsLeft();
    disk.SetReads(true);
    life.StepUntilNothingIsLeft();
    for (const auto& generation : {shorter, longer}) {
      const Bench::Answer answer = Bench::Collect(generation.get());
      EXPECT_EQ(answer.end.kind, GenerationEvent::Kind::kDone);
      EXPECT_GT(answer.end.cost.reused_tokens, 900u);
    }
    life.CheckInvariants();
  }
}

TEST(Restart, AWarmStartDoesNotWaitForTheDisk) {
  test::FakeDisk disk;
  {
    Life life(&disk, SlowReader(MemoryClass::kHybrid, 3), 1 << 20, ReuseMode::kLive, "auto");
    for (const char question : {'a', 'b'}) life.Ask(HeaderRequest(question));
    life.SaveAll();
  }
  Life life(&disk, SlowReader(MemoryClass::kHybrid, 3), 2 << 20, ReuseMode::kLive, "auto");
  disk.SetReads(false);
  life.Idle();
  EXPECT_EQ(life.Ask(Bench::Request(Text(300, 'o'), 20)).end.cost.prompt_tokens, 300u);
  EXPECT_EQ(disk.reads(), 0u) << "nothing was read by the thread that answers";
  disk.SetReads(true);
  life.Idle();
  EXPECT_GT(disk.reads(), 0u);
  const SchedulerStats ready = life.stats();
  EXPECT_TRUE(std::any_of(ready.slots.begin(), ready.slots.end(),
                          [](const SlotStats& slot) { return slot.tokens == 960; }));
  life.CheckInvariants();
}

TEST(Restart, NothingIsWrittenTwice) {
  test::FakeDisk disk;
  const Tokens prompt = Text(1000, 'H');
  {
    Life life(&disk, SlowReader(MemoryClass::kHybrid), 1 << 20);
    life.Ask(Bench::Request(prompt, 20));
    life.SaveAll();
  }
  EXPECT_GT(disk.stats().written, 0u);
  Life life(&disk, SlowReader(MemoryClass::kHybrid), 2 << 20);
  life.Ask(Bench::Request(prompt, 20));
  life.SaveAll();
  EXPECT_EQ(disk.rewritten(), 0u);
}

TEST(Restart, HeadersAreBackInTheirSlotsBeforeAnybodyAsks) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    test::FakeDisk disk;
    AnswerBehindTheHeader(&disk, memory_class);
    Life life(&disk, SlowReader(memory_class, 3), 2 << 20, ReuseMode::kLive, "auto");
    life.Idle();
    const SchedulerStats ready = life.stats();
    EXPECT_TRUE(std::any_of(ready.slots.begin(), ready.slots.end(),
                            [](const SlotStats& slot) { return slot.tokens == 960; }));
    const Bench::Answer answer = life.Ask(HeaderRequest('c'));
    EXPECT_EQ(answer.end.cost.reused_tokens, 960u);
    Bench cold(SlowReader(memory_class), {});
    EXPECT_EQ(answer.text, cold.Run(HeaderRequest('c')).text);
    life.CheckInvariants();
  }
}

// A state that was chosen for a slot, and then could not be read, ended the server.
TEST(Restart, AHeaderThatCannotBeReadBeforeAnybodyAsksIsComputedWhenSomebodyDoes) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    test::FakeDisk all;
    AnswerBehindTheHeader(&all, memory_class);
    Bench cold(SlowReader(memory_class), {});
    const std::string answer = cold.Run(HeaderRequest('c')).text;
    for (const ObjectName& name : all.names()) {
      test::FakeDisk disk = all;
      Life life(&disk, SlowReader(memory_class, 3), 2 << 20, ReuseMode::kLive, "auto");
      disk.Remove(name);
      life.Idle();
      EXPECT_EQ(life.Ask(HeaderRequest('c')).text, answer);
      life.CheckInvariants();
    }
  }
}

// Where no snapshots are needed, the common beginning of several conversations is the most likely
// to be used again.
TEST(Restart, WhatMostConversationsBeginWithIsBackFirstWhereNoHeaderIsKnown) {
  test::FakeDisk disk;
  const auto ask = [](Life* life, char header, size_t header_tokens, char question) {
    return life->Ask(Bench::Request(Join(Text(header_tokens, header), Text(100, question)), 4));
  };
  {
    Life life(&disk, SlowReader(MemoryClass::kAttention, 3), 1 << 20);
    // The questions diverge in the middle of a grid step.
    for (const char question : {'a', 'b', 'c', 'd'}) ask(&life, 'H', 1000, question);
    for (const char question : {'e', 'f'}) ask(&life, 'K', 640, question);
    for (const char question : {'g', 'h'}) ask(&life, 'L', 320, question);
    ask(&life, 'M', 2000, 'i');
    life.SaveAll();
    life.CheckInvariants();
  }
  Life life(&disk, SlowReader(MemoryClass::kAttention, 3), 2 << 20);
  life.Idle();
  std::vector<size_t> held;
  for (const SlotStats& slot : life.stats().slots) held.push_back(slot.tokens);
  std::sort(held.begin(), held.end());
  EXPECT_EQ(held.at(0), 640u);
  EXPECT_EQ(held.at(1), 960u);
  EXPECT_GE(held.at(2), 2000u) << "the last conversation";
  EXPECT_EQ(ask(&life, 'H', 1000, 'n').end.cost.reused_tokens, 960u);
  EXPECT_EQ(ask(&life, 'K', 640, 'o').end.cost.reused_tokens, 640u);
  EXPECT_EQ(life.stats().slot_counters.assembled, 3u);
  life.CheckInvariants();
}

TEST(Restart, TheLastConversationIsBackInASlotBeforeAnybodyAsks) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    test::FakeDisk disk;
    Tokens next;
    {
      Life life(&disk, SlowReader(memory_class), 1 << 20);
      const Tokens prompt = Text(1000, 'H');
      next = Join(Join(prompt, TokensOf(life.Ask(Bench::Request(prompt, 20)).text)), Text(50, 'n'));
      life.Ask(Bench::Request(Text(1500, 'o'), 20));
      // The first one is used last.
      next = Join(Join(next, TokensOf(life.Ask(Bench::Request(next, 20)).text)), Text(50, 'm'));
      life.SaveAll();
    }
    Life life(&disk, SlowReader(memory_class), 2 << 20);
    life.Idle();
    EXPECT_GE(life.stats().slots.at(0).tokens, 1000u);
    const size_t reads = disk.reads();
    const Bench::Answer answer = life.Ask(Bench::Request(next, 20));
    EXPECT_LE(answer.end.cost.prefill_tokens(), 50 + 64u);
    EXPECT_EQ(disk.reads(), reads) << "it was all in the slot";
    life.CheckInvariants();
  }
}

TEST(Restart, AConversationThatWasPreloadedMakesWayForAnother) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    test::FakeDisk disk;
    AnswerAndSave(&disk, memory_class, Text(1000, 'H'));
    const size_t written = disk.names().size();
    Life life(&disk, SlowReader(memory_class), 2 << 20);
    life.Idle();
    EXPECT_GE(life.stats().slots.at(0).tokens, 64u);
    Bench cold(SlowReader(memory_class), {});
    const GenerationRequest other = Bench::Request(Text(300, 'o'), 20);
    EXPECT_EQ(life.Ask(other).text, cold.Run(other).text);
    EXPECT_EQ(disk.rewritten(), 0u);
    EXPECT_EQ(disk.names().size(), written) << "the one before it was saved already";
    life.CheckInvariants();
  }
}

}  // namespace
}  // namespace cairn::restart_test
