// Prefetch, and the limits of what it may cost requests.

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "testing/sched/scheduler_fixture.h"

namespace cairn::prefetcher_test {
namespace {

using test::Bench;
using test::Join;
using test::kClasses;
using test::Slots;
using test::Text;

constexpr size_t kGrid = 64;

SchedulerOptions Lending(size_t first_tokens = 1 << 20) {
  SchedulerOptions options;
  options.prefetch.first_tokens = first_tokens;
  return options;
}

// A conversation whose answer comes back without its reasoning.
struct Talk {
  Tokens asked = Text(1000, 'q');
  Tokens without_reasoning = Text(400, 'w');

  PrefetchPrompt Expected(bool keeps_answer = false) const {
    return {0, Join(asked, without_reasoning), asked.size(), keeps_answer};
  }
  GenerationRequest First(size_t tokens_max = 50) const {
    return Bench::Request(asked, tokens_max);
  }
  GenerationRequest Next(size_t new_tokens) const {
    return Bench::Request(Join(Join(asked, without_reasoning), Text(new_tokens, 'n')));
  }
};

size_t PrefetchAll(Bench* bench) {
  size_t steps = 0;
  while (bench->scheduler.PrefetchNext()) ++steps;
  return steps;
}

TEST(Prefetching, TheNextTurnReadsItsNewMessageAndAtMostOneGridStep) {
  for (const MemoryClass memory_class : kClasses) {
    for (const size_t slots : {1, 4}) {
      SCOPED_TRACE(testing::Message() << MemoryClassName(memory_class) << ", " << slots);
      const Talk talk;
      Bench bench(Slots(slots, memory_class), Lending());
      bench.Run(talk.First());
      bench.scheduler.Prefetch({talk.Expected()});
      PrefetchAll(&bench);
      const auto next = bench.Run(talk.Next(30));
      EXPECT_LE(next.end.cost.prefill_tokens(), 30 + kGrid);
      Bench cold(Slots(slots, memory_class), {});
      EXPECT_EQ(next.text, cold.Run(talk.Next(30)).text);
    }
  }
}

// Rendering takes time, and some clients send the next turn before it ends.
TEST(Prefetching, NothingIsReadAheadForATurnThatCameBeforeItWasExpected) {
  const Talk talk;
  Bench bench(Slots(2, MemoryClass::kHybrid), Lending());
  uint64_t admission = 0;
  GenerationRequest first = talk.First();
  first.on_answer = [&](const FinishedAnswer& answer) { admission = answer.admission; };
  bench.Run(first);
  PrefetchPrompt expected = talk.Expected();
  expected.admission = admission;
  bench.Run(Bench::Request(Join(talk.asked, Text(300, 'o'))));
  bench.scheduler.Prefetch({expected});
  EXPECT_EQ(PrefetchAll(&bench), 0u);
  expected.admission = admission + 1;
  bench.scheduler.Prefetch({expected});
  EXPECT_GT(PrefetchAll(&bench), 0u);
}

TEST(Prefetching, CountsWhatItReadApartFromWhatRequestsCost) {
  const Talk talk;
  Bench bench(Slots(1, MemoryClass::kHybrid), Lending());
  bench.Run(talk.First());
  bench.scheduler.Prefetch({talk.Expected()});
  PrefetchAll(&bench);
  const uint64_t decoded = bench.engine.decoded_tokens();
  const auto next = bench.Run(talk.Next(30));
  const SchedulerStats stats = bench.scheduler.stats();
  EXPECT_GT(stats.prefetch.tokens, 300u);
  EXPECT_EQ(stats.prefetch.used_tokens, stats.prefetch.tokens);
  EXPECT_EQ(next.end.cost.prefill_tokens() + next.end.cost.generated_tokens - 1,
            bench.engine.decoded_tokens() - decoded);
}

TEST(Prefetching, ARequestThatComesInBetweenGoesOnFromWhatWasReadSoFar) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeEngineOptions engine = Slots(2, memory_class);
    engine.chunk_tokens_max = 128;
    const Talk talk;
    Bench bench(engine, Lending());
    bench.Run(talk.First());
    bench.scheduler.Prefetch({talk.Expected()});
    ASSERT_TRUE(bench.scheduler.PrefetchNext());
    const size_t prefetched = bench.scheduler.stats().prefetch.tokens;
    ASSERT_GT(prefetched, 0u);
    const auto next = bench.Run(talk.Next(30));
    EXPECT_LE(next.end.cost.prefill_tokens(), 430 + kGrid - prefetched);
    // Its conversation has continued, so the rest is no longer wanted.
    EXPECT_FALSE(bench.scheduler.PrefetchNext());
    EXPECT_EQ(bench.scheduler.stats().prefetch.tokens, prefetched);
  }
}

// Sends a request while the context thread runs by itself, as in a server. Returns an answer
// without an end if it did not come in time.
Bench::Answer AskRunning(Bench* bench, GenerationRequest request) {
  const auto generation = *bench->scheduler.Submit(std::move(request));
  std::thread context([bench] { bench->scheduler.Run(); });
  Bench::Answer answer;
  while (auto event = generation->Next(std::chrono::seconds(20))) {
    answer.text += event->text;
    answer.end = *event;
    if (event->kind == GenerationEvent::Kind::kDone) break;
  }
  bench->scheduler.Stop();
  context.join();
  return answer;
}

TEST(Prefetching, GivesTheOnlySlotBackWhereNoMoreMayBeReadAheadInIt) {
  FakeEngineOptions engine = Slots(1, MemoryClass::kHybrid);
  engine.chunk_tokens_max = 128;
  const Talk talk;
  Bench bench(engine, Lending(0));
  bench.Run(talk.First());
  bench.scheduler.Prefetch({talk.Expected()});
  ASSERT_GT(PrefetchAll(&bench), 0u);
  ASSERT_LT(bench.scheduler.stats().prefetch.tokens, 400u) << "it is held up half-way";
  const auto other = AskRunning(&bench, Bench::Request(Text(300, 'o')));
  EXPECT_EQ(other.end.kind, GenerationEvent::Kind::kDone);
}

TEST(Prefetching, GivesTheOnlySlotBackAfterThePieceThatIsBeingRead) {
  FakeEngineOptions engine = Slots(1, MemoryClass::kHybrid);
  engine.chunk_tokens_max = 128;
  const Talk talk;
  Bench bench(engine, Lending());
  bench.Run(talk.First());
  bench.scheduler.Prefetch({talk.Expected()});
  ASSERT_TRUE(bench.scheduler.PrefetchNext());
  const size_t prefetched = bench.scheduler.stats().prefetch.tokens;
  const auto next = AskRunning(&bench, talk.Next(30));
  EXPECT_EQ(next.end.kind, GenerationEvent::Kind::kDone);
  EXPECT_EQ(bench.scheduler.stats().prefetch.tokens, prefetched);
}

TEST(Prefetching, GoesOnAfterARequestOfAnotherConversation) {
  FakeEngineOptions engine = Slots(2, MemoryClass::kHybrid);
  engine.chunk_tokens_max = 128;
  const Talk talk;
  Bench bench(engine, Lending());
  bench.Run(talk.First());
  bench.scheduler.Prefetch({talk.Expected()});
  ASSERT_TRUE(bench.scheduler.PrefetchNext());
  bench.Run(Bench::Request(Text(300, 'o')));
  EXPECT_GT(PrefetchAll(&bench), 0u);
  EXPECT_LE(bench.Run(talk.Next(30)).end.cost.prefill_tokens(), 30 + kGrid);
}

TEST(Prefetching, ReadsNothingThatIsThereAlready) {
  Bench bench(Slots(1, MemoryClass::kHybrid), Lending());
  const auto first = bench.Run(Bench::Request(Text(1000), 100));
  Tokens goes_on = Text(1000);
  goes_on.insert(goes_on.end(), first.text.begin(), first.text.end());
  bench.scheduler.Prefetch({{0, Join(goes_on, Text(10, 'y')), 1000, false}});
  PrefetchAll(&bench);
  EXPECT_EQ(bench.scheduler.stats().prefetch.tokens, 0u);
}

TEST(Prefetching, KeepsTheAnswerAsItWasGeneratedWhereItMayComeBackSo) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    const Talk talk;
    Bench bench(Slots(1, memory_class), Lending());
    const auto first = bench.Run(talk.First(200));
    bench.scheduler.Prefetch({talk.Expected(true)});
    PrefetchAll(&bench);
    ASSERT_GT(bench.scheduler.stats().prefetch.tokens, 0u);
    Tokens as_generated = talk.asked;
    as_generated.insert(as_generated.end(), first.text.begin(), first.text.end());
    const auto next = bench.Run(Bench::Request(Join(as_generated, Text(20, 'n'))));
    EXPECT_LE(next.end.cost.prefill_tokens(), 21u);
  }
}

TEST(Prefetching, LendsNoMoreThanItsBudget) {
  const Talk talk;
  Bench bench(Slots(1, MemoryClass::kHybrid), Lending(0));
  bench.Run(talk.First());
  for (char letter = 'A'; letter <= 'Z'; ++letter) {
    // A client that never comes back.
    bench.scheduler.Prefetch({{0, Join(Text(1000, 'q'), Text(1200, letter)), 1000, false}});
    PrefetchAll(&bench);
  }
  EXPECT_LE(bench.scheduler.stats().prefetch.tokens, 250u);
  EXPECT_GT(bench.scheduler.stats().prefetch.tokens, 0u);
}

TEST(Prefetching, AMinutesTokensComeBackWithTheMinute) {
  SchedulerOptions options = Lending();
  options.prefetch.tokens_per_minute = 128;
  const Talk talk;
  Bench bench(Slots(1, MemoryClass::kHybrid), options);
  bench.Run(talk.First());
  bench.scheduler.Prefetch({talk.Expected()});
  PrefetchAll(&bench);
  EXPECT_EQ(bench.scheduler.stats().prefetch.tokens, 128u);
  bench.clock.Advance(60'000);
  PrefetchAll(&bench);
  EXPECT_EQ(bench.scheduler.stats().prefetch.tokens, 256u);
}

TEST(Prefetching, AFailureOfTheEngineCostsNobodyAnAnswer) {
  const Talk talk;
  Bench bench(Slots(2, MemoryClass::kHybrid), Lending());
  bench.Run(talk.First());
  bench.scheduler.Prefetch({talk.Expected()});
  bench.engine.FailNextDecodes(1);
  PrefetchAll(&bench);
  Bench cold(Slots(1, MemoryClass::kHybrid), {});
  EXPECT_EQ(bench.Run(talk.Next(30)).text, cold.Run(talk.Next(30)).text);
}

TEST(Prefetching, AnotherNamespaceGetsNothingOfIt) {
  const Talk talk;
  Bench bench(Slots(2, MemoryClass::kHybrid), Lending());
  bench.Run(talk.First());
  bench.scheduler.Prefetch({talk.Expected()});
  PrefetchAll(&bench);
  GenerationRequest other = talk.Next(30);
  other.name_space = 7;
  EXPECT_EQ(bench.Run(std::move(other)).end.cost.reused_tokens, 0u);
}

TEST(Prefetching, AMicroBatchSmallerThanTheGridIsReadAheadInItsOwnSteps) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeEngineOptions engine = Slots(1, memory_class);
    engine.chunk_tokens_max = kGrid / 2;
    const Talk talk;
    Bench bench(engine, Lending());
    bench.Run(talk.First());
    bench.scheduler.Prefetch({talk.Expected()});
    PrefetchAll(&bench);
    EXPECT_GT(bench.scheduler.stats().prefetch.tokens, 0u);
    EXPECT_EQ(bench.Run(talk.Next(30)).end.kind, GenerationEvent::Kind::kDone);
  }
}

}  // namespace
}  // namespace cairn::prefetcher_test
