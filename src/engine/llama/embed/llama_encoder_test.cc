// Encoders, and what libllama computes of the same tokens where it is used directly.

#include <gtest/gtest.h>
#include <llama.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/embed/embedding_architectures.h"
#include "engine/llama/embed/llama_embedder.h"
#include "engine/llama/embed/llama_reranker.h"
#include "engine/llama/model/llama_pointers.h"
#include "lab/maker/encoder_recipe.h"
#include "testing/engine/llama_fixture.h"

namespace cairn::llama_encoder_test {
namespace {

LlamaOptions Options(const std::string& path, size_t ubatch_tokens = 128) {
  LlamaOptions options = test::SmallOptions(path);
  options.ubatch_tokens = ubatch_tokens;
  return options;
}

std::unique_ptr<LlamaEngine> Load(const LlamaOptions& options) {
  auto engine = LlamaEngine::Load(options, ModelKinds::kAll);
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

// Words of letters, so that every model of our maker has tokens for them.
Tokens TextOf(const Engine& engine, size_t words) {
  std::string text;
  for (size_t i = 0; i < words; ++i) {
    text += "the pile of ";
    text += static_cast<char>('a' + i * 7 % 26);
    text += i % 5 == 0 ? "! " : " ";
  }
  const auto tokens = engine.Tokenize(text, true, false);
  EXPECT_TRUE(tokens.has_value());
  return *tokens;
}

// libllama's vectors of a text.
TextVectors Direct(const std::string& path, enum llama_pooling_type pooling, const Tokens& tokens,
                   size_t size) {
  const LlamaModelPtr model(llama_model_load_from_file(path.c_str(), llama_model_default_params()));
  llama_context_params params = llama_context_default_params();
  params.n_ctx = params.n_batch = params.n_ubatch = static_cast<uint32_t>(tokens.size());
  params.n_threads = params.n_threads_batch = 1;
  params.embeddings = true;
  params.pooling_type = pooling;
  const LlamaContextPtr context(llama_init_from_model(model.get(), params));
  const auto count = static_cast<int32_t>(tokens.size());
  llama_batch batch = llama_batch_init(count, 0, 1);
  batch.n_tokens = count;
  for (int32_t i = 0; i < count; ++i) {
    batch.token[i] = tokens[static_cast<size_t>(i)];
    batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  EXPECT_EQ(llama_decode(context.get(), batch), 0);
  llama_batch_free(batch);
  TextVectors vectors;
  const bool pools = pooling != LLAMA_POOLING_TYPE_NONE;
  for (int32_t i = 0; i < (pools ? 1 : count); ++i) {
    const float* numbers = pools ? llama_get_embeddings_seq(context.get(), 0)
                                 : llama_get_embeddings_ith(context.get(), i);
    vectors.emplace_back(numbers, numbers + size);
  }
  return vectors;
}

double Cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double product = 0;
  double of_a = 0;
  double of_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += static_cast<double>(a[i]) * b[i];
    of_a += static_cast<double>(a[i]) * a[i];
    of_b += static_cast<double>(b[i]) * b[i];
  }
  return product / std::sqrt(of_a * of_b);
}

struct Pooling {
  const char* name;
  enum llama_pooling_type type;
};
constexpr Pooling kPoolings[] = {{"mean", LLAMA_POOLING_TYPE_MEAN},
                                 {"cls", LLAMA_POOLING_TYPE_CLS},
                                 {"last", LLAMA_POOLING_TYPE_LAST},
                                 {"none", LLAMA_POOLING_TYPE_NONE}};

TEST(LlamaEncoder, EveryOneGivesTheVectorsOfLibllama) {
  for (const std::string& architecture : KnownEncoders()) {
    SCOPED_TRACE(architecture);
    EXPECT_TRUE(IsEncoder(architecture));
    const LlamaOptions options = Options(test::MadeModel(architecture));
    const auto engine = Load(options);
    ASSERT_NE(engine, nullptr);
    const Tokens text = TextOf(*engine, 20);
    for (const Pooling& pooling : kPoolings) {
      SCOPED_TRACE(pooling.name);
      const auto embedder = LlamaEmbedder::Make(*engine, options, pooling.name);
      ASSERT_TRUE(embedder.has_value()) << embedder.error().message;
      const auto vectors = (*embedder)->Embed(text);
      ASSERT_TRUE(vectors.has_value()) << vectors.error().message;
      const TextVectors wanted =
          Direct(options.model_path, pooling.type, text, (*embedder)->size());
      ASSERT_EQ(vectors->size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_NEAR(Cosine((*vectors)[i], wanted[i]), 1, 1e-6);
      }
      if (!(*embedder)->pools()) {
        EXPECT_EQ(*vectors, wanted);
      }
      ASSERT_TRUE((*embedder)->Embed(TextOf(*engine, 7)).has_value());
      EXPECT_EQ(*(*embedder)->Embed(text), *vectors);
    }
  }
}

// Texts of many lengths, one of them above the ubatch.
TEST(LlamaEncoder, TextsThatComeTogetherHaveTheVectorsOfEachAlone) {
  for (const std::string architecture : {"bert", "gemma-embedding", "modern-bert", "nomic-bert-moe",
                                         "t5encoder", "qwen3", "gemma3", "llama", "lfm2"}) {
    const LlamaOptions options = Options(test::MadeModel(architecture, 0, "f32"), 64);
    const auto engine = Load(options);
    ASSERT_NE(engine, nullptr);
    std::vector<Tokens> texts;
    for (const size_t words : {1u, 2u, 3u, 1u, 20u, 2u, 1u, 4u}) {
      texts.push_back(TextOf(*engine, words));
    }
    texts.push_back({7});
    const std::vector<TokenSpan> spans(texts.begin(), texts.end());
    for (const char* pooling : {"mean", "last", "none"}) {
      SCOPED_TRACE(architecture + " " + pooling);
      const auto embedder = LlamaEmbedder::Make(*engine, options, pooling);
      ASSERT_TRUE(embedder.has_value());
      const auto together = (*embedder)->EmbedAll(spans, nullptr);
      ASSERT_TRUE(together.has_value()) << together.error().message;
      ASSERT_EQ(together->size(), texts.size());
      for (size_t i = 0; i < texts.size(); ++i) {
        const TextVectors alone = *(*embedder)->Embed(texts[i]);
        ASSERT_EQ((*together)[i].size(), alone.size());
        for (size_t j = 0; j < alone.size(); ++j) {
          EXPECT_NEAR(Cosine((*together)[i][j], alone[j]), 1, 1e-5) << i << " " << j;
        }
      }
      EXPECT_EQ(*(*embedder)->EmbedAll(spans, nullptr), *together);
      EXPECT_EQ((*embedder)->counts().texts, 3 * texts.size());
      EXPECT_EQ((*embedder)->EmbedAll(spans, [] { return true; }).error().code,
                ErrorCode::kCancelled);
    }
  }
}

TEST(LlamaEncoder, PoolingIsThatOfTheFile) {
  const LlamaOptions options = Options(test::MadeModel("bert"));
  const auto engine = Load(options);
  ASSERT_NE(engine, nullptr);
  const Tokens text = TextOf(*engine, 9);
  const auto embed = [&](const char* pooling) {
    return *(*LlamaEmbedder::Make(*engine, options, pooling))->Embed(text);
  };
  EXPECT_EQ(embed(""), embed("cls"));
  EXPECT_NE(embed(""), embed("mean"));
}

TEST(LlamaEncoder, AHeadGivesTheScoresOfLibllama) {
  for (const std::string& architecture : KnownEncodersThatRank()) {
    SCOPED_TRACE(architecture);
    ModelShape shape;
    shape.architecture = architecture;
    shape.width = 64;
    shape.ranks = true;
    const std::string path =
        testing::TempDir() + "cairn_" + std::to_string(getpid()) + "_encoder_rank.gguf";
    ASSERT_TRUE(WriteModel(*MakeRecipe(shape), path, {"f16", {}}).has_value());
    const LlamaOptions options = Options(path);
    const auto engine = Load(options);
    ASSERT_NE(engine, nullptr);
    EXPECT_TRUE(LlamaReranker::IsMadeFor(*engine));
    const auto reranker = LlamaReranker::Make(*engine, options);
    ASSERT_TRUE(reranker.has_value()) << reranker.error().message;
    EXPECT_EQ((*reranker)->layout().before, (Tokens{2}));  // [CLS]
    EXPECT_EQ((*reranker)->layout().after, (Tokens{3}));   // [SEP]
    EXPECT_FALSE((*reranker)->layout().between.empty());
    const Tokens text = TextOf(*engine, 11);
    const auto score = (*reranker)->Score(text);
    ASSERT_TRUE(score.has_value()) << score.error().message;
    EXPECT_NEAR(*score, Direct(path, LLAMA_POOLING_TYPE_RANK, text, 1).front().front(), 1e-5);
    EXPECT_NE(*score, *(*reranker)->Score(TextOf(*engine, 12)));
    std::filesystem::remove(path);
  }
}

TEST(LlamaEncoder, AUnigramVocabularySurroundsAndSeparatesTexts) {
  ModelShape shape;
  shape.architecture = "bert";
  shape.width = 64;
  shape.ranks = shape.unigram = true;
  const std::string path =
      testing::TempDir() + "cairn_" + std::to_string(getpid()) + "_unigram.gguf";
  ASSERT_TRUE(WriteModel(*MakeRecipe(shape), path, {"f16", {}}).has_value());
  const LlamaOptions options = Options(path);
  const auto engine = Load(options);
  ASSERT_NE(engine, nullptr);
  const Tokens text = *engine->Tokenize("the ing", true, false);
  EXPECT_EQ(text, (Tokens{0, 6, 5, 16, 2}));  // <s> _the _ ing </s>
  const auto reranker = LlamaReranker::Make(*engine, options);
  ASSERT_TRUE(reranker.has_value()) << reranker.error().message;
  EXPECT_EQ((*reranker)->layout().before, (Tokens{0}));
  EXPECT_EQ((*reranker)->layout().after, (Tokens{2}));
  EXPECT_TRUE((*reranker)->Score(text).has_value());
  std::filesystem::remove(path);
}

TEST(LlamaEncoder, ATextAboveTheUbatchIsReadWhole) {
  for (const char* architecture : {"bert", "modern-bert"}) {
    SCOPED_TRACE(architecture);
    const std::string& path = test::MadeModel(architecture);
    const LlamaOptions narrow = Options(path, 32);
    const LlamaOptions wide = Options(path, 512);
    const auto engine = Load(narrow);
    const auto other = Load(wide);
    ASSERT_TRUE(engine != nullptr && other != nullptr);
    // Where positions are learned the context is that of the training, though 4,096 were asked for.
    EXPECT_EQ(engine->context_tokens(), std::string(architecture) == "bert" ? 512u : 4096u);
    const auto embedder = LlamaEmbedder::Make(*engine, narrow, "");
    const auto with_room = LlamaEmbedder::Make(*other, wide, "");
    ASSERT_TRUE(embedder.has_value() && with_room.has_value());
    for (const size_t words : {2u, 30u, 4u, 45u}) {
      const Tokens text = TextOf(*engine, words);
      const auto vector = (*embedder)->Embed(text);
      const auto wanted = (*with_room)->Embed(text);
      ASSERT_TRUE(vector.has_value() && wanted.has_value()) << text.size();
      EXPECT_NEAR(Cosine(vector->front(), wanted->front()), 1, 1e-6) << text.size();
    }
    const auto refused = (*embedder)->Embed(TextOf(*engine, 2000));
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kTooLong);
  }
}

TEST(LlamaEncoder, ADecodersTextAboveTheUbatchIsReadWholeToo) {
  const std::string& path = test::MadeModel("qwen3", 0, "f32");
  const LlamaOptions narrow = Options(path, 64);
  const LlamaOptions wide = Options(path, 1024);
  const auto engine = Load(narrow);
  const auto other = Load(wide);
  ASSERT_TRUE(engine != nullptr && other != nullptr);
  const Tokens text = test::RandomPrompt(700, 1);
  for (const char* pooling : {"last", "mean"}) {
    SCOPED_TRACE(pooling);
    const auto vector = (*LlamaEmbedder::Make(*engine, narrow, pooling))->Embed(text);
    const auto wanted = (*LlamaEmbedder::Make(*other, wide, pooling))->Embed(text);
    ASSERT_TRUE(vector.has_value() && wanted.has_value());
    EXPECT_NEAR(Cosine(vector->front(), wanted->front()), 1, 1e-5);
  }
}

TEST(LlamaEncoder, IsLetInOnlyWhereItIsAskedFor) {
  const auto engine = LlamaEngine::Load(Options(test::MadeModel("bert")));
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(engine.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(engine.error().message.find("encoder"), std::string::npos);
}

}  // namespace
}  // namespace cairn::llama_encoder_test
