#include "api/ollama/ollama_embed.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/json.h"
#include "testing/engine/fake_engine.h"

namespace cairn::ollama_embed_test {
namespace {

// A vector of the first and the last token, and of how many there are.
class FakeEmbedder final : public Embedder {
 public:
  size_t size() const override { return 3; }
  size_t tokens_max() const override { return 4; }
  Result<TextVectors> Embed(TokenSpan tokens) override {
    return TextVectors{{static_cast<float>(tokens.front()), static_cast<float>(tokens.back()),
                        static_cast<float>(tokens.size())}};
  }
};

class OllamaEmbed : public ::testing::Test {
 protected:
  OllamaEmbed() { served_.alias = "m"; }

  ApiResult<std::string> Embed(const std::string& fields) {
    return OllamaEmbedBody({&engine_, embedder_, &served_, &clock_}, "{" + fields + "}",
                           [] { return false; });
  }
  ApiResult<std::string> EmbedOld(const std::string& fields) {
    return OllamaEmbeddingsBody({&engine_, embedder_, &served_, &clock_}, "{" + fields + "}",
                                [] { return false; });
  }
  std::string ErrorOf(const std::string& fields) {
    const auto body = Embed(R"("model":"m",)" + fields);
    return body ? "" : body.error().message;
  }

  FakeEngine engine_{FakeEngineOptions{}};
  FakeEmbedder fake_;
  Embedder* embedder_ = &fake_;
  ServedModel served_;
  SteadyClock clock_;
};

TEST_F(OllamaEmbed, GivesAVectorForEachText) {
  const Json answer = Json::parse(*Embed(R"("model":"m:latest","input":["abc","de"])"));
  EXPECT_EQ(answer["model"], "m:latest");
  EXPECT_EQ(answer["embeddings"],
            Json::array({Json::array({97, 99, 3}), Json::array({100, 101, 2})}));
  EXPECT_EQ(answer["prompt_eval_count"], 5);
  EXPECT_TRUE(answer["total_duration"].is_number_integer());
  const Json one = Json::parse(*Embed(R"("model":"m","input":"abc","keep_alive":"5m")"));
  EXPECT_EQ(one["embeddings"].size(), 1u);
}

TEST_F(OllamaEmbed, NothingGivesNoVectors) {
  for (const char* fields : {R"("model":"m")", R"("model":"m","input":"")",
                             R"("model":"m","input":[])", R"("model":"m","input":null)"}) {
    EXPECT_EQ(Json::parse(*Embed(fields))["embeddings"], Json::array()) << fields;
  }
  EXPECT_EQ(Json::parse(*EmbedOld(R"("model":"m","prompt":"")"))["embedding"], Json::array());
  EXPECT_EQ(ErrorOf(R"("input":["a",""])"), "'input[1]' must be a text of one token or more");
}

TEST_F(OllamaEmbed, ATextThatIsTooLongIsCutUnlessItMayNotBe) {
  const Json answer = Json::parse(*Embed(R"("model":"m","input":"abcdefgh")"));
  EXPECT_EQ(answer["embeddings"][0], Json::array({97, 100, 4}));
  EXPECT_EQ(answer["prompt_eval_count"], 4);
  EXPECT_NE(ErrorOf(R"("input":"abcdefgh","truncate":false)"), "");
  EXPECT_EQ(Json::parse(*EmbedOld(R"("model":"m","prompt":"abcdefgh")"))["embedding"],
            Json::array({97, 100, 4}));
}

TEST_F(OllamaEmbed, BadInputIsNamed) {
  EXPECT_EQ(ErrorOf(R"("input":7)"), "'input' must be a string or a list of strings");
  EXPECT_EQ(ErrorOf(R"("input":[1,2])"), "'input' must be a string or a list of strings");
  EXPECT_EQ(ErrorOf(R"("input":"a","options":7)"), "'options' must be an object");
  EXPECT_TRUE(ErrorOf(R"("input":"a","dimensions":7)").starts_with("'dimensions' must be"));
  EXPECT_EQ(Embed(R"("input":"a")").error().message, "'model' must be the name of a model");
  EXPECT_EQ(Embed(R"("model":"other","input":"a")").error().status, 404);
}

TEST_F(OllamaEmbed, AServerWithoutEmbeddingsSaysHowToGetThem) {
  embedder_ = nullptr;
  EXPECT_NE(ErrorOf(R"("input":"a")").find("--embeddings"), std::string::npos);
}

}  // namespace
}  // namespace cairn::ollama_embed_test
