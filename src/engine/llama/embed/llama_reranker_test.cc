#include "engine/llama/embed/llama_reranker.h"

#include <gtest/gtest.h>

#include "lab/maker/model_vocabulary.h"
#include "testing/engine/llama_fixture.h"

namespace cairn {
namespace {

// A synthetic qwen3 with a classification head.
class LlamaRerankerTest : public ::testing::Test {
 protected:
  LlamaRerankerTest() : options_(test::SmallOptions(Path())) {
    ModelShape shape;
    shape.architecture = "qwen3";
    shape.width = 64;
    shape.ranks = true;
    EXPECT_TRUE(WriteModel(*MakeRecipe(shape), Path(), {"q8_0", {}}).has_value());
    auto engine = LlamaEngine::Load(options_);
    EXPECT_TRUE(engine.has_value());
    if (engine) engine_ = std::move(*engine);
  }
  ~LlamaRerankerTest() override { std::filesystem::remove(Path()); }

  static std::string Path() {
    return testing::TempDir() + "cairn_" + std::to_string(getpid()) + "_rank.gguf";
  }

  const LlamaOptions options_;
  std::unique_ptr<LlamaEngine> engine_;
};

TEST_F(LlamaRerankerTest, ScoresATextTheSameWhateverCameBetween) {
  const auto reranker = LlamaReranker::Make(*engine_, options_);
  ASSERT_TRUE(reranker.has_value()) << reranker.error().message;
  EXPECT_EQ((*reranker)->layout().prompt_template, SyntheticRerankTemplate());
  const Tokens text = test::RandomPrompt(60, 1);
  const auto score = (*reranker)->Score(text);
  ASSERT_TRUE(score.has_value()) << score.error().message;
  const auto other = (*reranker)->Score(test::RandomPrompt(80, 2));
  ASSERT_TRUE(other.has_value());
  EXPECT_NE(*score, *other);
  EXPECT_EQ(*(*reranker)->Score(text), *score);
  // The probabilities of the two labels.
  EXPECT_GT(*score, 0);
  EXPECT_LT(*score, 1);
}

TEST_F(LlamaRerankerTest, RefusesWhatIsLongerThanTheContext) {
  const auto reranker = LlamaReranker::Make(*engine_, options_);
  ASSERT_TRUE(reranker.has_value());
  EXPECT_EQ((*reranker)->Score(test::RandomPrompt((*reranker)->tokens_max() + 1, 1)).error().code,
            ErrorCode::kTooLong);
}

TEST(LlamaReranker, NeedsAHead) {
  const LlamaOptions options = test::SmallOptions(test::MadeModel("qwen3"));
  const auto engine = LlamaEngine::Load(options);
  ASSERT_TRUE(engine.has_value());
  const auto reranker = LlamaReranker::Make(**engine, options);
  ASSERT_FALSE(reranker.has_value());
  EXPECT_EQ(reranker.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace cairn
