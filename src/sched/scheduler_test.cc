#include "sched/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "testing/sched/scheduler_fixture.h"

namespace cairn::scheduler_test {
namespace {

using namespace std::chrono_literals;

using test::Bench;
using test::Text;

TEST(Scheduler, AnswersWithAsManyTokensAsAskedFor) {
  Bench bench;
  const Bench::Answer answer = bench.Run(Bench::Request(Text(300), 5));
  EXPECT_EQ(answer.text.size(), 5u);
  EXPECT_EQ(answer.end.kind, GenerationEvent::Kind::kDone);
  EXPECT_EQ(answer.end.reason, FinishReason::kLength);
  EXPECT_EQ(answer.end.cost.prefill_tokens(), 300u);
}

TEST(Scheduler, ReadsOnlyAndAnswersNothingWhenAskedForNoTokens) {
  Bench bench;
  const Bench::Answer answer = bench.Run(Bench::Request(Text(300), 0));
  EXPECT_EQ(answer.text, "");
  EXPECT_EQ(answer.end.cost.generated_tokens, 0u);
}

TEST(Scheduler, TheSamePromptAgainReadsNothing) {
  Bench bench;
  const Bench::Answer first = bench.Run(Bench::Request(Text(300)));
  const Bench::Answer second = bench.Run(Bench::Request(Text(300)));
  EXPECT_EQ(second.text, first.text);
  EXPECT_EQ(second.end.cost.prefill_tokens(), 0u);
  EXPECT_EQ(bench.scheduler.stats().slot_counters.checkpoints_restored, 1u);
}

TEST(Scheduler, ARequestMayAskForNoReuse) {
  Bench bench;
  bench.Run(Bench::Request(Text(300)));
  GenerationRequest request = Bench::Request(Text(300));
  request.reuse = false;
  EXPECT_EQ(bench.Run(std::move(request)).end.cost.reused_tokens, 0u);
}

TEST(Scheduler, LiveGoesOnFromTheAnswerWithoutReadingIt) {
  Bench bench;
  const Bench::Answer first = bench.Run(Bench::Request(Text(300), 8));
  Tokens prompt = Text(300);
  prompt.insert(prompt.end(), first.text.begin(), first.text.end());
  prompt.insert(prompt.end(), 20, 'y');
  // The last sampled token was never decoded, so it is prefilled with the new ones.
  EXPECT_EQ(bench.Run(Bench::Request(prompt)).end.cost.prefill_tokens(), 21u);
}

TEST(Scheduler, StopTextEndsTheAnswerAndIsNotSent) {
  Bench bench;
  const std::string whole = bench.Run(Bench::Request(Text(300), 8)).text;
  GenerationRequest request = Bench::Request(Text(300), 8);
  request.params.stop_texts = {whole.substr(3, 2)};
  const Bench::Answer answer = bench.Run(std::move(request));
  EXPECT_EQ(answer.text, whole.substr(0, whole.find(whole.substr(3, 2))));
  EXPECT_EQ(answer.end.reason, FinishReason::kStop);
  EXPECT_EQ(answer.end.stop_text, whole.substr(3, 2));
}

TEST(Scheduler, ControlTokensHaveNoTextButTheOnesAskedFor) {
  FakeEngineOptions options = Bench::EngineOptions(MemoryClass::kHybrid);
  options.end_one_in = 3;
  const auto answer = [&](std::vector<std::string> control_texts) {
    Bench bench(options, {});
    GenerationRequest request = Bench::Request(Text(300), 40);
    request.params.ignore_end = true;
    request.params.control_texts = std::move(control_texts);
    return bench.Run(std::move(request)).text;
  };
  const std::string plain = answer({});
  EXPECT_LT(plain.size(), 40u);
  EXPECT_EQ(answer({"<|endoftext|>"}), plain);
  std::string shown = answer({"<|im_end|>"});
  EXPECT_NE(shown.find("<|im_end|>"), std::string::npos);
  for (size_t at = shown.find("<|im_end|>"); at != std::string::npos;
       at = shown.find("<|im_end|>")) {
    shown.erase(at, 10);
  }
  EXPECT_EQ(shown, plain);
}

TEST(Scheduler, AllControlTokensHaveTheirTextWhereThatIsAskedFor) {
  FakeEngineOptions options = Bench::EngineOptions(MemoryClass::kHybrid);
  options.end_one_in = 3;
  Bench bench(options, {});
  GenerationRequest request = Bench::Request(Text(300), 40);
  request.params.ignore_end = true;
  request.params.shows_control = true;
  EXPECT_NE(bench.Run(std::move(request)).text.find("<|im_end|>"), std::string::npos);
}

TEST(Scheduler, ACancelledRequestStopsAtTheNextPieceAndItsCheckpointsStay) {
  Bench bench;
  GenerationRequest request = Bench::Request(Text(3000));
  request.shape.header_end = 1024;
  auto generation = *bench.scheduler.Submit(std::move(request));
  for (int step = 0; step < 3; ++step) bench.scheduler.Step();
  generation->Cancel();
  bench.scheduler.Step();
  EXPECT_FALSE(bench.scheduler.Step());
  EXPECT_EQ(bench.Collect(generation.get()).end.reason, FinishReason::kCancelled);
  EXPECT_EQ(bench.cache.stats().checkpoints, 1u);
  EXPECT_EQ(bench.Run(Bench::Request(Text(3000))).end.cost.reused_tokens, 1536u);
}

TEST(Scheduler, WhatACancelledPromptHadNotReadIsNotCountedAsRead) {
  Bench bench;
  bench.Run(Bench::Request(Text(1000)));
  const SchedulerStats before = bench.scheduler.stats();
  // Resumes from the grid point before the end of the first prompt, in chunks of 512.
  auto generation = *bench.scheduler.Submit(Bench::Request(Text(3000)));
  for (int step = 0; step < 2; ++step) bench.scheduler.Step();
  const size_t there = bench.scheduler.stats().slots.front().tokens;
  ASSERT_LT(there, 3000u);
  bench.clock.Advance(5);
  generation->Cancel();
  bench.scheduler.Step();
  const GenerationCost cost = bench.Collect(generation.get()).end.cost;
  EXPECT_EQ(cost.prompt_tokens, 3000u);
  ASSERT_LT(cost.reused_tokens, there);
  const SchedulerStats stats = bench.scheduler.stats();
  EXPECT_EQ(stats.tokens.prompt - before.tokens.prompt, there);
  EXPECT_EQ(stats.tokens.reused - before.tokens.reused, cost.reused_tokens);
  EXPECT_EQ(stats.tokens.prompt_ms - before.tokens.prompt_ms, 5);
}

TEST(Scheduler, APromptCancelledWhileItWaitsReadsNothing) {
  Bench bench;
  auto generation = *bench.scheduler.Submit(Bench::Request(Text(3000)));
  generation->Cancel();
  bench.scheduler.Step();
  EXPECT_EQ(bench.Collect(generation.get()).end.reason, FinishReason::kCancelled);
  EXPECT_EQ(bench.scheduler.stats().requests, 1u);
  EXPECT_EQ(bench.scheduler.stats().tokens.prompt, 0u);
}

TEST(Scheduler, AnEngineFailureFailsOneRequestOnly) {
  Bench bench;
  bench.engine.FailNextDecodes(1);
  const Bench::Answer failed = bench.Run(Bench::Request(Text(300)));
  EXPECT_EQ(failed.end.kind, GenerationEvent::Kind::kFailed);
  const Bench::Answer next = bench.Run(Bench::Request(Text(300)));
  EXPECT_EQ(next.end.kind, GenerationEvent::Kind::kDone);
  EXPECT_EQ(next.end.cost.reused_tokens, 0u);
}

TEST(Scheduler, ReusesNothingAcrossNamespaces) {
  for (const MemoryClass memory_class :
       {MemoryClass::kAttention, MemoryClass::kRecurrent, MemoryClass::kHybrid}) {
    Bench bench(memory_class);
    bench.Run(Bench::Request(Text(300)));
    GenerationRequest other = Bench::Request(Text(300));
    other.name_space = 1;
    EXPECT_EQ(bench.Run(std::move(other)).end.cost.reused_tokens, 0u);
  }
}

TEST(Scheduler, ARecurrentModelComesBackToAConversationThatLeftTheSlot) {
  Bench bench(MemoryClass::kRecurrent);
  bench.Run(Bench::Request(Text(300, 'x')));
  bench.Run(Bench::Request(Text(300, 'y')));
  EXPECT_EQ(bench.Run(Bench::Request(Text(300, 'x'))).end.cost.prefill_tokens(), 0u);
}

TEST(Scheduler, RefusesWhatCannotFit) {
  Bench bench;
  const auto too_long = bench.scheduler.Submit(Bench::Request(Text(4096)));
  EXPECT_EQ(too_long.error().code, ErrorCode::kTooLong);
  EXPECT_NE(too_long.error().message.find("exceeds the available context size"), std::string::npos);
  EXPECT_EQ(bench.scheduler.Submit(Bench::Request({})).error().code, ErrorCode::kInvalidArgument);
}

TEST(Scheduler, EndsTheAnswerWhenTheContextIsFull) {
  Bench bench;
  const Bench::Answer answer = bench.Run(Bench::Request(Text(4090), 100));
  EXPECT_EQ(answer.end.reason, FinishReason::kLength);
  EXPECT_EQ(answer.end.cost.generated_tokens, 6u);
}

TEST(Scheduler, RefusesMoreThanTheQueueHolds) {
  SchedulerOptions options;
  options.queue_limit = 2;
  Bench bench(MemoryClass::kHybrid, options);
  ASSERT_TRUE(bench.scheduler.Submit(Bench::Request(Text(10))));
  ASSERT_TRUE(bench.scheduler.Submit(Bench::Request(Text(10))));
  EXPECT_EQ(bench.scheduler.Submit(Bench::Request(Text(10))).error().code, ErrorCode::kUnavailable);
}

TEST(Scheduler, TellsHowFarThePromptIsRead) {
  Bench bench;
  for (const bool again : {false, true}) {
    auto generation = *bench.scheduler.Submit(Bench::Request(Text(3000)));
    while (bench.scheduler.Step()) {
    }
    std::vector<size_t> processed;
    size_t reused = 0;
    while (auto event = generation->Next(0ms)) {
      if (event->kind != GenerationEvent::Kind::kProgress) break;
      EXPECT_EQ(event->cost.prompt_tokens, 3000U);
      reused = event->cost.reused_tokens;
      if (processed.empty()) {
        EXPECT_EQ(event->processed_tokens, reused);
      }
      processed.push_back(event->processed_tokens);
    }
    EXPECT_EQ(reused > 0, again);
    EXPECT_EQ(processed.size() > 1, !again);
    EXPECT_TRUE(std::is_sorted(processed.begin(), processed.end()));
    EXPECT_EQ(processed.back(), 3000U);
  }
}

// Looks, while it copies a state, whether a client has text already.
class LookingEngine final : public FakeEngine {
 public:
  explicit LookingEngine(const FakeEngineOptions& options) : FakeEngine(options) {}

  Result<Bytes> TakeSnapshot(SeqId seq) override {
    while (client != nullptr) {
      const auto event = client->Next(std::chrono::milliseconds(0));
      if (!event) break;
      text_before_copy += event->text;
    }
    ++copies;
    return FakeEngine::TakeSnapshot(seq);
  }

  Generation* client = nullptr;
  size_t copies = 0;
  std::string text_before_copy;
};

TEST(Scheduler, TheFirstTokenDoesNotWaitForTheCopyOfThePromptsState) {
  ManualClock clock;
  LookingEngine engine(Bench::EngineOptions(MemoryClass::kHybrid));
  CheckpointCache cache(CacheOptions{}, *MakePlacement("none"), *MakeEviction("lru"),
                        MakeRamStore());
  Scheduler scheduler(&engine, &cache, &clock, {});
  const auto generation = *scheduler.Submit(Bench::Request(Text(100)));
  engine.client = generation.get();
  while (engine.copies == 0 && scheduler.Step()) {
  }
  EXPECT_EQ(engine.copies, 1u);
  EXPECT_FALSE(engine.text_before_copy.empty());
  engine.client = nullptr;
  while (scheduler.Step()) {
  }
  // The state is there all the same: the same prompt again prefills nothing.
  const size_t copies = engine.copies;
  const auto again = *scheduler.Submit(Bench::Request(Text(100)));
  while (scheduler.Step()) {
  }
  EXPECT_EQ(Bench::Collect(again.get()).end.cost.reused_tokens, 100u);
  EXPECT_EQ(engine.copies, copies);
}

TEST(Scheduler, AnAnswerOfOneTokenEndsWhenThePromptsStateIsStored) {
  ManualClock clock;
  LookingEngine engine(Bench::EngineOptions(MemoryClass::kHybrid));
  CheckpointCache cache(CacheOptions{}, *MakePlacement("none"), *MakeEviction("lru"),
                        MakeRamStore());
  Scheduler scheduler(&engine, &cache, &clock, {});
  const auto generation = *scheduler.Submit(Bench::Request(Text(100), 1));
  engine.client = generation.get();
  while (scheduler.Step()) {
  }
  EXPECT_EQ(engine.copies, 1u);
  EXPECT_TRUE(engine.text_before_copy.empty());
}

// Reads the figures as an answer ends, before its client hears of it.
class LookingObserver final : public RequestObserver {
 public:
  void OnAnswerEnd(const EndedAnswer&) override {
    const SchedulerStats stats = scheduler->stats();
    const auto busy = std::count_if(stats.slots.begin(), stats.slots.end(),
                                    [](const SlotStats& slot) { return slot.busy; });
    running_and_busy.emplace_back(stats.open.running, static_cast<size_t>(busy));
  }

  const Scheduler* scheduler = nullptr;
  std::vector<std::pair<size_t, size_t>> running_and_busy;
};

TEST(Scheduler, ARequestDoesNotCountAsRunningOnceItsClientHearsOfTheEnd) {
  LookingObserver observer;
  SchedulerOptions options;
  options.observer = &observer;
  options.request_ms_max = 1000;
  Bench bench(test::Slots(2, MemoryClass::kHybrid), options);
  observer.scheduler = &bench.scheduler;
  bench.RunTogether({Bench::Request(Text(100), 3), Bench::Request(Text(100, 'y'), 30)});
  const auto late = *bench.scheduler.Submit(Bench::Request(Text(100, 'z'), SIZE_MAX));
  bench.scheduler.Step();
  bench.clock.Advance(2000);
  bench.scheduler.Step();
  EXPECT_EQ(Bench::Collect(late.get()).end.kind, GenerationEvent::Kind::kFailed);
  EXPECT_EQ(observer.running_and_busy,
            (std::vector<std::pair<size_t, size_t>>{{1, 1}, {0, 0}, {0, 0}}));
}

TEST(Scheduler, StoppingFailsWhatIsLeft) {
  Bench bench;
  auto generation = *bench.scheduler.Submit(Bench::Request(Text(10)));
  std::thread context_thread([&] { bench.scheduler.Run(); });
  while (!generation->Next(10ms)) {
  }
  auto endless = *bench.scheduler.Submit(Bench::Request(Text(10), SIZE_MAX));
  bench.scheduler.Stop();
  context_thread.join();
  EXPECT_FALSE(bench.scheduler.Submit(Bench::Request(Text(10))));
  GenerationEvent::Kind last = GenerationEvent::Kind::kText;
  while (auto event = endless->Next(0ms)) last = event->kind;
  EXPECT_NE(last, GenerationEvent::Kind::kText);
}

}  // namespace
}  // namespace cairn::scheduler_test
