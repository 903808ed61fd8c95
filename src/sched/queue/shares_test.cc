// No namespace keeps the queue and the slots from another, and cancelled requests hold neither.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "testing/sched/scheduler_fixture.h"

namespace cairn::shares_test {
namespace {

using test::Bench;
using test::Join;
using test::kClasses;
using test::Slots;
using test::Text;

constexpr size_t kEndless = 1 << 20;
constexpr double kStepMs = 50;

GenerationRequest Of(NamespaceId name_space, Tokens prompt, size_t tokens_max) {
  GenerationRequest request = Bench::Request(std::move(prompt), tokens_max);
  request.name_space = name_space;
  return request;
}

// Steps until `generation` has an event, and returns the number of steps.
size_t StepsToFirstEvent(Bench* bench, Generation* generation, size_t steps_max) {
  for (size_t steps = 1; steps <= steps_max; ++steps) {
    bench->clock.Advance(kStepMs);
    bench->scheduler.Step();
    while (auto event = generation->Next(std::chrono::milliseconds(0))) {
      if (!event->text.empty() || event->kind == GenerationEvent::Kind::kDone) return steps;
    }
  }
  return steps_max + 1;
}

TEST(CancelledRequests, LeaveTheQueueAlthoughAllSlotsAreAtWork) {
  SchedulerOptions options;
  options.queue_limit = 64;
  Bench bench(Slots(1, MemoryClass::kHybrid), options);
  auto at_work = *bench.scheduler.Submit(Bench::Request(Text(100), 2000));
  bench.scheduler.Step();
  auto waits = bench.scheduler.Submit(Bench::Request(Text(100, 'y')));
  ASSERT_TRUE(waits);
  for (int i = 0; i < 200; ++i) {
    auto impatient = bench.scheduler.Submit(Bench::Request(Text(100, 'z')));
    ASSERT_TRUE(impatient) << i << ": " << impatient.error().message;
    (*impatient)->Cancel();
    if (i % 10 == 0) bench.scheduler.Step();
  }
  bench.scheduler.Step();
  EXPECT_EQ(bench.scheduler.stats().open.waiting, 1u);
}

TEST(CancelledRequests, AreToldTheEndWhileOthersAreAtWork) {
  Bench bench(Slots(1, MemoryClass::kHybrid), {});
  auto at_work = *bench.scheduler.Submit(Bench::Request(Text(100), 2000));
  bench.scheduler.Step();
  auto cancelled = *bench.scheduler.Submit(Bench::Request(Text(100, 'y')));
  cancelled->Cancel();
  bench.scheduler.Step();
  const Bench::Answer answer = Bench::Collect(cancelled.get());
  EXPECT_EQ(answer.end.kind, GenerationEvent::Kind::kDone);
  EXPECT_EQ(answer.end.reason, FinishReason::kCancelled);
}

TEST(Shares, ANamespaceThatFillsTheQueueShutsNobodyOut) {
  SchedulerOptions options;
  options.queue_limit = 8;
  Bench bench(Slots(2, MemoryClass::kHybrid), options);
  std::vector<std::shared_ptr<Generation>> greedy;
  for (int round = 0; round < 50; ++round) {
    while (auto more = bench.scheduler.Submit(Of(1, Text(200), 50))) greedy.push_back(*more);
    auto other = bench.scheduler.Submit(Of(2, Text(200, 'y'), 1));
    ASSERT_TRUE(other) << round << ": " << other.error().message;
    // Time stands still during work on this clock, so only the waiting time decides.
    EXPECT_LE(StepsToFirstEvent(&bench, other->get(), 1000), 300u);
  }
  EXPECT_GT(bench.scheduler.stats().refused, 0u);
}

TEST(Shares, OneRequestForManyAnswersShutsNobodyOut) {
  SchedulerOptions options;
  options.queue_limit = 64;
  Bench bench(Slots(4, MemoryClass::kHybrid), options);
  GenerationRequest many = Of(1, Text(500), kEndless);
  many.answers = 64;
  auto greedy = bench.scheduler.Submit(std::move(many));
  ASSERT_TRUE(greedy);
  auto other = bench.scheduler.Submit(Of(2, Text(100, 'y'), 1));
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_LE(StepsToFirstEvent(&bench, other->get(), 2000), 300u);
}

TEST(Shares, EndlessAnswersOfOneNamespaceGiveASlotToAnother) {
  for (const MemoryClass memory_class : kClasses) {
    for (const size_t slots : {1, 4}) {
      SCOPED_TRACE(testing::Message() << MemoryClassName(memory_class) << ", " << slots);
      Bench bench(Slots(slots, memory_class), {});
      std::vector<std::shared_ptr<Generation>> endless;
      for (size_t i = 0; i < slots; ++i) {
        const Tokens prompt = Text(100, static_cast<char>('a' + i));
        endless.push_back(*bench.scheduler.Submit(Of(1, prompt, kEndless)));
      }
      for (int i = 0; i < 20; ++i) bench.scheduler.Step();
      auto other = *bench.scheduler.Submit(Of(2, Text(100, 'y'), 4));
      // Five seconds of waiting, and some steps for its prompt.
      EXPECT_LE(StepsToFirstEvent(&bench, other.get(), 1000), 120u);
      for (const auto& answer : endless) answer->Cancel();
      while (bench.scheduler.Step()) {
      }
    }
  }
}

TEST(Shares, AnAnswerThatGaveUpItsSlotForAnotherNamespaceIsWhatItWouldHaveBeen) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench alone(Slots(1, memory_class), {});
    const std::string expected = alone.Run(Of(1, Text(300), 400)).text;
    Bench bench(Slots(1, memory_class), {});
    auto first = *bench.scheduler.Submit(Of(1, Text(300), 400));
    for (int i = 0; i < 100; ++i) bench.scheduler.Step();
    auto other = *bench.scheduler.Submit(Of(2, Text(100, 'y'), 4));
    EXPECT_LE(StepsToFirstEvent(&bench, other.get(), 1000), 120u);
    while (bench.scheduler.Step()) {
    }
    EXPECT_EQ(Bench::Collect(first.get()).text, expected);
    EXPECT_GT(bench.scheduler.stats().preempted, 0u);
  }
}

TEST(Shares, OneNamespaceAloneNeverGivesUpASlot) {
  Bench bench(Slots(1, MemoryClass::kHybrid), {});
  auto first = *bench.scheduler.Submit(Of(1, Text(100), 300));
  auto second = *bench.scheduler.Submit(Of(1, Text(100, 'y'), 1));
  EXPECT_GT(StepsToFirstEvent(&bench, second.get(), 1000), 290u);
  EXPECT_EQ(bench.scheduler.stats().preempted, 0u);
}

TEST(Admission, APrefixThatIsSharedWithASlotInUseTakesNoRoomOfItsOwn) {
  for (const MemoryClass memory_class : {MemoryClass::kAttention, MemoryClass::kHybrid}) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeEngineOptions engine = Slots(4, memory_class);
    engine.context_tokens = 8192;
    Bench bench(engine, {});
    const Tokens header = Text(4864, 'h');
    auto first = *bench.scheduler.Submit(Bench::Request(Join(header, Text(100, 'a')), 2000));
    StepsToFirstEvent(&bench, first.get(), 1000);
    auto second = *bench.scheduler.Submit(Bench::Request(Join(header, Text(100, 'b')), 1));
    EXPECT_LE(StepsToFirstEvent(&bench, second.get(), 3000), 50u);
  }
}

}  // namespace
}  // namespace cairn::shares_test
