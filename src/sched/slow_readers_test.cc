// A client that reads its answer slowly holds neither a slot nor cells that others want, nor memory
// without end, and gets the same answer.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/sched/scheduler_fixture.h"

namespace cairn {
namespace {

using std::chrono::milliseconds;
using test::Bench;
using test::kClasses;
using test::Slots;
using test::Text;

constexpr size_t kBound = 16;  // pieces that wait for a client
constexpr size_t kLong = 400;  // tokens

using Shared = std::shared_ptr<Generation>;

// Time stands still in these tests, so answers give up their slots as soon as they are paused.
SchedulerOptions AtOnce() {
  SchedulerOptions options;
  options.slow_reader_ms = 0;
  return options;
}

Shared Slow(Bench* bench, Tokens prompt, size_t tokens_max = kLong) {
  Shared generation = *bench->scheduler.Submit(Bench::Request(std::move(prompt), tokens_max));
  generation->BoundWaiting(kBound);
  return generation;
}

// Steps until there is nothing to do but to wait for clients.
size_t StepAll(Bench* bench) {
  size_t steps = 0;
  while (bench->scheduler.Step() && steps < 10'000) ++steps;
  return steps;
}

// Takes what waits, and adds its text. Returns whether the answer has ended.
bool Read(Generation* generation, std::string* text) {
  while (auto event = generation->Next(milliseconds(0))) {
    *text += event->text;
    if (event->kind == GenerationEvent::Kind::kDone) return true;
    EXPECT_NE(event->kind, GenerationEvent::Kind::kFailed) << event->error.message;
    if (event->kind == GenerationEvent::Kind::kFailed) return true;
  }
  return false;
}

std::string ReadToTheEnd(Bench* bench, Generation* generation) {
  std::string text;
  for (size_t rounds = 0; !Read(generation, &text); ++rounds) {
    EXPECT_LT(rounds, 2 * kLong);
    if (rounds >= 2 * kLong) break;
    StepAll(bench);
  }
  return text;
}

size_t TextsWaiting(Generation* generation) {
  size_t texts = 0;
  while (auto event = generation->Next(milliseconds(0))) texts += event->text.empty() ? 0 : 1;
  return texts;
}

TEST(SlowReaders, NoMoreIsGeneratedThanMayWaitForThem) {
  Bench bench(Slots(1, MemoryClass::kHybrid), AtOnce());
  const Shared slow = Slow(&bench, Text(100));
  StepAll(&bench);
  EXPECT_EQ(bench.scheduler.stats().open.running, 1u);
  EXPECT_TRUE(slow->behind());
  EXPECT_LE(TextsWaiting(slow.get()), kBound + 1);
}

TEST(SlowReaders, KeepTheirSlotsAsLongAsNobodyWantsThem) {
  Bench bench(Slots(1, MemoryClass::kHybrid), AtOnce());
  const Shared slow = Slow(&bench, Text(100));
  ReadToTheEnd(&bench, slow.get());
  EXPECT_EQ(bench.scheduler.stats().preempted, 0u);
}

TEST(SlowReaders, GetTheAnswerOfAFastReader) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench alone(Slots(1, memory_class), {});
    const std::string expected = alone.Run(Bench::Request(Text(300), kLong)).text;
    Bench bench(Slots(1, memory_class), AtOnce());
    const Shared slow = Slow(&bench, Text(300));
    StepAll(&bench);
    // Its slot goes to another request in the middle of the answer.
    EXPECT_EQ(bench.Run(Bench::Request(Text(100, 'y'))).end.kind, GenerationEvent::Kind::kDone);
    EXPECT_EQ(bench.scheduler.stats().preempted, 1u);
    EXPECT_EQ(ReadToTheEnd(&bench, slow.get()), expected);
  }
}

TEST(SlowReaders, GiveTheirSlotsToWhoeverWaits) {
  for (const size_t slots : {1, 4}) {
    SCOPED_TRACE(slots);
    Bench bench(Slots(slots, MemoryClass::kHybrid), AtOnce());
    std::vector<Shared> slow;
    // More than there are slots.
    for (size_t i = 0; i < 2 * slots + 1; ++i) {
      slow.push_back(Slow(&bench, Text(100, static_cast<char>('a' + i))));
    }
    StepAll(&bench);
    for (const Shared& generation : slow) EXPECT_TRUE(generation->behind());
    // Of the same client, as there are no keys. No time passes, so no share is due.
    const Bench::Answer other = bench.Run(Bench::Request(Text(100, 'y')));
    EXPECT_EQ(other.end.kind, GenerationEvent::Kind::kDone);
    EXPECT_EQ(other.text.size(), 8u);
    for (const Shared& generation : slow) {
      EXPECT_EQ(ReadToTheEnd(&bench, generation.get()).size(), kLong);
    }
  }
}

// A thread that was not scheduled for a moment is no slow client.
TEST(SlowReaders, KeepTheirSlotsForAMoment) {
  SchedulerOptions options;
  options.slow_reader_ms = 100;
  Bench bench(Slots(1, MemoryClass::kHybrid), options);
  const Shared slow = Slow(&bench, Text(100));
  StepAll(&bench);
  const Shared other = *bench.scheduler.Submit(Bench::Request(Text(100, 'y')));
  bench.clock.Advance(99);
  StepAll(&bench);
  EXPECT_EQ(bench.scheduler.stats().preempted, 0u);
  bench.clock.Advance(1);
  StepAll(&bench);
  EXPECT_EQ(bench.scheduler.stats().preempted, 1u);
  EXPECT_EQ(Bench::Collect(other.get()).end.kind, GenerationEvent::Kind::kDone);
}

// A request that shares a prefix with a paused one waited for it to compute that prefix, which it
// has done.
TEST(SlowReaders, GiveTheirSlotsToWhoSharesTheirPromptToo) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeEngineOptions options = Slots(1, memory_class);
    options.chunk_tokens_max = 64;
    Bench bench(options, AtOnce());
    const Shared slow = Slow(&bench, Text(300));
    bench.scheduler.Step();
    const Shared other =
        *bench.scheduler.Submit(Bench::Request(test::Join(Text(300), Text(9, 'y'))));
    StepAll(&bench);
    EXPECT_EQ(Bench::Collect(other.get()).end.kind, GenerationEvent::Kind::kDone);
    EXPECT_EQ(ReadToTheEnd(&bench, slow.get()).size(), kLong);
  }
}

TEST(SlowReaders, GiveTheirCellsToWhoeverNeedsThem) {
  FakeEngineOptions options = Slots(2, MemoryClass::kAttention);
  options.context_tokens = options.cells = 1024;
  Bench bench(options, AtOnce());
  const Shared slow = Slow(&bench, Text(700), 200);
  StepAll(&bench);
  const Bench::Answer other = bench.Run(Bench::Request(Text(600, 'y')));
  EXPECT_EQ(other.end.kind, GenerationEvent::Kind::kDone);
  EXPECT_EQ(ReadToTheEnd(&bench, slow.get()).size(), 200u);
}

TEST(SlowReaders, TakeNoPlaceInTheQueueFromOthers) {
  SchedulerOptions options = AtOnce();
  options.queue_limit = 4;
  Bench bench(Slots(1, MemoryClass::kHybrid), options);
  std::vector<Shared> slow;
  for (size_t i = 0; i < 12; ++i) {
    slow.push_back(Slow(&bench, Text(100, static_cast<char>('a' + i))));
    StepAll(&bench);
  }
  EXPECT_EQ(bench.scheduler.stats().open.waiting, 11u);
  const auto other = bench.scheduler.Submit(Bench::Request(Text(100, 'y')));
  ASSERT_TRUE(other) << other.error().message;
  StepAll(&bench);
  EXPECT_EQ(Bench::Collect(other->get()).end.kind, GenerationEvent::Kind::kDone);
  for (const Shared& generation : slow) generation->Abandon();
  StepAll(&bench);
  EXPECT_EQ(bench.scheduler.stats().open.waiting, 0u);
  EXPECT_EQ(bench.scheduler.stats().open.running, 0u);
}

TEST(SlowReaders, ThatAreCancelledEndWithoutReading) {
  Bench bench(Slots(1, MemoryClass::kHybrid), AtOnce());
  const Shared holds_slot = Slow(&bench, Text(100));
  StepAll(&bench);
  const Shared next = Slow(&bench, Text(100, 'y'));
  StepAll(&bench);
  for (const Shared& generation : {holds_slot, next}) {
    generation->Cancel();
    StepAll(&bench);
    const Bench::Answer answer = Bench::Collect(generation.get());
    EXPECT_EQ(answer.end.kind, GenerationEvent::Kind::kDone);
    EXPECT_EQ(answer.end.reason, FinishReason::kCancelled);
  }
}

TEST(SlowReaders, EndAtTheTimeLimitOfTheirRequests) {
  SchedulerOptions options = AtOnce();
  options.request_ms_max = 1000;
  Bench bench(Slots(1, MemoryClass::kHybrid), options);
  const Shared slow = Slow(&bench, Text(100));
  StepAll(&bench);
  bench.clock.Advance(2000);
  StepAll(&bench);
  EXPECT_EQ(Bench::Collect(slow.get()).end.error.code, ErrorCode::kTimedOut);
}

TEST(SlowReaders, WaitForASlotLikeOthersOnceTheyHaveCaughtUp) {
  Bench bench(Slots(1, MemoryClass::kHybrid), AtOnce());
  const Shared slow = Slow(&bench, Text(100));
  StepAll(&bench);
  const Shared other = *bench.scheduler.Submit(Bench::Request(Text(100, 'y'), kLong));
  while (bench.scheduler.stats().preempted == 0) bench.scheduler.Step();
  std::string text;
  EXPECT_FALSE(Read(slow.get(), &text));
  EXPECT_FALSE(slow->behind());
  StepAll(&bench);
  EXPECT_EQ(Bench::Collect(other.get()).text.size(), kLong);
  EXPECT_EQ(text.size() + ReadToTheEnd(&bench, slow.get()).size(), kLong);
}

}  // namespace
}  // namespace cairn
