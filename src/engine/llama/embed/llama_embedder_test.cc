#include "engine/llama/embed/llama_embedder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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
    const auto vectors = loaded.embedder->Embed(text);
    ASSERT_TRUE(vectors.has_value()) << vectors.error().message;
    ASSERT_EQ(vectors->size(), 1u);
    const std::vector<float>& vector = vectors->front();
    EXPECT_EQ(vector.size(), loaded.engine->info().embedding_size);
    EXPECT_NEAR(Dot(vector, vector), 1, 1e-5);
    // The text between leaves no trace.
    const auto other = loaded.embedder->Embed(RandomPrompt(37, 2));
    ASSERT_TRUE(other.has_value());
    EXPECT_LT(Dot(vector, other->front()), 0.999999);
    EXPECT_EQ(*loaded.embedder->Embed(text), *vectors);
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

// Rows that no projector gave.
EncodedPiece Rows(const LlamaEngine& engine, size_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> number(0, 0.5F);
  EncodedPiece piece;
  piece.rows = piece.positions = rows;
  piece.embeddings.resize(rows * engine.info().embedding_size);
  for (float& value : piece.embeddings) value = number(random);
  return piece;
}

// As a projector of a model with M-RoPE lays out an image of 5 by 6 rows.
EncodedPiece RowsOfAnImage(const LlamaEngine& engine, uint64_t seed) {
  EncodedPiece piece = Rows(engine, 30, seed);
  piece.positions = 6;
  for (uint32_t i = 0; i < 30; ++i) piece.row_positions.push_back({0, i / 6, i % 6});
  return piece;
}

float Distance(const std::vector<float>& a, const std::vector<float>& b) {
  float distance = 0;
  for (size_t i = 0; i < a.size(); ++i) distance = std::max(distance, std::abs(a[i] - b[i]));
  return distance;
}

constexpr float kRounding = 1e-2F;  // the same tokens in another batch

TEST(LlamaEmbedder, AMediumIsATextsPartWithAVectorForEachRow) {
  for (const std::string architecture : {"llama", "gemma3", "lfm2", "qwen35"}) {
    SCOPED_TRACE(architecture);
    const Loaded loaded = Load(architecture, "none");
    const auto rows_of = [&](uint64_t seed) {
      return architecture == "qwen35" ? RowsOfAnImage(*loaded.engine, seed)
                                      : Rows(*loaded.engine, 30, seed);
    };
    const Tokens before = RandomPrompt(20, 1);
    const Tokens after = RandomPrompt(10, 2);
    const EncodedPiece rows = rows_of(3);
    const std::vector<TextPart> parts = {{before}, {{}, &rows}, {after}};
    const auto vectors = loaded.embedder->EmbedParts(parts);
    ASSERT_TRUE(vectors.has_value()) << vectors.error().message;
    ASSERT_EQ(vectors->size(), 60u);
    EXPECT_TRUE(*loaded.embedder->EmbedParts(parts) == *vectors);
    // The text before it does not see it, the text behind it does.
    const auto alone = *loaded.embedder->Embed(before);
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_LT(Distance((*vectors)[i], alone[i]), kRounding) << i;
    }
    const EncodedPiece others = rows_of(4);
    const std::vector<TextPart> other_parts = {{before}, {{}, &others}, {after}};
    EXPECT_GT(Distance(loaded.embedder->EmbedParts(other_parts)->back(), vectors->back()),
              10 * kRounding);
  }
}

// libllama pools the tokens of one batch, and a medium is a batch of its own.
TEST(LlamaEmbedder, AllTokensAndRowsOfATextWithAMediumCount) {
  const Tokens before = RandomPrompt(20, 5);
  const Tokens after = RandomPrompt(10, 6);
  const Loaded none = Load("llama", "none");
  const EncodedPiece rows = Rows(*none.engine, 30, 7);
  const std::vector<TextPart> parts = {{before}, {{}, &rows}, {after}};
  const TextVectors tokens = *none.embedder->EmbedParts(parts);
  std::vector<float> mean(tokens.front().size());
  for (const std::vector<float>& token : tokens) {
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += token[i] / 60;
  }
  const std::vector<std::pair<const char*, std::vector<float>>> wanted = {
      {"mean", mean}, {"cls", tokens.front()}, {"last", tokens.back()}};
  for (const auto& [pooling, vector] : wanted) {
    SCOPED_TRACE(pooling);
    const Loaded loaded = Load("llama", pooling);
    const auto pooled = loaded.embedder->EmbedParts(parts);
    ASSERT_TRUE(pooled.has_value()) << pooled.error().message;
    ASSERT_EQ(pooled->size(), 1u);
    const double length = std::sqrt(Dot(vector, vector));
    EXPECT_NEAR(Dot(pooled->front(), vector) / length, 1, 1e-4);
    // A text without media is pooled as before.
    EXPECT_EQ(*loaded.embedder->Embed(before), *Load("llama", pooling).embedder->Embed(before));
  }
}

TEST(LlamaEmbedder, RowsThatSeeEachOtherDo) {
  const Loaded loaded = Load("llama", "none");
  EncodedPiece rows = Rows(*loaded.engine, 30, 8);
  EncodedPiece other_end = rows;
  other_end.embeddings.back() += 5;
  const auto first = [&](const EncodedPiece& piece) {
    const TextPart part{{}, &piece};
    return loaded.embedder->EmbedParts({&part, 1})->front();
  };
  EXPECT_EQ(first(rows), first(other_end));
  rows.non_causal = other_end.non_causal = true;
  EXPECT_NE(first(rows), first(other_end));
}

TEST(LlamaEmbedder, RefusesRowsThatDoNotFit) {
  const Loaded loaded = Load("llama", "last");
  EncodedPiece rows = Rows(*loaded.engine, 30, 9);
  const TextPart part{{}, &rows};
  EXPECT_TRUE(loaded.embedder->EmbedParts({&part, 1}).has_value());
  rows.embeddings.pop_back();
  EXPECT_EQ(loaded.embedder->EmbedParts({&part, 1}).error().code, ErrorCode::kUnsupported);
  rows = Rows(*loaded.engine, loaded.embedder->tokens_max() + 1, 10);
  EXPECT_EQ(loaded.embedder->EmbedParts({&part, 1}).error().code, ErrorCode::kTooLong);
  rows = Rows(*loaded.engine, loaded.engine->chunk_tokens_max() + 1, 11);
  rows.non_causal = true;
  EXPECT_EQ(loaded.embedder->EmbedParts({&part, 1}).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace cairn
