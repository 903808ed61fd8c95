// Requests for several answers to one prompt, and for log-probabilities.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "testing/sched/scheduler_fixture.h"

namespace cairn {
namespace {

using test::Bench;
using test::kClasses;
using test::Slots;
using test::Text;

// Returns all answers of one request.
std::map<size_t, Bench::Answer> AnswersOf(Generation* generation) {
  std::map<size_t, Bench::Answer> answers;
  while (auto event = generation->Next(std::chrono::milliseconds(0))) {
    answers[event->answer].text += event->text;
    answers[event->answer].end = *event;
  }
  return answers;
}

GenerationRequest Several(Tokens prompt, size_t answers, size_t tokens_max = 8) {
  GenerationRequest request = Bench::Request(std::move(prompt), tokens_max);
  request.answers = answers;
  return request;
}

TEST(SeveralAnswers, ThePromptIsReadOnceHoweverManySlotsThereAre) {
  for (const MemoryClass memory_class : kClasses) {
    for (const size_t slots : {1, 2, 4}) {
      SCOPED_TRACE(std::string(MemoryClassName(memory_class)) + " " + std::to_string(slots));
      Bench bench(Slots(slots, memory_class), {});
      auto generation = *bench.scheduler.Submit(Several(Text(700), 4));
      while (bench.scheduler.Step()) {
      }
      const auto answers = AnswersOf(generation.get());
      ASSERT_EQ(answers.size(), 4u);
      size_t read = 0;
      for (const auto& [index, answer] : answers) {
        EXPECT_EQ(answer.end.kind, GenerationEvent::Kind::kDone);
        EXPECT_EQ(answer.text.size(), 8u);
        // FakeEngine always samples the likeliest token.
        EXPECT_EQ(answer.text, answers.at(0).text);
        read += answer.end.cost.prefill_tokens();
      }
      EXPECT_EQ(read, 700u);
      // Seven tokens of each answer are decoded: the last is only sampled.
      EXPECT_EQ(bench.engine.decoded_tokens(), 700u + 4 * 7);
    }
  }
}

TEST(SeveralAnswers, RequestsThatCameLaterDoNotWaitForThePrompt) {
  Bench bench(Slots(2, MemoryClass::kHybrid), {});
  auto several = *bench.scheduler.Submit(Several(Text(3000), 2));
  auto later = *bench.scheduler.Submit(Bench::Request(Text(10, 'y'), 1));
  for (int step = 0; step < 3; ++step) bench.scheduler.Step();
  EXPECT_FALSE(several->prompt_read());
  EXPECT_EQ(bench.scheduler.stats().open.waiting, 1u);  // the second answer
  while (bench.scheduler.Step()) {
  }
  EXPECT_EQ(Bench::Collect(later.get()).end.kind, GenerationEvent::Kind::kDone);
  EXPECT_EQ(AnswersOf(several.get()).size(), 2u);
}

TEST(SeveralAnswers, AllEndWhenTheClientGoesAway) {
  Bench bench(Slots(2, MemoryClass::kHybrid), {});
  auto generation = *bench.scheduler.Submit(Several(Text(3000), 5, 1000));
  bench.scheduler.Step();
  generation->Cancel();
  while (bench.scheduler.Step()) {
  }
  const auto answers = AnswersOf(generation.get());
  ASSERT_EQ(answers.size(), 5u);
  for (const auto& [index, answer] : answers) {
    EXPECT_EQ(answer.end.reason, FinishReason::kCancelled);
  }
}

TEST(SeveralAnswers, AFailureOfTheFirstLetsTheOthersBegin) {
  Bench bench(Slots(2, MemoryClass::kHybrid), {});
  bench.engine.FailNextDecodes(1);
  auto generation = *bench.scheduler.Submit(Several(Text(300), 3));
  while (bench.scheduler.Step()) {
  }
  const auto answers = AnswersOf(generation.get());
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers.at(0).end.kind, GenerationEvent::Kind::kFailed);
  EXPECT_EQ(answers.at(1).end.kind, GenerationEvent::Kind::kDone);
  EXPECT_EQ(answers.at(2).text, answers.at(1).text);
}

TEST(SeveralAnswers, AllOrNoneFindRoomInTheQueue) {
  SchedulerOptions options;
  options.queue_limit = 4;
  Bench bench(Slots(1, MemoryClass::kHybrid), options);
  const auto too_many = bench.scheduler.Submit(Several(Text(10), 5));
  ASSERT_FALSE(too_many.has_value());
  EXPECT_EQ(too_many.error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(bench.scheduler.Submit(Several(Text(10), 3)).has_value());
  const auto full = bench.scheduler.Submit(Several(Text(10), 2));
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(bench.scheduler.stats().open.waiting, 3u);
}

TEST(Logprobs, ComeWithTheTextAndOnlyWhenAskedFor) {
  Bench bench;
  GenerationRequest request = Bench::Request(Text(100), 5);
  auto without = *bench.scheduler.Submit(request);
  request.params.logprobs = 3;
  auto with = *bench.scheduler.Submit(request);
  while (bench.scheduler.Step()) {
  }
  while (auto event = without->Next(std::chrono::milliseconds(0))) {
    EXPECT_TRUE(event->logprobs.empty());
  }
  size_t tokens = 0;
  while (auto event = with->Next(std::chrono::milliseconds(0))) {
    std::string bytes;
    for (const TokenLogprob& logprob : event->logprobs) {
      bytes += logprob.sampled.bytes;
      ASSERT_EQ(logprob.top.size(), 3u);
      // FakeEngine samples the likeliest token.
      EXPECT_EQ(logprob.top[0].token, logprob.sampled.token);
      EXPECT_EQ(logprob.top[0].logprob, logprob.sampled.logprob);
      EXPECT_LE(logprob.sampled.logprob, 0);
      EXPECT_GE(logprob.top[0].logprob, logprob.top[1].logprob);
      ++tokens;
    }
    EXPECT_EQ(bytes, event->text);
  }
  EXPECT_EQ(tokens, 5u);
}

}  // namespace
}  // namespace cairn
