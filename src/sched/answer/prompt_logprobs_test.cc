// Requests for the log-probabilities of a prompt's tokens.

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "testing/sched/scheduler_fixture.h"

namespace cairn::prompt_logprobs_test {
namespace {

using test::Bench;
using test::Join;
using test::kClasses;
using test::Slots;
using test::Text;
using test::TokensOf;

GenerationRequest Scored(Tokens prompt, size_t tokens_max = 0) {
  GenerationRequest request = Bench::Request(std::move(prompt), tokens_max);
  request.params.prompt_logprobs = 2;
  return request;
}

// The log-probabilities of the prompt, and all events in order.
struct Told {
  std::vector<TokenLogprob> prompt;
  std::vector<GenerationEvent> events;
};

Told Ask(Bench* bench, GenerationRequest request) {
  auto generation = *bench->scheduler.Submit(std::move(request));
  while (bench->scheduler.Step()) {
  }
  Told told;
  while (auto event = generation->Next(std::chrono::milliseconds(0))) {
    if (event->kind == GenerationEvent::Kind::kProgress) continue;
    for (const TokenLogprob& one : event->prompt_logprobs) told.prompt.push_back(one);
    told.events.push_back(std::move(*event));
  }
  return told;
}

Tokens SampledOf(const std::vector<TokenLogprob>& logprobs) {
  Tokens tokens;
  for (const TokenLogprob& one : logprobs) tokens.push_back(one.sampled.token);
  return tokens;
}

std::vector<double> NumbersOf(const std::vector<TokenLogprob>& logprobs) {
  std::vector<double> numbers;
  for (const TokenLogprob& one : logprobs) numbers.push_back(one.sampled.logprob);
  return numbers;
}

TEST(PromptLogprobs, AreThoseOfEachTokenAfterTheFirst) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    // Several chunks; the last token is alone in the last one.
    const Tokens prompt = Join(Text(702), TokensOf("abc"));
    Bench bench(memory_class);
    const Told told = Ask(&bench, Scored(prompt));
    EXPECT_EQ(SampledOf(told.prompt), Tokens(prompt.begin() + 1, prompt.end()));
    // Those of the last token are what the prompt without it ends with.
    Bench other(memory_class);
    GenerationRequest without = Bench::Request(Tokens(prompt.begin(), prompt.end() - 1), 1);
    without.params.logprobs = 2;
    const Told cold = Ask(&other, std::move(without));
    ASSERT_FALSE(cold.events.front().logprobs.empty());
    const TokenLogprob& expected = cold.events.front().logprobs.front();
    ASSERT_EQ(told.prompt.back().top.size(), 2u);
    EXPECT_EQ(told.prompt.back().top[0].token, expected.top[0].token);
    EXPECT_EQ(told.prompt.back().top[0].logprob, expected.top[0].logprob);
    EXPECT_LT(told.prompt.back().sampled.logprob, 0);
  }
}

TEST(PromptLogprobs, ComeBeforeTheTextAndOnce) {
  Bench bench;
  const Told told = Ask(&bench, Scored(Text(20), 4));
  ASSERT_GE(told.events.size(), 3u);
  EXPECT_EQ(told.events.front().prompt_logprobs.size(), 19u);
  EXPECT_TRUE(told.events.front().text.empty());
  for (size_t i = 1; i < told.events.size(); ++i) {
    EXPECT_TRUE(told.events[i].prompt_logprobs.empty());
  }
}

TEST(PromptLogprobs, AreTheSameWhateverIsCached) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(Slots(2, memory_class), {});
    const Tokens prompt = Join(Text(300), TokensOf("and so on"));
    const auto first = NumbersOf(Ask(&bench, Scored(prompt)).prompt);
    bench.Run(Bench::Request(prompt));
    const Told again = Ask(&bench, Scored(prompt));
    EXPECT_EQ(NumbersOf(again.prompt), first);
    EXPECT_EQ(again.events.back().cost.reused_tokens, 0u);
    // A request that does not ask for them reuses the prompt that was scored.
    EXPECT_GT(bench.Run(Bench::Request(Join(prompt, Text(40, 'z')))).end.cost.reused_tokens, 0u);
  }
}

TEST(PromptLogprobs, AreComputedOnceForSeveralAnswers) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(Slots(2, memory_class), {});
    GenerationRequest request = Scored(Text(500), 3);
    request.answers = 3;
    const Told told = Ask(&bench, std::move(request));
    EXPECT_EQ(told.prompt.size(), 499u);
    size_t prefilled = 0;
    for (const GenerationEvent& event : told.events) {
      if (event.kind == GenerationEvent::Kind::kDone) prefilled += event.cost.prefill_tokens();
    }
    EXPECT_EQ(prefilled, 500u);
  }
}

// lm-evaluation-harness asks for one token and drops the last entry of the list.
TEST(PromptLogprobs, TheTokenThatEndsAnAnswerHasOneWhereItIsAskedFor) {
  FakeEngineOptions options = Bench::EngineOptions(MemoryClass::kHybrid);
  options.end_one_in = 1;
  const auto ended = [&](bool end_logprob) {
    Bench bench(options, {});
    GenerationRequest request = Scored(Text(20), 1);
    request.params.logprobs = 1;
    request.params.end_logprob = end_logprob;
    std::vector<TokenLogprob> logprobs;
    for (const GenerationEvent& event : Ask(&bench, std::move(request)).events) {
      EXPECT_EQ(event.text, "");
      logprobs.insert(logprobs.end(), event.logprobs.begin(), event.logprobs.end());
    }
    return logprobs;
  };
  ASSERT_EQ(ended(true).size(), 1u);
  EXPECT_TRUE(FakeEngine(options).IsEndOfGeneration(ended(true).front().sampled.token));
  EXPECT_TRUE(ended(false).empty());
}

TEST(PromptLogprobs, OfAPromptOfOneTokenAreNone) {
  Bench bench;
  const Told told = Ask(&bench, Scored(Text(1), 1));
  EXPECT_TRUE(told.prompt.empty());
  EXPECT_EQ(told.events.back().kind, GenerationEvent::Kind::kDone);
}

TEST(AnswerTokens, ComeWithTheTextOfEachPieceAndTheRestAtTheEnd) {
  Bench bench;
  const Bench::Answer plain = bench.Run(Bench::Request(Text(20), 6));
  ASSERT_EQ(plain.text.size(), 6u);
  GenerationRequest request = Bench::Request(Text(20), 6);
  request.params.stop_texts = {plain.text.substr(3, 2)};
  const Told told = Ask(&bench, std::move(request));
  Tokens sent;
  std::string text;
  for (const GenerationEvent& event : told.events) {
    text += event.text;
    if (event.kind != GenerationEvent::Kind::kText) continue;
    sent.insert(sent.end(), event.tokens.begin(), event.tokens.end());
  }
  EXPECT_EQ(sent, TokensOf(text));
  EXPECT_EQ(told.events.back().stop_text, plain.text.substr(3, 2));
  EXPECT_EQ(Join(sent, told.events.back().tokens).size(), told.events.back().cost.generated_tokens);
}

}  // namespace
}  // namespace cairn::prompt_logprobs_test
