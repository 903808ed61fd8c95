#include "engine/embed/llama_embedder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "engine/embed/embedding_architectures.h"
#include "testing/engine/llama_fixture.h"

namespace cairn {
namespace {

using test::RandomPrompt;

struct Loaded {
  std::unique_ptr<LlamaEngine> engine;
  std::unique_ptr<LlamaEmbedder> embedder;
};

Loaded Load(const std::string& architecture, std::string_view pooling = "") {
  const LlamaOptions options = test::SmallOptions(test::MadeModel(architecture));
  Loaded loaded;
  auto engine = LlamaEngine::Load(options);
  EXPECT_TRUE(engine.has_value());
  loaded.engine = std::move(*engine);
  auto embedder = LlamaEmbedder::Make(*loaded.engine, options, pooling);
  EXPECT_TRUE(embedder.has_value());
  loaded.embedder = std::move(*embedder);
  return loaded;
}

double Dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

TEST(LlamaEmbedder, EveryArchitectureThatCanBeMadeGivesVectors) {
  for (const char* architecture :
       {"falcon-h1", "gemma3", "gpt-oss", "granitehybrid", "jamba", "lfm2", "llama", "mamba2",
        "nemotron_h", "qwen2vl", "qwen3", "qwen35", "qwen3vl"}) {
    SCOPED_TRACE(architecture);
    const Loaded loaded = Load(architecture);
    const Tokens text = RandomPrompt(100, 1);
    const auto vector = loaded.embedder->Embed(text);
    ASSERT_TRUE(vector.has_value()) << vector.error().message;
    EXPECT_EQ(vector->size(), loaded.engine->info().embedding_size);
    EXPECT_NEAR(Dot(*vector, *vector), 1, 1e-5);
    // The text between leaves no trace.
    const auto other = loaded.embedder->Embed(RandomPrompt(37, 2));
    ASSERT_TRUE(other.has_value());
    EXPECT_LT(Dot(*vector, *other), 0.999999);
    EXPECT_EQ(*loaded.embedder->Embed(text), *vector);
  }
}

TEST(LlamaEmbedder, PoolingDecidesWhatCounts) {
  const Tokens text = RandomPrompt(50, 3);
  Tokens other_end = text;
  other_end.back() = (other_end.back() + 1) % 256;
  const Loaded first = Load("llama", "cls");
  EXPECT_EQ(*first.embedder->Embed(text), *first.embedder->Embed(other_end));
  const Loaded last = Load("llama", "last");
  const auto vector = *last.embedder->Embed(text);
  EXPECT_NE(vector, *last.embedder->Embed(other_end));
  EXPECT_NE(vector, *Load("llama", "mean").embedder->Embed(text));
}

TEST(LlamaEmbedder, AnswersAreWrittenMeanwhileAsIfItWereNotThere) {
  const Loaded loaded = Load("qwen35");
  const Tokens prompt = RandomPrompt(700, 4);
  const auto alone = test::PrefillCold(loaded.engine.get(), prompt);
  const Tokens text = RandomPrompt(90, 5);
  const auto vector = *loaded.embedder->Embed(text);
  std::thread embedding([&] {
    for (int i = 0; i < 10; ++i) EXPECT_EQ(*loaded.embedder->Embed(text), vector);
  });
  EXPECT_EQ(test::PrefillCold(loaded.engine.get(), prompt), alone);
  embedding.join();
}

TEST(LlamaEmbedder, RefusesWhatItCannotDoBeforeLibllamaSeesIt) {
  const Loaded loaded = Load("llama");
  EXPECT_EQ(loaded.embedder->Embed({}).error().code, ErrorCode::kInvalidArgument);
  const Tokens full = RandomPrompt(loaded.embedder->tokens_max(), 6);
  EXPECT_TRUE(loaded.embedder->Embed(full).has_value());
  const Tokens long_text = RandomPrompt(loaded.embedder->tokens_max() + 1, 6);
  EXPECT_EQ(loaded.embedder->Embed(long_text).error().code, ErrorCode::kTooLong);
  const LlamaOptions options = test::SmallOptions(test::MadeModel("llama"));
  const auto unknown = LlamaEmbedder::Make(*loaded.engine, options, "median");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(EmbedsTexts("llama"));
  EXPECT_FALSE(EmbedsTexts("deepseek4"));
  EXPECT_FALSE(EmbedsTexts("an-architecture-of-tomorrow"));
}

}  // namespace
}  // namespace cairn
