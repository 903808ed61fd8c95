// LoRA adapters of synthetic models on libllama: a set changes answers, another set changes them
// otherwise, and a set's answers are the same whatever set was in use before.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/llama/llama_engine.h"
#include "lab/maker/llama_model_maker.h"

namespace cairn {
namespace {

class LlamaAdaptersTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ModelShape shape;
    shape.architecture = GetParam();
    const auto recipe = MakeRecipe(shape);
    ASSERT_TRUE(recipe.has_value());
    ASSERT_TRUE(WriteModel(*recipe, model_, {}).has_value());
    for (size_t i = 0; i < 2; ++i) {
      const Status made = WriteAdapter(*recipe, {.seed = i + 1}, adapters_[i]);
      ASSERT_TRUE(made.has_value()) << made.error().message;
    }
  }
  ~LlamaAdaptersTest() override {
    unlink(model_.c_str());
    for (const std::string& adapter : adapters_) unlink(adapter.c_str());
  }
  LlamaOptions Options() const {
    LlamaOptions options;
    options.model_path = model_;
    options.context_tokens = 512;
    options.threads = 1;
    options.grid_tokens = 64;
    options.adapters = {{adapters_[0], 0}, {adapters_[1], 0}};
    return options;
  }
  // Greedy tokens after a prompt, computed with the set.
  static Tokens Answer(Engine* engine, AdapterSets::Number set) {
    engine->Clear(0);
    EXPECT_TRUE(engine->UseAdapters(set).has_value());
    Tokens all = *engine->Tokenize("The quick brown fox jumps over the lazy dog", true, true);
    EXPECT_TRUE(engine->Decode(0, 0, all).has_value());
    Tokens answer;
    for (int i = 0; i < 12; ++i) {
      const auto logits = engine->Logits();
      const auto best =
          static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
      answer.push_back(best);
      EXPECT_TRUE(engine->Decode(0, all.size(), {&best, 1}).has_value());
      all.push_back(best);
    }
    return answer;
  }

  const std::string base_ = testing::TempDir() + "cairn_" + std::to_string(getpid()) + "_adapters";
  const std::string model_ = base_ + ".gguf";
  const std::vector<std::string> adapters_ = {base_ + "_0.gguf", base_ + "_1.gguf"};
};

TEST_P(LlamaAdaptersTest, EachSetHasAnswersOfItsOwnWhateverWasInUseBefore) {
  auto engine = LlamaEngine::Load(Options());
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  AdapterSets* const sets = (*engine)->adapter_sets();
  ASSERT_NE(sets, nullptr);
  EXPECT_EQ(sets->adapters()[0].digest.size(), 32u);
  EXPECT_NE(sets->adapters()[0].digest, sets->adapters()[1].digest);
  std::vector<AdapterSets::Number> numbers = {0};
  for (const AdapterScales& scales : std::vector<AdapterScales>{{1, 0}, {0, 1}, {1, 1}, {0.5, 0}})
    numbers.push_back(*sets->SetOf(scales));
  std::vector<Tokens> answers;
  for (const auto number : numbers) answers.push_back(Answer(engine->get(), number));
  for (size_t i = 0; i < answers.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(answers[i], answers[j]) << i << " " << j;
  }
  for (size_t i = numbers.size(); i-- > 0;)
    EXPECT_EQ(Answer(engine->get(), numbers[i]), answers[i]) << i;

  LlamaOptions plain = Options();
  plain.adapters.clear();
  const auto without = LlamaEngine::Load(plain);
  EXPECT_EQ(Answer(without->get(), 0), answers[0]);
  EXPECT_EQ(*(*without)->StateIdentity(), *(*engine)->StateIdentity());
}

TEST_P(LlamaAdaptersTest, AStartAppliesItsScalesAndWakesWithThem) {
  LlamaOptions options = Options();
  options.adapters[1].scale = 1;
  options.may_sleep = true;
  auto engine = LlamaEngine::Load(options);
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  const Tokens applied = Answer(engine->get(), 0);
  const auto none = *(*engine)->adapter_sets()->SetOf({0, 0});
  EXPECT_NE(Answer(engine->get(), none), applied);
  ASSERT_TRUE((*engine)->Sleep().has_value());
  ASSERT_TRUE((*engine)->Wake().has_value());
  EXPECT_EQ(Answer(engine->get(), 0), applied);
}

TEST_P(LlamaAdaptersTest, AnAdapterThatIsNoneOrAnotherModelsIsRefused) {
  LlamaOptions options = Options();
  options.adapters[0].path = model_;
  const auto wrong = LlamaEngine::Load(options);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message.find("cannot load the LoRA adapter"), std::string::npos)
      << wrong.error().message;
  options.adapters[0].path = base_ + "_missing.gguf";
  EXPECT_FALSE(LlamaEngine::Load(options).has_value());
}

INSTANTIATE_TEST_SUITE_P(Models, LlamaAdaptersTest, ::testing::Values("llama", "qwen35", "gemma3"));

}  // namespace
}  // namespace cairn
