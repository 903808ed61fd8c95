// An idle model is unloaded, and the slots' contents come back with the next request.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "testing/sched/scheduler_fixture.h"

namespace cairn {
namespace {

using test::Bench;
using test::Join;
using test::kClasses;
using test::Text;

constexpr double kSleepAfterMs = 60'000;

SchedulerOptions Sleeping(ReuseMode reuse = ReuseMode::kLive) {
  SchedulerOptions options;
  options.reuse = reuse;
  options.sleep_after_ms = kSleepAfterMs;
  return options;
}

// Advances the time and does what the context thread would do then.
bool SleepsAfter(double ms, Bench* bench) {
  bench->clock.Advance(ms);
  return bench->scheduler.SleepIfIdle();
}

Tokens AnswerOf(const Bench::Answer& answer) {
  return {answer.text.begin(), answer.text.end()};
}

TEST(Sleeping, BeginsWhenNobodyAskedForSoLong) {
  Bench bench(MemoryClass::kHybrid, Sleeping());
  EXPECT_FALSE(SleepsAfter(kSleepAfterMs - 1, &bench));
  bench.Run(Bench::Request(Text(300)));
  EXPECT_FALSE(SleepsAfter(kSleepAfterMs - 1, &bench));
  EXPECT_FALSE(bench.scheduler.stats().sleep.asleep);
  EXPECT_TRUE(SleepsAfter(1, &bench));
  EXPECT_TRUE(bench.engine.asleep());
  EXPECT_TRUE(bench.scheduler.stats().sleep.asleep);
  EXPECT_EQ(bench.scheduler.stats().sleep.count, 1u);
  EXPECT_EQ(bench.scheduler.stats().slots[0].tokens, 0u);
  // The model is unloaded once.
  EXPECT_FALSE(SleepsAfter(kSleepAfterMs, &bench));
  EXPECT_FALSE(bench.scheduler.Step());
}

TEST(Sleeping, NeverBeginsWhereItWasNotAskedFor) {
  Bench bench;
  bench.Run(Bench::Request(Text(300)));
  EXPECT_FALSE(SleepsAfter(1e9, &bench));
  EXPECT_FALSE(bench.engine.asleep());
}

TEST(Sleeping, DoesNotBeginWhileARequestIsThere) {
  Bench bench(MemoryClass::kHybrid, Sleeping());
  const auto queued = bench.scheduler.Submit(Bench::Request(Text(300)));
  ASSERT_TRUE(queued.has_value());
  EXPECT_FALSE(SleepsAfter(2 * kSleepAfterMs, &bench));
  size_t steps = 0;
  while (bench.scheduler.Step() && bench.scheduler.stats().open.running > 0) {
    EXPECT_FALSE(SleepsAfter(2 * kSleepAfterMs, &bench));
    ++steps;
  }
  EXPECT_GT(steps, 5u);
  EXPECT_FALSE(SleepsAfter(kSleepAfterMs - 1, &bench));
}

TEST(Sleeping, GoesOnAfterwardsAsIfItHadNeverSlept) {
  for (const MemoryClass memory_class : kClasses) {
    for (const ReuseMode reuse : {ReuseMode::kLive, ReuseMode::kExact, ReuseMode::kAny}) {
      SCOPED_TRACE(std::string(MemoryClassName(memory_class)) + " " + std::to_string(int(reuse)));
      std::vector<std::string> answers;
      std::vector<size_t> reused;
      for (const bool sleeps : {false, true}) {
        Bench bench(memory_class, Sleeping(reuse));
        const Tokens prompt = Text(1000);
        const Tokens answer = AnswerOf(bench.Run(Bench::Request(prompt)));
        EXPECT_EQ(SleepsAfter(sleeps ? kSleepAfterMs : 0, &bench), sleeps);
        const Tokens next = Join(Join(prompt, answer), Text(40, 'u'));
        const auto second = bench.Run(Bench::Request(next));
        EXPECT_FALSE(bench.engine.asleep());
        answers.push_back(second.text);
        reused.push_back(second.end.cost.reused_tokens);
      }
      EXPECT_EQ(answers[0], answers[1]);
      EXPECT_EQ(reused[0], reused[1]);
      EXPECT_GT(reused[1], 500u);
    }
  }
}

TEST(Sleeping, WhatWasReadAheadHalfwayBeforeItIsNotReadAgain) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeEngineOptions engine = test::Slots(1, memory_class);
    engine.chunk_tokens_max = 128;
    Bench bench(engine, Sleeping());
    bench.Run(Bench::Request(Text(1024)));
    bench.scheduler.Prefetch({{0, Join(Text(1024), Text(400, 'w')), 1024, false}});
    ASSERT_TRUE(bench.scheduler.PrefetchNext());
    ASSERT_TRUE(SleepsAfter(kSleepAfterMs, &bench));
    const Tokens next = Join(Join(Text(1024), Text(400, 'w')), Text(20, 'n'));
    EXPECT_GE(bench.Run(Bench::Request(next)).end.cost.reused_tokens, 1024u + 64);
    EXPECT_EQ(bench.scheduler.stats().prefetch.used_tokens,
              bench.scheduler.stats().prefetch.tokens);
  }
}

TEST(Sleeping, OffloadsEverySlot) {
  FakeEngineOptions engine = test::Slots(3, MemoryClass::kHybrid);
  Bench bench(engine, Sleeping());
  bench.RunTogether({Bench::Request(Text(500, 'a')), Bench::Request(Text(500, 'b')),
                     Bench::Request(Text(500, 'c'))});
  EXPECT_TRUE(SleepsAfter(kSleepAfterMs, &bench));
  EXPECT_EQ(bench.scheduler.stats().slot_counters.offloaded, 3u);
  for (const char letter : {'a', 'b', 'c'}) {
    const auto answer = bench.Run(Bench::Request(Join(Text(500, letter), Text(30, 'u'))));
    EXPECT_GE(answer.end.cost.reused_tokens, 448u) << letter;
  }
}

TEST(Sleeping, AModelThatDoesNotLoadAgainFailsWhoWaitsAndIsTriedAnew) {
  Bench bench(MemoryClass::kHybrid, Sleeping());
  const auto before = bench.Run(Bench::Request(Text(500)));
  ASSERT_TRUE(SleepsAfter(kSleepAfterMs, &bench));
  bench.engine.FailNextWakes(1);
  const auto failed = bench.Run(Bench::Request(Text(500)));
  EXPECT_EQ(failed.end.kind, GenerationEvent::Kind::kFailed);
  EXPECT_EQ(failed.end.error.code, ErrorCode::kUnavailable);
  EXPECT_NE(failed.end.error.message.find("told not to wake"), std::string::npos)
      << failed.end.error.message;
  EXPECT_TRUE(bench.scheduler.stats().sleep.asleep);
  const auto after = bench.Run(Bench::Request(Text(500)));
  EXPECT_EQ(after.text, before.text);
  EXPECT_FALSE(bench.scheduler.stats().sleep.asleep);
}

TEST(Sleeping, SaysWhenItBeginsAndWhenItEnds) {
  std::vector<std::string> said;
  SchedulerOptions options = Sleeping();
  options.log = [&](LogLevel, std::string_view line) { said.emplace_back(line); };
  Bench bench(MemoryClass::kAttention, options);
  bench.Run(Bench::Request(Text(500)));
  ASSERT_TRUE(SleepsAfter(kSleepAfterMs, &bench));
  bench.Run(Bench::Request(Text(500)));
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[0],
            "asleep: no request for 60.0 s, so the model is unloaded; 1 slots were offloaded, and "
            "the cache stays");
  EXPECT_EQ(said[2], "awake after 0.0 s");
}

TEST(Sleeping, ALookAtTheCacheWakesNobody) {
  const SteadyClock clock;
  FakeEngine engine(Bench::EngineOptions(MemoryClass::kHybrid));
  CheckpointCache cache(CacheOptions{}, *MakePlacement("near-end"), *MakeEviction("lru"),
                        MakeRamStore());
  SchedulerOptions options;
  options.sleep_after_ms = 1;
  Scheduler scheduler(&engine, &cache, &clock, options);
  // Submitted before the thread runs, or it might unload before there is anything to keep.
  const auto generation = scheduler.Submit(Bench::Request(Text(500)));
  std::thread context([&] { scheduler.Run(); });
  while (scheduler.stats().sleep.count < 1) std::this_thread::yield();
  size_t seen = 0;
  ASSERT_TRUE(
      scheduler.Look([&](CheckpointCache* held) { seen = held->stats().checkpoints; }).has_value());
  EXPECT_GT(seen, 0u);
  EXPECT_TRUE(scheduler.Flush().has_value());
  EXPECT_TRUE(scheduler.stats().sleep.asleep);
  scheduler.Stop();
  context.join();
  EXPECT_EQ(scheduler.Look([](CheckpointCache*) {}).error().code, ErrorCode::kUnavailable);
}

// Runs on a thread of its own, with real time. The fake engine's prefill takes no time, so
// attention KV, which takes longer to assemble, would rightly be computed again; a recurrent state
// is only restored.
TEST(Sleeping, TheContextThreadSleepsAndWakesByItself) {
  const SteadyClock clock;
  FakeEngine engine(Bench::EngineOptions(MemoryClass::kRecurrent));
  CheckpointCache cache(CacheOptions{}, *MakePlacement("near-end"), *MakeEviction("lru"),
                        MakeRamStore());
  SchedulerOptions options;
  options.sleep_after_ms = 1;
  Scheduler scheduler(&engine, &cache, &clock, options);
  std::thread context([&] { scheduler.Run(); });
  for (int turn = 0; turn < 3; ++turn) {
    const auto sleeps = static_cast<uint64_t>(turn) + 1;
    while (scheduler.stats().sleep.count < sleeps) std::this_thread::yield();
    const auto generation = scheduler.Submit(Bench::Request(Text(500)));
    ASSERT_TRUE(generation.has_value());
    GenerationEvent end;
    while (end.kind != GenerationEvent::Kind::kDone) {
      auto event = (*generation)->Next(std::chrono::minutes(1));
      ASSERT_TRUE(event.has_value());
      end = std::move(*event);
      ASSERT_NE(end.kind, GenerationEvent::Kind::kFailed) << end.error.message;
    }
    if (turn > 0) {
      EXPECT_GT(end.cost.reused_tokens, 400u);
    }
  }
  // A command loads it too.
  while (scheduler.stats().sleep.count < 4) std::this_thread::yield();
  EXPECT_EQ(*scheduler.slots().Erase(0, 0), 0u);
  scheduler.Stop();
  context.join();
}

}  // namespace
}  // namespace cairn
