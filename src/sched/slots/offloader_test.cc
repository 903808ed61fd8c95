#include <gtest/gtest.h>

#include "testing/sched/scheduler_fixture.h"

namespace cairn {
namespace {

using test::Bench;
using test::Join;
using test::Slots;
using test::Text;

constexpr std::array<MemoryClass, 3> kClassesWithKv = {
    MemoryClass::kAttention, MemoryClass::kSlidingWindow, MemoryClass::kHybrid};

SchedulerOptions Emptying(size_t beside_tokens_max = 512) {
  SchedulerOptions options;
  options.slots.beside_tokens_max = beside_tokens_max;
  return options;
}

std::vector<size_t> Held(const Bench& bench) {
  std::vector<size_t> tokens;
  for (const SlotStats& slot : bench.scheduler.stats().slots) tokens.push_back(slot.tokens);
  return tokens;
}

std::string AnswerAfter(MemoryClass memory_class, const Tokens& before, const Tokens& prompt) {
  Bench bench(Slots(1, memory_class), {});
  bench.Run(Bench::Request(before));
  return bench.Run(Bench::Request(prompt)).text;
}

TEST(IdleSlotPressure, AnIdleSlotIsStoredAndEmptiedBeforeALongPromptIsReadBesideIt) {
  for (const MemoryClass memory_class : kClassesWithKv) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(Slots(2, memory_class), Emptying());
    bench.Run(Bench::Request(Text(1000, 'x')));
    auto reading = *bench.scheduler.Submit(Bench::Request(Text(3000, 'y')));
    bench.scheduler.Step();
    EXPECT_EQ(Held(bench), (std::vector<size_t>{0, 512}));
    EXPECT_EQ(bench.scheduler.stats().slots.size(), 2u);
    while (bench.scheduler.Step()) {
    }
    EXPECT_EQ(bench.scheduler.stats().slot_counters.offloaded, 1u);
  }
}

TEST(IdleSlotPressure, AConversationThatWasEmptiedOutGoesOnWhereItWas) {
  for (const MemoryClass memory_class : kClassesWithKv) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(Slots(2, memory_class), Emptying());
    const auto first = bench.Run(Bench::Request(Text(1000, 'x')));
    bench.Run(Bench::Request(Text(3000, 'y')));
    Tokens more = Join(Text(1000, 'x'), Tokens(first.text.begin(), first.text.end()));
    more = Join(more, Text(100, 'w'));
    const auto back = bench.Run(Bench::Request(more));
    EXPECT_GE(back.end.cost.reused_tokens, 1000u);
    EXPECT_EQ(bench.scheduler.stats().slot_counters.assembled, 1u);
    EXPECT_EQ(back.text, AnswerAfter(memory_class, Text(1000, 'x'), more));
  }
}

// The slot did not generate the first answer, so it counts one answer: after the state behind that
// one was lost, the next was lost too, and so on.
TEST(IdleSlotPressure, AConversationHasAsManyAnswersAsTheTurnsOfItsPrompt) {
  for (const auto& [tokens_max, answers] : {std::pair<size_t, size_t>{8, 2}, {1, 0}}) {
    Bench bench(Slots(2, MemoryClass::kHybrid), Emptying());
    GenerationRequest request = Bench::Request(Text(1000, 'x'), tokens_max);
    request.shape.turns = {{.position = 100}, {.position = 900}};
    const auto answer = bench.Run(std::move(request));
    bench.Run(Bench::Request(Text(3000, 'y')));
    const auto match = bench.cache.Match(0, Join(Text(1000, 'x'), test::TokensOf(answer.text)));
    ASSERT_FALSE(match.checkpoints.empty());
    EXPECT_EQ(match.checkpoints.back().answers, answers);
  }
}

TEST(IdleSlotPressure, AnIdleSlotStaysWhileLittleIsComputedBesideIt) {
  for (const MemoryClass memory_class : kClassesWithKv) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(Slots(2, memory_class), Emptying());
    bench.Run(Bench::Request(Text(1000, 'x')));
    bench.Run(Bench::Request(Text(100, 'y')));
    EXPECT_EQ(bench.scheduler.stats().slot_counters.offloaded, 0u);
    EXPECT_GE(Held(bench)[0], 1000u);
  }
}

TEST(IdleSlotPressure, TheTokensOfALongAnswerCountToo) {
  for (const auto& [answer_tokens, offloaded] : {std::pair{300, 0u}, std::pair{600, 1u}}) {
    Bench bench(Slots(2, MemoryClass::kAttention), Emptying());
    bench.Run(Bench::Request(Text(1000, 'x')));
    bench.Run(Bench::Request(Text(100, 'y'), static_cast<size_t>(answer_tokens)));
    EXPECT_EQ(bench.scheduler.stats().slot_counters.offloaded, offloaded) << answer_tokens;
  }
}

TEST(IdleSlotPressure, ASlotThatWasUsedAgainCountsAnew) {
  Bench bench(Slots(2, MemoryClass::kAttention), Emptying());
  for (int round = 0; round < 4; ++round) {
    bench.Run(Bench::Request(Text(1000, 'x')));
    bench.Run(Bench::Request(Text(300, 'y')));
  }
  EXPECT_EQ(bench.scheduler.stats().slot_counters.offloaded, 0u);
}

TEST(IdleSlotPressure, ASlotWithALargeStateStaysLongerAsThatIsMovedToo) {
  FakeEngineOptions options = Slots(2, MemoryClass::kHybrid);
  const size_t kv_bytes = FakeEngine(options).traits().kv_bytes_per_token * 1008;
  options.recurrent_bytes = 4 * kv_bytes;
  Bench bench(options, Emptying());
  bench.Run(Bench::Request(Text(1000, 'x')));
  bench.Run(Bench::Request(Text(2000, 'y')));
  EXPECT_EQ(bench.scheduler.stats().slot_counters.offloaded, 0u);
  bench.Run(Bench::Request(Join(Text(2000, 'y'), Text(900, 'z'))));
  EXPECT_EQ(bench.scheduler.stats().slot_counters.offloaded, 1u);
}

TEST(IdleSlotPressure, ASlotThatTheCacheHasNoRoomForStays) {
  for (const MemoryClass memory_class : kClassesWithKv) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeEngine engine(Slots(2, memory_class));
    CacheOptions small;
    small.ram_bytes_max = 100;
    CheckpointCache cache(small, *MakePlacement("none"), *MakeEviction("lru"), MakeRamStore());
    const ManualClock clock;
    Scheduler scheduler(&engine, &cache, &clock, Emptying());
    for (const char letter : {'x', 'y'}) {
      auto generation = *scheduler.Submit(Bench::Request(Text(1000, letter)));
      while (scheduler.Step()) {
      }
      EXPECT_EQ(Bench::Collect(generation.get()).end.kind, GenerationEvent::Kind::kDone);
    }
    EXPECT_EQ(scheduler.stats().slot_counters.offloaded, 0u);
    EXPECT_GE(scheduler.stats().slots[0].tokens, 1000u);
  }
}

TEST(IdleSlotPressure, NothingIsEmptiedWhereNobodyPassesOverOthersCells) {
  Bench recurrent(Slots(2, MemoryClass::kRecurrent), Emptying());
  FakeEngineOptions apart = Slots(2, MemoryClass::kAttention);
  apart.segments = false;
  Bench whole(apart, Emptying());
  apart.segments = true;
  apart.one_buffer = false;
  Bench streams(apart, Emptying());
  for (Bench* bench : {&recurrent, &whole, &streams}) {
    bench->Run(Bench::Request(Text(1000, 'x')));
    bench->Run(Bench::Request(Text(3000, 'y')));
    EXPECT_EQ(bench->scheduler.stats().slot_counters.offloaded, 0u);
  }
}

TEST(IdleSlotPressure, WithoutItIdleSlotsStay) {
  Bench bench(Slots(2, MemoryClass::kAttention), Emptying(0));
  bench.Run(Bench::Request(Text(1000, 'x')));
  bench.Run(Bench::Request(Text(3000, 'y')));
  EXPECT_EQ(bench.scheduler.stats().slot_counters.offloaded, 0u);
}

}  // namespace
}  // namespace cairn
