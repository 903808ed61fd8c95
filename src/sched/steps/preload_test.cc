// A conversation's checkpoint is loaded into a slot before a request continues from it.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cache/cache_overview.h"
#include "testing/sched/scheduler_fixture.h"
#include "testing/store/fake_disk.h"

namespace cairn::preload_test {
namespace {

using test::Bench;
using test::Join;
using test::kClasses;
using test::Slots;
using test::SteppingClock;
using test::Text;

constexpr size_t kGrid = 64;

GenerationRequest BringingBack(Tokens path) {
  GenerationRequest request = Bench::Request(std::move(path), 0);
  request.preloads = true;
  return request;
}

// The path of a checkpoint on the grid; empty if there is none.
Tokens PathFrom(CheckpointCache* cache, Token first) {
  for (const auto& held : CacheOverview(cache).HeldBy(0, 0, 100, 0)) {
    Tokens path = *CacheOverview(cache).PathOfHeld(0, held.checkpoint.id);
    if (path.front() == first && path.size() % kGrid == 0) return path;
  }
  return {};
}

TEST(BringingBack, WhatWasOffloadedStandsInASlotAgainAndNothingIsReadOrDrawn) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(memory_class);
    bench.Run(Bench::Request(Text(1000, 'a')));
    bench.Run(Bench::Request(Text(1000, 'b')));
    // A model that needs no snapshots has no checkpoint there, but has its KV.
    Tokens path = PathFrom(&bench.cache, 'a');
    if (path.empty()) path = Text(960, 'a');
    const Bench::Answer brought = bench.Run(BringingBack(path));
    EXPECT_EQ(brought.text, "");
    EXPECT_EQ(brought.end.kind, GenerationEvent::Kind::kDone);
    EXPECT_EQ(brought.end.cost.prompt_tokens, path.size());
    EXPECT_EQ(brought.end.cost.prefill_tokens(), 0u);
    ASSERT_NE(brought.end.report, nullptr);
    EXPECT_EQ(brought.end.report->ram_tokens, path.size());
    const Bench::Answer next = bench.Run(Bench::Request(Join(path, Text(20, 'n'))));
    EXPECT_EQ(next.end.cost.prefill_tokens(), 20u);
    Bench cold(memory_class);
    EXPECT_EQ(next.text, cold.Run(Bench::Request(Join(path, Text(20, 'n')))).text);
    bench.cache.CheckInvariants();
  }
}

TEST(BringingBack, ALongerConversationIsNotCutForAStoneOfItsOwn) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(memory_class);
    bench.Run(Bench::Request(Text(1000, 'a')));
    const size_t held = bench.scheduler.stats().slots[0].tokens;
    Tokens path = PathFrom(&bench.cache, 'a');
    if (path.empty()) path = Text(512, 'a');
    const Bench::Answer brought = bench.Run(BringingBack(path));
    EXPECT_EQ(brought.end.cost.reused_tokens, path.size());
    EXPECT_EQ(brought.end.cost.prefill_tokens(), 0u);
    EXPECT_EQ(brought.end.report->restored_bytes, 0u);
    EXPECT_EQ(bench.scheduler.stats().slots[0].tokens, held);
    EXPECT_EQ(bench.scheduler.stats().slot_counters.offloaded, 0u);
  }
}

TEST(BringingBack, WhereNoWayLeadsIsReadToTheLastCut) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(memory_class);
    const Bench::Answer brought = bench.Run(BringingBack(Text(1000, 'a')));
    EXPECT_EQ(brought.text, "");
    EXPECT_EQ(brought.end.cost.prompt_tokens, 960u);
    EXPECT_EQ(brought.end.cost.prefill_tokens(), 960u);
    const Tokens next = Join(Text(1000, 'a'), Text(20, 'n'));
    const Bench::Answer answer = bench.Run(Bench::Request(next));
    EXPECT_EQ(answer.end.cost.reused_tokens, 960u);
    Bench cold(memory_class);
    EXPECT_EQ(answer.text, cold.Run(Bench::Request(next)).text);
    bench.cache.CheckInvariants();
  }
}

TEST(BringingBack, APathThatEndsOnTheGridIsReadToItsEnd) {
  Bench bench;
  EXPECT_EQ(bench.Run(BringingBack(Text(1024, 'a'))).end.cost.prefill_tokens(), 1024u);
  EXPECT_EQ(bench.scheduler.stats().slots[0].tokens, 1024u);
  EXPECT_EQ(bench.Run(Bench::Request(Text(1030, 'a'))).end.cost.reused_tokens, 1024u);
}

TEST(BringingBack, NothingIsCutWhereNoConversationIsCutBehindItsAnswer) {
  for (const MemoryClass memory_class : kClasses) {
    for (const size_t behind : {30u, 100u, 200u}) {
      SCOPED_TRACE(std::string(MemoryClassName(memory_class)) + " " + std::to_string(behind));
      const Tokens prompt = Text(1000, 'a');
      Bench bench(memory_class);
      const std::string said = bench.Run(Bench::Request(prompt)).text;
      const Tokens talk = Join(prompt, Tokens(said.begin(), said.end()));
      bench.Run(BringingBack(Join(talk, Text(behind, 'u'))));
      const Tokens next = Join(talk, Text(300, 'u'));
      Bench uninterrupted(memory_class);
      uninterrupted.Run(Bench::Request(prompt));
      EXPECT_EQ(bench.Run(Bench::Request(next)).text, uninterrupted.Run(Bench::Request(next)).text);
    }
  }
}

TEST(BringingBack, APromptsEndComesWithItsLogits) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(memory_class);
    const Bench::Answer first = bench.Run(Bench::Request(Text(1000, 'a')));
    bench.Run(Bench::Request(Text(1000, 'b')));
    const Bench::Answer brought = bench.Run(BringingBack(Text(1000, 'a')));
    EXPECT_EQ(brought.text, "");
    EXPECT_EQ(brought.end.cost.prompt_tokens, 1000u);
    EXPECT_EQ(brought.end.cost.prefill_tokens(), 0u);
    // A purely recurrent memory is restored from memory at once, whatever a slot holds.
    const bool stays = memory_class == MemoryClass::kRecurrent;
    EXPECT_EQ(bench.scheduler.stats().slots[0].tokens, stays ? 1007u : 1000u);
    const Bench::Answer again = bench.Run(Bench::Request(Text(1000, 'a')));
    EXPECT_EQ(again.end.cost.prefill_tokens(), 0u);
    EXPECT_EQ(again.text, first.text);
  }
}

TEST(BringingBack, IsNoNewsOfHowConversationsGoOn) {
  Bench bench(Slots(2, MemoryClass::kHybrid), {});
  bench.Run(Bench::Request(Text(1000, 'a')));
  bench.scheduler.Prefetch({{0, Join(Text(1000, 'a'), Text(300, 'w')), 1000, false}});
  bench.Run(BringingBack(Text(960, 'a')));
  // The prompt is still expected.
  EXPECT_TRUE(bench.scheduler.PrefetchNext());
}

TEST(BringingBack, WaitsForASlotAndMayBeCancelled) {
  Bench bench;
  const auto long_one = bench.scheduler.Submit(Bench::Request(Text(2000, 'a')));
  const auto brought = bench.scheduler.Submit(BringingBack(Text(1000, 'b')));
  ASSERT_TRUE(brought.has_value());
  bench.scheduler.Step();
  (*brought)->Cancel();
  while (bench.scheduler.Step()) {
  }
  EXPECT_EQ(Bench::Collect(brought->get()).end.reason, FinishReason::kCancelled);
  EXPECT_EQ(Bench::Collect(long_one->get()).end.kind, GenerationEvent::Kind::kDone);
}

struct Life {
  explicit Life(test::FakeDisk* disk, MemoryClass memory_class, LineageId first_lineage)
      : engine(Bench::EngineOptions(memory_class)),
        cache(CacheOptions{}, *MakePlacement("near-end,user-turns"), *MakeEviction("value"),
              MakeTieredStore(disk)),
        scheduler(&engine, &cache, &clock, Options(first_lineage)) {
    disk->Restart();
    cache.SetSavedAs({{7, 7}, {{0, 0}}});
  }
  static SchedulerOptions Options(LineageId first_lineage) {
    SchedulerOptions options;
    options.slots.first_lineage = first_lineage;
    return options;
  }
  Bench::Answer Run(GenerationRequest request) {
    auto generation = scheduler.Submit(std::move(request));
    EXPECT_TRUE(generation.has_value());
    while (scheduler.Step()) {
    }
    return Bench::Collect(generation->get());
  }

  SteppingClock clock;
  FakeEngine engine;
  CheckpointCache cache;
  Scheduler scheduler;
};

TEST(BringingBack, WhatIsOnDiskAloneStandsInASlotAfterwards) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    test::FakeDisk disk;
    {
      Life life(&disk, memory_class, 1 << 20);
      life.Run(Bench::Request(Text(1000, 'a'), 20));
      EXPECT_TRUE(life.scheduler.SaveAll(1e9));
    }
    Life life(&disk, memory_class, 2 << 20);
    life.cache.TakeEvents();
    Tokens path = PathFrom(&life.cache, 'a');
    if (path.empty()) path = Text(960, 'a');
    const Bench::Answer brought = life.Run(BringingBack(path));
    EXPECT_EQ(brought.end.report->disk_tokens, path.size());
    EXPECT_EQ(brought.end.cost.prefill_tokens(), 0u);
    EXPECT_EQ(life.scheduler.stats().slots[0].tokens, path.size());
    const Bench::Answer next = life.Run(Bench::Request(Join(path, Text(20, 'n'))));
    EXPECT_EQ(next.end.report->live_tokens, path.size());
    EXPECT_EQ(next.end.cost.prefill_tokens(), 20u);
  }
}

}  // namespace
}  // namespace cairn::preload_test
