#include "api/openai/embeddings.h"

#include <gtest/gtest.h>

#include "api/json.h"
#include "testing/engine/fake_engine.h"

namespace cairn {
namespace {

// A vector that says which tokens it was given: the first, the last, and how many.
class FakeEmbedder final : public Embedder {
 public:
  size_t size() const override { return 3; }
  size_t tokens_max() const override { return 8; }
  Result<std::vector<float>> Embed(TokenSpan tokens) override {
    if (tokens.size() > tokens_max()) return Fail(ErrorCode::kTooLong, "too long");
    return std::vector<float>{static_cast<float>(tokens.front()), static_cast<float>(tokens.back()),
                              static_cast<float>(tokens.size())};
  }
};

class EmbeddingsTest : public ::testing::Test {
 protected:
  ApiResult<std::string> Ask(const std::string& body) {
    return EmbeddingsBody(engine_, &embedder_, "m", body, [] { return false; });
  }

  FakeEngine engine_{FakeEngineOptions{}};
  FakeEmbedder embedder_;
};

TEST_F(EmbeddingsTest, TextsAndTokensAreTheSameInput) {
  for (const char* input : {R"("abc")", R"(["abc"])", "[97,98,99]", "[[97,98,99]]"}) {
    const auto body = Ask(R"({"input":)" + std::string(input) + "}");
    ASSERT_TRUE(body.has_value()) << input;
    const Json answer = Json::parse(*body);
    EXPECT_EQ(answer["object"], "list");
    EXPECT_EQ(answer["model"], "m");
    ASSERT_EQ(answer["data"].size(), 1u);
    EXPECT_EQ(answer["data"][0]["embedding"], Json::array({97, 99, 3}));
    EXPECT_EQ(answer["usage"]["prompt_tokens"], 3);
  }
}

TEST_F(EmbeddingsTest, TokensWithTextsBetweenThemAreOneInput) {
  const Json answer = Json::parse(*Ask(R"({"input":[97,"bc",100]})"));
  ASSERT_EQ(answer["data"].size(), 1u);
  EXPECT_EQ(answer["data"][0]["embedding"], Json::array({97, 100, 4}));
}

TEST_F(EmbeddingsTest, LlamaServersFormatIsAListWithAListOfVectors) {
  const auto ask = [&](const std::string& body) {
    return NativeEmbeddingsBody(engine_, &embedder_, body, [] { return false; });
  };
  Json vectors = Json::array();
  vectors.push_back(Json::array({97, 97, 1}));
  const Json one = Json::parse(*ask(R"({"content":"a"})"));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["index"], 0);
  EXPECT_EQ(one[0]["embedding"], vectors);
  EXPECT_EQ(Json::parse(*ask(R"({"input":["a","b"]})")).size(), 2u);
  EXPECT_EQ(ask("{}").error().status, 400);
  EXPECT_EQ(NativeEmbeddingsBody(engine_, nullptr, R"({"content":"a"})", {}).error().status, 501);
}

TEST_F(EmbeddingsTest, SeveralTextsComeInTheirOrder) {
  const Json answer = Json::parse(*Ask(R"({"input":["a",[98],"cc"]})"));
  ASSERT_EQ(answer["data"].size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(answer["data"][i]["index"], i);
    EXPECT_EQ(answer["data"][i]["embedding"][0], 97 + i);
  }
  EXPECT_EQ(answer["usage"]["total_tokens"], 4);
}

TEST_F(EmbeddingsTest, Base64IsOfLittleEndianFloats) {
  const Json answer = Json::parse(*Ask(R"({"input":"a","encoding_format":"base64"})"));
  // 97.0F is 0x42c20000, 1.0F is 0x3f800000.
  EXPECT_EQ(answer["data"][0]["embedding"], "AADCQgAAwkIAAIA/");
}

TEST_F(EmbeddingsTest, InputsThatAreNoneAreRefusedByName) {
  for (const char* body : {"{}", R"({"input":""})", R"({"input":[]})", R"({"input":7})",
                           R"({"input":[999]})", R"({"input":{"a":1}})"}) {
    const auto refused = Ask(body);
    ASSERT_FALSE(refused.has_value()) << body;
    EXPECT_EQ(refused.error().status, 400) << body;
    EXPECT_EQ(refused.error().field, "input") << body;
  }
  EXPECT_EQ(Ask(R"({"input":["a",7]})").error().field, "input[1]");
  EXPECT_EQ(Ask(R"({"input":"a","encoding_format":"hex"})").error().field, "encoding_format");
  EXPECT_EQ(Ask(R"({"input":"a","dimensions":2})").error().field, "dimensions");
  EXPECT_EQ(Ask(R"({"input":"a text that is long"})").error().status, 400);
}

TEST_F(EmbeddingsTest, WithoutAnEmbedderTheFlagIsNamed) {
  const auto refused =
      EmbeddingsBody(engine_, nullptr, "m", R"({"input":"a"})", [] { return false; });
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().status, 501);
  EXPECT_NE(refused.error().message.find("--embeddings"), std::string::npos);
}

}  // namespace
}  // namespace cairn
