// Answers longer than their context, and prompts with a part at another position, on the real
// libllama.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "engine/llama/llama_engine.h"
#include "sched/scheduler.h"
#include "testing/engine/test_models.h"

namespace cairn {
namespace {

constexpr size_t kContext = 512;

struct Answer {
  size_t tokens = 0;
  GenerationEvent end;
};

class ContextShiftLlama : public ::testing::Test {
 protected:
  void Load(const std::string& architecture, SchedulerOptions options) {
    LlamaOptions llama = test::SmallOptions(test::MadeModel(architecture));
    llama.context_tokens = kContext;
    auto engine = LlamaEngine::Load(llama);
    ASSERT_TRUE(engine.has_value()) << engine.error().message;
    engine_ = std::move(*engine);
    cache_ = std::make_unique<CheckpointCache>(CacheOptions{}, *MakePlacement("near-end"),
                                               *MakeEviction("lru"), MakeRamStore());
    scheduler_ = std::make_unique<Scheduler>(engine_.get(), cache_.get(), &clock_, options);
  }

  Answer Ask(Tokens prompt, size_t tokens_max) {
    GenerationRequest request;
    request.shape.tokens = prompt.size();
    request.prompt = std::move(prompt);
    request.params.tokens_max = tokens_max;
    request.params.ignore_end = true;
    request.params.sampling.temperature = 0;
    const auto generation = scheduler_->Submit(std::move(request));
    EXPECT_TRUE(generation.has_value());
    while (scheduler_->Step()) {
    }
    Answer answer;
    while (auto event = (*generation)->Next(std::chrono::milliseconds(0))) answer.end = *event;
    EXPECT_EQ(answer.end.kind, GenerationEvent::Kind::kDone) << answer.end.error.message;
    answer.tokens = answer.end.cost.generated_tokens;
    return answer;
  }

  static Tokens RandomPrompt(size_t tokens, uint64_t seed) {
    std::mt19937_64 random(seed);
    Tokens prompt(tokens);
    for (Token& token : prompt) token = static_cast<Token>(random() % 256);
    return prompt;
  }
  static Tokens Joined(Tokens a, const Tokens& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  const SteadyClock clock_;
  std::unique_ptr<LlamaEngine> engine_;
  std::unique_ptr<CheckpointCache> cache_;
  std::unique_ptr<Scheduler> scheduler_;
};

TEST_F(ContextShiftLlama, AnAnswerGoesOnPastTheEndOfItsContext) {
  SchedulerOptions options;
  options.context_shift = true;
  Load("llama", options);
  const Tokens prompt = RandomPrompt(300, 1);
  const Answer answer = Ask(prompt, 700);
  EXPECT_EQ(answer.tokens, 700u);
  EXPECT_FALSE(answer.end.context_full);
  EXPECT_GT(answer.end.cost.shifted_tokens, 400u);
  // The server still answers.
  EXPECT_EQ(Ask(RandomPrompt(200, 2), 20).tokens, 20u);
}

TEST_F(ContextShiftLlama, EndsThereWhereTheMemoryCannotBeMoved) {
  SchedulerOptions options;
  options.context_shift = true;
  Load("qwen35", options);
  const Answer answer = Ask(RandomPrompt(300, 1), 700);
  EXPECT_EQ(answer.tokens, kContext - 300);
  EXPECT_TRUE(answer.end.context_full);
}

TEST_F(ContextShiftLlama, MovedChunksAreReused) {
  SchedulerOptions options;
  options.slots.move_tokens_min = 64;
  Load("llama", options);
  const Tokens header = RandomPrompt(100, 1);
  const Tokens rest = RandomPrompt(200, 3);
  Ask(Joined(Joined(header, RandomPrompt(80, 2)), rest), 8);
  const Answer moved = Ask(Joined(Joined(header, rest), RandomPrompt(30, 4)), 8);
  EXPECT_EQ(moved.end.cost.reused_tokens, 300u);
  EXPECT_EQ(moved.tokens, 8u);
}

}  // namespace
}  // namespace cairn
