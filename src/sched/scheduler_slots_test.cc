#include <gtest/gtest.h>

#include "testing/sched/scheduler_fixture.h"

namespace cairn::scheduler_slots_test {
namespace {

using test::Bench;
using test::Join;
using test::kClasses;
using test::Slots;
using test::SteppingClock;
using test::Text;
using test::TokensOf;

// A request after a system prefix that all requests share.
GenerationRequest AfterHeader(size_t header, const Tokens& rest, size_t tokens_max = 8) {
  GenerationRequest request = Bench::Request(Join(Text(header, 'H'), rest), tokens_max);
  request.shape.header_end = header;
  request.shape.turns = {{header, true}};
  request.shape.messages_end = request.prompt.size();
  return request;
}

std::string AnswerOfOwn(MemoryClass memory_class, GenerationRequest request) {
  Bench bench(memory_class);
  return bench.Run(std::move(request)).text;
}

TEST(Slots, PromptsThatComeTogetherAreAnsweredSideBySide) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(Slots(3, memory_class), {});
    const auto answers =
        bench.RunTogether({Bench::Request(Text(300, 'x')), Bench::Request(Text(700, 'y')),
                           Bench::Request(Text(100, 'z'))});
    EXPECT_EQ(answers[0].text, AnswerOfOwn(memory_class, Bench::Request(Text(300, 'x'))));
    EXPECT_EQ(answers[1].text, AnswerOfOwn(memory_class, Bench::Request(Text(700, 'y'))));
    EXPECT_EQ(answers[2].text, AnswerOfOwn(memory_class, Bench::Request(Text(100, 'z'))));
  }
}

TEST(Slots, ALongPromptDoesNotKeepARunningAnswerWaiting) {
  SchedulerOptions options;
  options.pace.name = "none";  // time stands still here, and other paces are in time
  Bench bench(Slots(2, MemoryClass::kHybrid), options);
  auto running = *bench.scheduler.Submit(Bench::Request(Text(10), 100));
  bench.scheduler.Step();
  auto reading = *bench.scheduler.Submit(Bench::Request(Text(3000, 'y'), 1));
  for (int step = 0; step < 4; ++step) bench.scheduler.Step();
  EXPECT_GE(Bench::Collect(running.get()).text.size(), 4u);
  EXPECT_EQ(Bench::Collect(reading.get()).text, "");
  while (bench.scheduler.Step()) {
  }
}

TEST(Slots, ASecondConversationSharesTheHeaderWhereItLies) {
  for (const MemoryClass memory_class :
       {MemoryClass::kAttention, MemoryClass::kSlidingWindow, MemoryClass::kHybrid}) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(Slots(2, memory_class), {});
    bench.Run(AfterHeader(1024, Text(500, 'a')));
    const auto other = bench.Run(AfterHeader(1024, Text(500, 'b')));
    EXPECT_EQ(other.end.cost.reused_tokens, 1024u);
    EXPECT_EQ(bench.scheduler.stats().slot_counters.forked, 1u);
    EXPECT_EQ(other.text, AnswerOfOwn(memory_class, AfterHeader(1024, Text(500, 'b'))));
    // The first conversation is still in its slot.
    const Tokens more = Join(Text(500, 'a'), Text(100, 'c'));
    EXPECT_GE(bench.Run(AfterHeader(1024, more)).end.cost.reused_tokens, 1472u);
    EXPECT_EQ(bench.scheduler.stats().slot_counters.assembled, 0u);
  }
}

TEST(Slots, WithAStreamEachAConversationBeginsWithACopyOfTheHeader) {
  for (const ReuseMode reuse : {ReuseMode::kLive, ReuseMode::kExact}) {
    for (const MemoryClass memory_class :
         {MemoryClass::kAttention, MemoryClass::kSlidingWindow, MemoryClass::kHybrid}) {
      SCOPED_TRACE(MemoryClassName(memory_class));
      FakeEngineOptions engine = Slots(2, memory_class);
      engine.one_buffer = false;
      SchedulerOptions options;
      options.reuse = reuse;
      Bench bench(engine, options);
      bench.Run(AfterHeader(1024, Text(500, 'a')));
      const auto other = bench.Run(AfterHeader(1024, Text(500, 'b')));
      EXPECT_EQ(other.end.cost.reused_tokens, 1024u);
      EXPECT_EQ(bench.scheduler.stats().slot_counters.forked, 1u);
      EXPECT_EQ(other.text, AnswerOfOwn(memory_class, AfterHeader(1024, Text(500, 'b'))));
      EXPECT_EQ(bench.scheduler.stats().slot_counters.offloaded, 0u);
    }
  }
}

TEST(Slots, AForkTakesCellsOfItsOwnWhereItIsACopy) {
  for (const auto& [one_buffer, used, shared] :
       {std::tuple{true, 300u, 200u}, std::tuple{false, 500u, 0u}}) {
    FakeEngineOptions options = Slots(2, MemoryClass::kAttention);
    options.one_buffer = one_buffer;
    FakeEngine engine(options);
    CellLedger ledger(2);
    const CutRules rules;
    Slot origin(&engine, &ledger, 0, &rules);
    Slot fork(&engine, &ledger, 1, &rules);
    ASSERT_TRUE(fork.Prefill(Text(50, 'b')));
    ASSERT_TRUE(origin.Prefill(Text(300, 'a')));
    ASSERT_TRUE(fork.Fork(origin, 200, {}));
    EXPECT_EQ(ledger.used(), used);
    EXPECT_EQ(ledger.SharedTokens(1), shared);
    EXPECT_EQ(ledger.OnlyIn(0), used - 200);
  }
}

TEST(Slots, ASmallRequestDoesNotPushALongConversationOutWhileAnotherSlotWouldDo) {
  Bench bench(Slots(2, MemoryClass::kHybrid), {});
  bench.Run(AfterHeader(512, Text(3000, 'a')));
  bench.Run(Bench::Request(Text(100, 't')));
  bench.Run(Bench::Request(Text(120, 'u')));
  bench.Run(Bench::Request(Text(140, 'v')));
  const Tokens more = Join(Text(3000, 'a'), Text(100, 'c'));
  const auto answer = bench.Run(AfterHeader(512, more));
  EXPECT_GE(answer.end.cost.reused_tokens, 3456u);
  EXPECT_EQ(bench.scheduler.stats().slot_counters.assembled, 0u);
}

TEST(Slots, AConversationThatNobodyComesBackToLosesItsSlotInTheEnd) {
  Bench bench(Slots(2, MemoryClass::kHybrid), {});
  bench.Run(AfterHeader(512, Text(2000, 'a')));
  for (char letter = 'b'; letter < 'z'; ++letter) bench.Run(Bench::Request(Text(400, letter)));
  bench.Run(AfterHeader(512, Join(Text(2000, 'a'), Text(100, 'c'))));
  EXPECT_EQ(bench.scheduler.stats().slot_counters.assembled, 1u);
}

TEST(Slots, WholeStatesBringAConversationBackWhereKvCannotBeTakenApart) {
  for (const MemoryClass memory_class :
       {MemoryClass::kAttention, MemoryClass::kSlidingWindow, MemoryClass::kHybrid}) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeEngineOptions options = Slots(1, memory_class);
    options.segments = false;
    Bench bench(options, {});
    bench.Run(Bench::Request(Text(1000, 'x')));
    bench.Run(Bench::Request(Text(1000, 'y')));
    const Tokens more = Join(Text(1000, 'x'), Text(50, 'w'));
    const auto back = bench.Run(Bench::Request(more));
    EXPECT_GE(back.end.cost.reused_tokens, 960u);
    EXPECT_EQ(bench.scheduler.stats().slot_counters.full_states_set, 1u);
    EXPECT_EQ(back.text, AnswerOfOwn(memory_class, Bench::Request(more)));
  }
}

// As with --swa-full.
FakeEngineOptions OfKeptWindows(size_t window_tokens) {
  FakeEngineOptions options = Slots(1, MemoryClass::kAttention);
  options.segments = false;
  options.kept_window_tokens = window_tokens;
  return options;
}

TEST(Slots, AConversationLongerThanAKeptWindowComesBackAtItsEndAlone) {
  Bench bench(OfKeptWindows(96), {});
  const auto first = bench.Run(Bench::Request(Text(1000, 'x')));
  bench.Run(Bench::Request(Text(1000, 'y')));
  const Tokens said = Join(Text(1000, 'x'), TokensOf(first.text));
  const auto back = bench.Run(Bench::Request(Join(said, Text(50, 'w'))));
  EXPECT_EQ(back.end.cost.reused_tokens, said.size() - 1);
  EXPECT_EQ(bench.scheduler.stats().slot_counters.full_states_set, 1u);
  // What it said after that is there, what was said before is not.
  const Tokens edited = Join(Text(900, 'x'), Text(200, 'v'));
  const auto cold = bench.Run(Bench::Request(edited));
  EXPECT_EQ(cold.end.cost.reused_tokens, 0u);
  EXPECT_EQ(cold.text, AnswerOfOwn(MemoryClass::kAttention, Bench::Request(edited)));
  EXPECT_EQ(bench.scheduler.stats().slot_counters.failed, 0u);
}

TEST(Slots, APromptThatIsSentAgainToAConversationWithoutItsWindowIsRead) {
  Bench bench(OfKeptWindows(96), {});
  const auto request = Bench::Request(Text(1000, 'x'));
  const auto first = bench.Run(request);
  bench.Run(Bench::Request(Text(1000, 'y')));
  bench.Run(Bench::Request(Join(Join(Text(1000, 'x'), TokensOf(first.text)), Text(50, 'w'))));
  ASSERT_EQ(bench.scheduler.stats().slot_counters.full_states_set, 1u);
  EXPECT_EQ(bench.Run(request).text, first.text);
}

TEST(Slots, AConversationWithinAKeptWindowComesBackAndIsEditedAnywhere) {
  for (const ReuseMode reuse : {ReuseMode::kLive, ReuseMode::kExact}) {
    SchedulerOptions options;
    options.reuse = reuse;
    Bench bench(OfKeptWindows(2000), options);
    bench.Run(Bench::Request(Text(1000, 'x')));
    bench.Run(Bench::Request(Text(1000, 'y')));
    const Tokens edited = Join(Text(900, 'x'), Text(200, 'v'));
    const auto back = bench.Run(Bench::Request(edited));
    EXPECT_GE(back.end.cost.reused_tokens, 896u);
    EXPECT_EQ(back.text, AnswerOfOwn(MemoryClass::kAttention, Bench::Request(edited)));
  }
}

TEST(Slots, ExactStoresNoConversationThatIsLongerThanAKeptWindow) {
  SchedulerOptions options;
  options.reuse = ReuseMode::kExact;
  Bench bench(OfKeptWindows(96), options);
  bench.Run(Bench::Request(Text(1000, 'x')));
  bench.Run(Bench::Request(Text(1000, 'y')));
  EXPECT_EQ(bench.scheduler.stats().slot_counters.offloaded, 0u);
}

TEST(Slots, ChunksAreNotMovedInAConversationWithoutItsWindow) {
  SchedulerOptions options;
  options.slots.move_tokens_min = 64;
  Bench bench(OfKeptWindows(96), options);
  const auto first = bench.Run(Bench::Request(Join(Text(500, 'a'), Text(500, 'b'))));
  bench.Run(Bench::Request(Text(1000, 'y')));
  const Tokens said = Join(Join(Text(500, 'a'), Text(500, 'b')), TokensOf(first.text));
  bench.Run(Bench::Request(Join(said, Text(50, 'w'))));
  ASSERT_EQ(bench.scheduler.stats().slot_counters.full_states_set, 1u);
  const auto moved = bench.Run(Bench::Request(Join(Text(500, 'b'), Text(50, 'c'))));
  EXPECT_EQ(moved.end.cost.reused_tokens, 0u);
}

TEST(Slots, ThoseThatOutgrowTheContextTogetherWaitAndGoOnWhereTheyWere) {
  for (const MemoryClass memory_class :
       {MemoryClass::kAttention, MemoryClass::kSlidingWindow, MemoryClass::kHybrid}) {
    for (const bool segments : {true, false}) {
      SCOPED_TRACE(testing::Message() << MemoryClassName(memory_class) << segments);
      FakeEngineOptions options = Slots(3, memory_class);
      options.context_tokens = options.cells = 1000;
      options.segments = segments;
      Bench bench(options, {});
      const auto request = [](char letter) { return Bench::Request(Text(300, letter), 150); };
      const auto answers = bench.RunTogether({request('x'), request('y'), request('z')});
      EXPECT_EQ(answers[0].text, AnswerOfOwn(memory_class, request('x')));
      EXPECT_EQ(answers[1].text, AnswerOfOwn(memory_class, request('y')));
      EXPECT_EQ(answers[2].text, AnswerOfOwn(memory_class, request('z')));
      EXPECT_GE(bench.scheduler.stats().preempted, 1u);
    }
  }
}

// Prefilled as part of a prompt, the answer's own beginning has other bits, and the rest of the
// answer may differ.
TEST(Slots, AnAnswerThatGaveUpItsSlotGoesOnWhereItWasThoughReadingTookLess) {
  for (const MemoryClass memory_class :
       {MemoryClass::kAttention, MemoryClass::kSlidingWindow, MemoryClass::kHybrid}) {
    for (const bool reuse : {true, false}) {
      SCOPED_TRACE(testing::Message() << MemoryClassName(memory_class) << reuse);
      FakeEngineOptions options = Slots(3, memory_class);
      options.context_tokens = options.cells = 1000;
      FakeEngine engine(options);
      CheckpointCache cache(CacheOptions{}, *MakePlacement("none"), *MakeEviction("lru"),
                            MakeRamStore());
      const SteppingClock clock;
      Scheduler scheduler(&engine, &cache, &clock, {});
      const auto request = [&](char letter) {
        GenerationRequest asked = Bench::Request(Text(300, letter), 150);
        asked.reuse = reuse;
        return asked;
      };
      // The first round measures the cost of assembly.
      for (const std::string letters : {"xyz", "uvw"}) {
        std::vector<std::shared_ptr<Generation>> generations;
        for (const char letter : letters) {
          generations.push_back(*scheduler.Submit(request(letter)));
        }
        while (scheduler.Step()) {
        }
        for (size_t i = 0; i < letters.size(); ++i) {
          EXPECT_EQ(Bench::Collect(generations[i].get()).text,
                    AnswerOfOwn(memory_class, request(letters[i])))
              << letters[i];
        }
      }
      EXPECT_GE(scheduler.stats().preempted, 2u);
    }
  }
}

TEST(Slots, APromptThatDoesNotFitBesideTheOthersWaits) {
  FakeEngineOptions options = Slots(2, MemoryClass::kAttention);
  options.context_tokens = options.cells = 1000;
  Bench bench(options, {});
  const auto answers =
      bench.RunTogether({Bench::Request(Text(600, 'x'), 20), Bench::Request(Text(600, 'y'), 20)});
  EXPECT_EQ(answers[1].text,
            AnswerOfOwn(MemoryClass::kAttention, Bench::Request(Text(600, 'y'), 20)));
  EXPECT_EQ(bench.scheduler.stats().preempted, 0u);
}

TEST(Slots, AnEngineFailureEmptiesTheSlotsThatDecodedTogether) {
  Bench bench(Slots(2, MemoryClass::kHybrid), {});
  auto a = *bench.scheduler.Submit(Bench::Request(Text(100, 'a'), 50));
  auto b = *bench.scheduler.Submit(Bench::Request(Text(100, 'b'), 50));
  for (int step = 0; step < 4; ++step) bench.scheduler.Step();
  bench.engine.FailNextDecodes(1);
  while (bench.scheduler.Step()) {
  }
  EXPECT_EQ(Bench::Collect(a.get()).end.kind, GenerationEvent::Kind::kFailed);
  EXPECT_EQ(Bench::Collect(b.get()).end.kind, GenerationEvent::Kind::kFailed);
  EXPECT_EQ(bench.Run(Bench::Request(Text(100, 'a'))).text,
            AnswerOfOwn(MemoryClass::kHybrid, Bench::Request(Text(100, 'a'))));
}

}  // namespace
}  // namespace cairn::scheduler_slots_test
