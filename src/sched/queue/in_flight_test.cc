#include "sched/queue/prefix_waits.h"

#include <gtest/gtest.h>

#include <numeric>

#include "testing/sched/scheduler_fixture.h"

namespace cairn::in_flight_test {
namespace {

using test::Bench;
using test::Join;
using test::kClasses;
using test::Slots;
using test::Text;

// One of several agents, whose common system prefix no placement of these tests would look for.
GenerationRequest AgentOf(char letter, size_t header = 1000, size_t task = 300) {
  return Bench::Request(Join(Text(header, 'H'), Text(task, letter)));
}

std::string AnswerOfOwn(MemoryClass memory_class, const GenerationRequest& request) {
  Bench bench(memory_class);
  return bench.Run(request).text;
}

size_t ReadBy(const std::vector<Bench::Answer>& answers) {
  return std::accumulate(answers.begin(), answers.end(), size_t{0},
                         [](size_t sum, const Bench::Answer& answer) {
                           return sum + answer.end.cost.prefill_tokens();
                         });
}

TEST(SharedPoint, LiesOnTheGridBeforeBothLastPieces) {
  const Tokens reader = Join(Text(200, 'H'), Text(300, 'a'));
  EXPECT_EQ(SharedPoint(reader, Join(Text(200, 'H'), Text(100, 'b')), CutRules{64}, true), 192u);
  EXPECT_EQ(SharedPoint(reader, Join(Text(200, 'H'), Text(100, 'b')), CutRules{1}, true), 200u);
  // One is a prefix of the other.
  EXPECT_EQ(SharedPoint(reader, Text(192, 'H'), CutRules{64}, true), 128u);
  EXPECT_EQ(SharedPoint(Text(192, 'H'), reader, CutRules{64}, true), 128u);
  EXPECT_EQ(SharedPoint(reader, Text(500, 'b'), CutRules{64}, true), 0u);
}

TEST(SharedPoint, IsTheEndOfOneAndTheSamePromptIfEndsAreKept) {
  EXPECT_EQ(SharedPoint(Text(200), Text(200), CutRules{64}, true), 200u);
  EXPECT_EQ(SharedPoint(Text(200), Text(200), CutRules{64}, false), 192u);
}

TEST(StopFor, APlannedStopServesWhenItIsNearAndNotTooDeep) {
  const std::vector<Placement> plan = {{512, CheckpointClass::kHeader},
                                       {1024, CheckpointClass::kTurn}};
  EXPECT_EQ(StopFor(plan, 512), 512u);
  EXPECT_EQ(StopFor(plan, 575), 512u);
  EXPECT_EQ(StopFor(plan, 576), 576u);
  EXPECT_EQ(StopFor(plan, 1000), 1000u);
}

TEST(AddStop, KeepsThePlanInOrderAndAddsNothingTwice) {
  std::vector<Placement> plan = {{512, CheckpointClass::kHeader}};
  AddStop(1024, &plan);
  AddStop(256, &plan);
  AddStop(512, &plan);
  AddStop(1024, &plan);
  EXPECT_EQ(plan, (std::vector<Placement>{{256, CheckpointClass::kBranch},
                                          {512, CheckpointClass::kHeader},
                                          {1024, CheckpointClass::kBranch}}));
}

TEST(InFlight, OneAndTheSamePromptIsReadOnceWhenFourAskTogether) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(Slots(4, memory_class), {});
    const auto answers =
        bench.RunTogether({Bench::Request(Text(1700)), Bench::Request(Text(1700)),
                           Bench::Request(Text(1700)), Bench::Request(Text(1700))});
    EXPECT_EQ(ReadBy(answers), 1700u);
    EXPECT_EQ(bench.scheduler.stats().waited_for_prefix, 3u);
    for (const auto& answer : answers) {
      EXPECT_EQ(answer.text, AnswerOfOwn(memory_class, Bench::Request(Text(1700))));
    }
  }
}

TEST(InFlight, AHeaderThatThreeAgentsShareIsReadOnce) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(Slots(3, memory_class), {});
    const auto answers = bench.RunTogether({AgentOf('a'), AgentOf('b'), AgentOf('c')});
    EXPECT_EQ(answers[0].end.cost.prefill_tokens(), 1300u);
    EXPECT_EQ(answers[1].end.cost.reused_tokens, 960u);
    EXPECT_EQ(answers[2].end.cost.reused_tokens, 960u);
    EXPECT_EQ(bench.scheduler.stats().waited_for_prefix, 2u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(answers[i].text, AnswerOfOwn(memory_class, AgentOf(static_cast<char>('a' + i))));
    }
  }
}

// Without the stop planned beforehand, the first chunk would pass the shared prefix.
TEST(InFlight, AShortHeaderIsSharedThoughTheReaderNeedsOnePieceForMore) {
  Bench bench(Slots(2, MemoryClass::kHybrid), {});
  const auto answers = bench.RunTogether({AgentOf('a', 200), AgentOf('b', 200)});
  EXPECT_EQ(answers[1].end.cost.reused_tokens, 192u);
}

TEST(InFlight, WhoCannotGetASlotYetIsAwaitedToo) {
  Bench bench(Slots(1, MemoryClass::kHybrid), {});
  const auto answers = bench.RunTogether({AgentOf('a'), AgentOf('b')});
  EXPECT_EQ(answers[1].end.cost.reused_tokens, 960u);
  EXPECT_EQ(bench.scheduler.stats().waited_for_prefix, 0u);
}

TEST(InFlight, AReaderThatIsPastTheCommonPartIsNotWaitedFor) {
  Bench bench(Slots(2, MemoryClass::kHybrid), {});
  auto reader = *bench.scheduler.Submit(AgentOf('a', 200, 2000));
  bench.scheduler.Step();
  auto late = *bench.scheduler.Submit(AgentOf('b', 200));
  bench.scheduler.Step();
  EXPECT_EQ(bench.scheduler.stats().open.running, 2u);
  EXPECT_EQ(bench.scheduler.stats().waited_for_prefix, 0u);
}

TEST(InFlight, LittleInCommonIsNotWaitedFor) {
  Bench bench(Slots(2, MemoryClass::kHybrid), {});
  bench.RunTogether({AgentOf('a', 60), AgentOf('b', 60)});
  EXPECT_EQ(bench.scheduler.stats().waited_for_prefix, 0u);
}

TEST(InFlight, WhatTheCacheHasAlreadyIsNotWaitedFor) {
  Bench bench(Slots(3, MemoryClass::kHybrid), {});
  bench.Run(Bench::Request(Text(1000, 'H')));
  auto reader = *bench.scheduler.Submit(AgentOf('a', 1000, 2000));
  bench.scheduler.Step();
  auto other = *bench.scheduler.Submit(AgentOf('b', 1000));
  bench.scheduler.Step();
  EXPECT_EQ(bench.scheduler.stats().waited_for_prefix, 0u);
  EXPECT_EQ(bench.scheduler.stats().open.running, 2u);
}

TEST(InFlight, WhenTheReaderIsCancelledOneOfThoseWaitingReads) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(Slots(4, memory_class), {});
    std::vector<std::shared_ptr<Generation>> asked;
    for (const char letter : {'a', 'b', 'c'}) {
      asked.push_back(*bench.scheduler.Submit(AgentOf(letter, 2000)));
    }
    for (int step = 0; step < 2; ++step) bench.scheduler.Step();
    asked[0]->Cancel();
    while (bench.scheduler.Step()) {
    }
    EXPECT_EQ(Bench::Collect(asked[0].get()).end.reason, FinishReason::kCancelled);
    const auto second = Bench::Collect(asked[1].get());
    const auto third = Bench::Collect(asked[2].get());
    EXPECT_EQ(second.text, AnswerOfOwn(memory_class, AgentOf('b', 2000)));
    EXPECT_EQ(third.text, AnswerOfOwn(memory_class, AgentOf('c', 2000)));
    EXPECT_EQ(third.end.cost.reused_tokens, 1984u);
    EXPECT_EQ(bench.scheduler.stats().waited_for_prefix, 2u);
  }
}

TEST(InFlight, WhenTheReaderFailsOneOfThoseWaitingReads) {
  Bench bench(Slots(3, MemoryClass::kHybrid), {});
  bench.engine.FailNextDecodes(1);
  const auto answers = bench.RunTogether({AgentOf('a'), AgentOf('b'), AgentOf('c')});
  EXPECT_EQ(answers[0].end.kind, GenerationEvent::Kind::kFailed);
  EXPECT_EQ(answers[1].text, AnswerOfOwn(MemoryClass::kHybrid, AgentOf('b')));
  EXPECT_EQ(answers[2].end.cost.reused_tokens, 960u);
  EXPECT_EQ(answers[2].text, AnswerOfOwn(MemoryClass::kHybrid, AgentOf('c')));
}

TEST(InFlight, WhoWaitsAndIsCancelledLeavesAtOnce) {
  Bench bench(Slots(3, MemoryClass::kHybrid), {});
  auto reader = *bench.scheduler.Submit(AgentOf('a', 3000));
  auto waiter = *bench.scheduler.Submit(AgentOf('b', 3000));
  for (int step = 0; step < 2; ++step) bench.scheduler.Step();
  EXPECT_EQ(bench.scheduler.stats().open.waiting, 1u);
  waiter->Cancel();
  bench.scheduler.Step();
  EXPECT_EQ(Bench::Collect(waiter.get()).end.reason, FinishReason::kCancelled);
  EXPECT_EQ(bench.scheduler.stats().open.running, 1u);
}

TEST(InFlight, ClientsWithOtherKeysReadForThemselves) {
  Bench bench(Slots(2, MemoryClass::kHybrid), {});
  GenerationRequest other = Bench::Request(Text(1000));
  other.name_space = 7;
  const auto answers = bench.RunTogether({Bench::Request(Text(1000)), other});
  EXPECT_EQ(ReadBy(answers), 2000u);
  EXPECT_EQ(bench.scheduler.stats().waited_for_prefix, 0u);
}

TEST(InFlight, NeitherWhoWantsNoReuseNorExactReuseInOneBufferWaits) {
  Bench bench(Slots(2, MemoryClass::kHybrid), {});
  GenerationRequest anew = Bench::Request(Text(1000));
  anew.reuse = false;
  EXPECT_EQ(ReadBy(bench.RunTogether({Bench::Request(Text(1000)), anew})), 2000u);
  EXPECT_EQ(bench.scheduler.stats().waited_for_prefix, 0u);

  SchedulerOptions exact;
  exact.reuse = ReuseMode::kExact;
  FakeEngineOptions whole = Slots(2, MemoryClass::kHybrid);
  whole.segments = false;
  for (const FakeEngineOptions& engine : {whole, Slots(2, MemoryClass::kHybrid)}) {
    Bench strict(engine, exact);
    strict.RunTogether({Bench::Request(Text(1000)), Bench::Request(Text(1000))});
    EXPECT_EQ(strict.scheduler.stats().waited_for_prefix, 0u);
  }
}

TEST(InFlight, ExactReuseWaitsWhereASlotsNeighboursChangeNoBit) {
  SchedulerOptions exact;
  exact.reuse = ReuseMode::kExact;
  FakeEngineOptions streams = Slots(3, MemoryClass::kHybrid);
  streams.one_buffer = false;
  Bench bench(streams, exact);
  const auto answers =
      bench.RunTogether({AgentOf('a', 3000), AgentOf('b', 3000), AgentOf('c', 3000)});
  EXPECT_EQ(bench.scheduler.stats().waited_for_prefix, 2u);
  EXPECT_EQ(bench.scheduler.stats().slot_counters.forked, 2u);
  for (size_t i = 0; i < 3; ++i) {
    Bench cold(MemoryClass::kHybrid);
    EXPECT_EQ(answers[i].text, cold.Run(AgentOf("abc"[i], 3000)).text);
  }
}

TEST(InFlight, OthersPassThoseThatWaitButLeaveThemASlot) {
  Bench bench(Slots(3, MemoryClass::kHybrid), {});
  std::vector<std::shared_ptr<Generation>> asked;
  asked.push_back(*bench.scheduler.Submit(AgentOf('a', 3000)));
  asked.push_back(*bench.scheduler.Submit(AgentOf('b', 3000)));
  asked.push_back(*bench.scheduler.Submit(Bench::Request(Text(3400, 'y'), 600)));
  asked.push_back(*bench.scheduler.Submit(Bench::Request(Text(3400, 'z'), 600)));
  for (int step = 0; step < 5; ++step) bench.scheduler.Step();
  // The reader, and one that passed; the last slot is reserved for the request that waits.
  EXPECT_EQ(bench.scheduler.stats().open.running, 2u);
  EXPECT_EQ(bench.scheduler.stats().open.waiting, 2u);
  while (Bench::Collect(asked[1].get()).end.kind != GenerationEvent::Kind::kDone) {
    bench.scheduler.Step();
  }
  EXPECT_GE(bench.scheduler.stats().open.waiting + bench.scheduler.stats().open.running, 2u);
}

TEST(InFlight, ASlotThatIsWishedForIsNotTakenMeanwhile) {
  Bench bench(Slots(3, MemoryClass::kHybrid), {});
  GenerationRequest wishing = AgentOf('b');
  wishing.slot = 1;
  const auto answers =
      bench.RunTogether({AgentOf('a'), wishing, Bench::Request(Text(1400, 'y'), 200)});
  EXPECT_EQ(answers[1].end.slot, 1u);
  EXPECT_EQ(answers[1].end.cost.reused_tokens, 960u);
}

// Each request that others wait for waits itself for an earlier one.
TEST(InFlight, AChainOfPromptsThatGrowIsReadOnce) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(Slots(4, memory_class), {});
    const auto prompt = [](size_t tokens) { return Bench::Request(Text(tokens)); };
    const auto answers =
        bench.RunTogether({prompt(500), prompt(1000), prompt(2000), prompt(3000), prompt(1000)});
    // After each end less than a grid step is prefilled again, except where the end is a grid
    // multiple.
    EXPECT_LE(ReadBy(answers), 3000u + 4 * 64);
    EXPECT_EQ(answers[3].text, AnswerOfOwn(memory_class, prompt(3000)));
  }
}

TEST(InFlight, SeveralAnswersToTwoRequestsOfOnePromptReadItOnce) {
  Bench bench(Slots(4, MemoryClass::kHybrid), {});
  GenerationRequest several = Bench::Request(Text(700));
  several.answers = 3;
  auto first = *bench.scheduler.Submit(several);
  auto second = *bench.scheduler.Submit(several);
  while (bench.scheduler.Step()) {
  }
  // Seven tokens of each answer are decoded: the last is only sampled.
  EXPECT_EQ(bench.engine.decoded_tokens(), 700u + 6 * 7);
}

}  // namespace
}  // namespace cairn::in_flight_test
