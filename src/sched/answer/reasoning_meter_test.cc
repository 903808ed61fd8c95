#include "sched/answer/reasoning_meter.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "testing/sched/scheduler_fixture.h"

namespace cairn {
namespace {

using test::Bench;
using test::Slots;
using test::Text;

ReasoningParams Tagged(std::optional<size_t> tokens_max = {}, bool starts_inside = false) {
  return {.open = "<think>",
          .closes = {"</think>"},
          .starts_inside = starts_inside,
          .tokens_max = tokens_max,
          .closing = "</think>"};
}

ReasoningParams Channels(std::optional<size_t> tokens_max = {}) {
  return {.open = "<|channel|>analysis<|message|>",
          .closes = {"<|end|>", "<|start|>"},
          .anywhere = true,
          .tokens_max = tokens_max,
          .closing = "<|end|><|start|>assistant",
          .closing_again = "<|end|><|start|>assistant<|channel|>final<|message|>"};
}

size_t Counted(const ReasoningParams& params, const std::vector<std::string>& tokens) {
  const FakeEngine engine({});
  ReasoningMeter meter(params, &engine);
  for (const std::string& token : tokens) meter.Add(token);
  return meter.tokens();
}

TEST(ReasoningMeter, CountsTheTokensBetweenTheTags) {
  EXPECT_EQ(Counted(Tagged(), {"<think>", "Let", " me", " see", "</think>", "Yes"}), 3u);
  EXPECT_EQ(Counted(Tagged(), {"\n", " ", "<think>", "a", "</think>"}), 1u);
  EXPECT_EQ(Counted(Tagged({}, true), {"a", "b", "</think>", "c"}), 2u);
  EXPECT_EQ(Counted(Tagged({}, true), {"</think>", "c"}), 0u);
  EXPECT_EQ(Counted(Tagged(), {"<think>", "not", " closed"}), 2u);
  // Control tokens in the middle have no text.
  EXPECT_EQ(Counted(Tagged(), {"<think>", "a", "", "", "</think>", "", "b"}), 3u);
}

TEST(ReasoningMeter, CountsATagThatLiesAcrossTokens) {
  EXPECT_EQ(Counted(Tagged(), {"<", "th", "ink", ">", "a", "b", "</", "think", ">", "c"}), 2u);
  // A token counts by where it begins.
  EXPECT_EQ(Counted(Tagged(), {"<think>a", "b", "c</", "think>d", "e"}), 2u);
  EXPECT_EQ(Counted(Tagged(), {"<think>", "</", "thin", " no", "</", "think>"}), 3u);
}

TEST(ReasoningMeter, TakesAnAnswerWithoutReasoningAsThat) {
  EXPECT_EQ(Counted(Tagged(), {"Yes", "<think>", "a", "</think>"}), 0u);
  EXPECT_EQ(Counted(Tagged(), {"<thin", "g>", "a"}), 0u);
  EXPECT_EQ(Counted({}, {"<think>", "a", "</think>"}), 0u);
  EXPECT_EQ(Counted(Tagged(), {"<think>", "a", "</think>", "<think>", "b", "</think>"}), 1u);
}

TEST(ReasoningMeter, CountsEveryMessageOfAChannel) {
  EXPECT_EQ(
      Counted(Channels(), {"<|channel|>", "analysis", "<|message|>", "a", "b", "<|end|>",
                           "<|start|>", "assistant", "<|channel|>", "final", "<|message|>", "c"}),
      2u);
  EXPECT_EQ(Counted(Channels(), {"<|channel|>analysis<|message|>", "a", "<|end|>", "x",
                                 "<|channel|>analysis<|message|>", "b", "<|start|>"}),
            2u);
}

// FakeEngine's tokens are bytes.
std::string Forced(ReasoningMeter* meter) {
  std::string text;
  while (const auto token = meter->Forced()) {
    text += static_cast<char>(*token);
    meter->Add(std::string(1, static_cast<char>(*token)));
  }
  return text;
}

TEST(ReasoningMeter, ClosesReasoningWhenItsBudgetIsSpent) {
  const FakeEngine engine({});
  ReasoningMeter meter(Tagged(2), &engine);
  for (const char* text : {"<think>", "a"}) meter.Add(text);
  EXPECT_EQ(meter.Forced(), std::nullopt);
  meter.Add("b");
  EXPECT_EQ(Forced(&meter), "</think>");
  meter.Add("c");
  EXPECT_EQ(meter.Forced(), std::nullopt);
  EXPECT_EQ(meter.tokens(), 2u);
}

TEST(ReasoningMeter, ClosesAtOnceWithABudgetOfZero) {
  const FakeEngine engine({});
  ReasoningMeter inside(Tagged(0, true), &engine);
  EXPECT_EQ(Forced(&inside), "</think>");
  ReasoningMeter opened(Tagged(0), &engine);
  EXPECT_EQ(opened.Forced(), std::nullopt);
  opened.Add("<think>");
  EXPECT_EQ(Forced(&opened), "</think>");
  EXPECT_EQ(opened.tokens(), 0u);
}

TEST(ReasoningMeter, PutsTheMessageBeforeTheClosingTag) {
  const FakeEngine engine({});
  ReasoningParams params = Tagged(1, true);
  params.message = "\nTime is up.\n";
  ReasoningMeter meter(params, &engine);
  meter.Add("a");
  EXPECT_EQ(Forced(&meter), "\nTime is up.\n</think>");
  EXPECT_EQ(meter.tokens(), 1u + params.message.size());
}

TEST(ReasoningMeter, CompletesATagThatTheModelHasBegun) {
  const FakeEngine engine({});
  ReasoningMeter meter(Tagged(3, true), &engine);
  for (const char* text : {"a", "<", "/"}) meter.Add(text);
  EXPECT_EQ(Forced(&meter), "think>");
  EXPECT_EQ(meter.tokens(), 1u);
}

TEST(ReasoningMeter, EndsAChannelThatIsOpenedAgainWithTheFinalOne) {
  const FakeEngine engine({});
  ReasoningMeter meter(Channels(1), &engine);
  for (const char* text : {"<|channel|>analysis<|message|>", "a"}) meter.Add(text);
  EXPECT_EQ(Forced(&meter), "<|end|><|start|>assistant");
  meter.Add("<|channel|>analysis<|message|>");
  EXPECT_EQ(Forced(&meter), "<|end|><|start|>assistant<|channel|>final<|message|>");
  meter.Add("yes");
  EXPECT_EQ(meter.Forced(), std::nullopt);
  EXPECT_EQ(meter.tokens(), 1u);
}

TEST(ReasoningMeter, ForcesNoMoreWhenItCannot) {
  const FakeEngine engine({});
  ReasoningMeter meter(Tagged(1, true), &engine);
  meter.Add("a");
  ASSERT_TRUE(meter.Forced().has_value());
  meter.StopForcing();
  EXPECT_EQ(meter.Forced(), std::nullopt);
  meter.Add("b");
  EXPECT_EQ(meter.Forced(), std::nullopt);
  EXPECT_EQ(meter.tokens(), 2u);
}

TEST(ReasoningMeter, HoldsEveryBudgetToTheTokenHoweverAnAnswerIsCut) {
  const std::vector<std::string> atoms = {"<", "/", "think", ">", "a", " ", "</thi", "nk>", ""};
  std::mt19937 random(7);
  const FakeEngine engine({});
  for (int round = 0; round < 3000; ++round) {
    const size_t budget = random() % 6;
    ReasoningMeter meter(Tagged(budget, true), &engine);
    std::string text;
    size_t forced = 0;
    for (int i = 0; i < 20 && text.find("</think>") == std::string::npos; ++i) {
      const auto token = meter.Forced();
      forced += token ? 1 : 0;
      const std::string next =
          token ? std::string(1, static_cast<char>(*token)) : atoms[random() % atoms.size()];
      meter.Add(next);
      text += next;
    }
    ASSERT_NE(text.find("</think>"), std::string::npos) << text;
    ASSERT_LE(meter.tokens(), budget) << text;
    // Forced tokens are the tag's, so nothing is cut short of its budget but by the model.
    ASSERT_LE(forced, 8u) << text;
  }
}

// On the scheduler, with FakeEngine, whose answers are random bytes.

GenerationRequest Reasoned(size_t budget, size_t tokens_max = 40) {
  GenerationRequest request = Bench::Request(Text(200), tokens_max);
  request.params.reasoning = Tagged(budget, true);
  return request;
}

TEST(ReasoningBudget, IsKeptToTheTokenInTheScheduler) {
  for (const MemoryClass memory_class : test::kClasses) {
    for (const size_t budget : {0, 1, 7, 25}) {
      SCOPED_TRACE(std::string(MemoryClassName(memory_class)) + " " + std::to_string(budget));
      Bench bench(memory_class);
      const auto answer = bench.Run(Reasoned(budget));
      EXPECT_EQ(answer.end.cost.reasoning_tokens, budget);
      EXPECT_EQ(answer.end.cost.generated_tokens, 40u);
      EXPECT_NE(answer.text.find("</think>"), std::string::npos);
    }
  }
}

TEST(ReasoningBudget, IsEachAnswersOwn) {
  Bench bench(Slots(2, MemoryClass::kHybrid), {});
  GenerationRequest request = Reasoned(9);
  request.answers = 4;
  auto generation = *bench.scheduler.Submit(std::move(request));
  while (bench.scheduler.Step()) {
  }
  std::map<size_t, size_t> counted;
  while (auto event = generation->Next(std::chrono::milliseconds(0))) {
    counted[event->answer] = event->cost.reasoning_tokens;
  }
  EXPECT_EQ(counted, (std::map<size_t, size_t>{{0, 9}, {1, 9}, {2, 9}, {3, 9}}));
}

TEST(ReasoningBudget, EndsWithTheAnswersOwnLimit) {
  Bench bench;
  const auto cut = bench.Run(Reasoned(5, 8));
  EXPECT_EQ(cut.end.reason, FinishReason::kLength);
  EXPECT_EQ(cut.end.cost.generated_tokens, 8u);
  EXPECT_TRUE(cut.text.ends_with("</t")) << cut.text;
}

TEST(ReasoningBudget, ChangesNothingBeforeItIsSpent) {
  Bench bench;
  GenerationRequest free = Reasoned(0, 12);
  free.params.reasoning.tokens_max.reset();
  const auto without = bench.Run(std::move(free));
  Bench other;
  const auto with = other.Run(Reasoned(12, 12));
  EXPECT_EQ(with.text, without.text);
  EXPECT_EQ(without.end.cost.reasoning_tokens, 12u);
}

}  // namespace
}  // namespace cairn
