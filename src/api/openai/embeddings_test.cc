#include "api/openai/embeddings.h"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/json.h"
#include "api/media/base64.h"
#include "api/media/media_layouts.h"
#include "testing/api/api_fixture.h"
#include "testing/api/media_samples.h"
#include "testing/engine/fake_engine.h"
#include "testing/media/fake_media.h"

namespace cairn::embeddings_test {
namespace {

// A vector that says which tokens it was given: the first, the last, and how many.
class FakeEmbedder final : public Embedder {
 public:
  size_t size() const override { return 3; }
  size_t tokens_max() const override { return 8; }
  bool pools() const override { return pools_; }
  Result<TextVectors> Embed(TokenSpan tokens) override {
    if (tokens.size() > tokens_max()) return Fail(ErrorCode::kTooLong, "too long");
    const std::vector<float> vector = {static_cast<float>(tokens.front()),
                                       static_cast<float>(tokens.back()),
                                       static_cast<float>(tokens.size())};
    return TextVectors(pools_ ? 1 : tokens.size(), vector);
  }

  bool pools_ = true;
};

class EmbeddingsTest : public ::testing::Test {
 protected:
  ApiResult<std::string> Ask(const std::string& body) {
    return EmbeddingsBody(engine_, &embedder_, "m", body, [] { return false; });
  }

  FakeEngine engine_{FakeEngineOptions{}};
  FakeEmbedder embedder_;
};

TEST_F(EmbeddingsTest, TheContentOfAMessageIsOneText) {
  const auto body = Ask(R"({"input":[{"content":[{"type":"text","text":"ab"},)"
                        R"({"type":"text","text":"c"}]},"de"]})");
  ASSERT_TRUE(body.has_value()) << body.error().message;
  const Json answer = Json::parse(*body);
  EXPECT_EQ(answer["data"][0]["embedding"], Json::array({97, 99, 3}));
  EXPECT_EQ(answer["data"][1]["embedding"], Json::array({100, 101, 2}));
  for (const char* content : {R"([{"type":"image_url"}])", R"([{"text":"a"}])", R"(["a"])",
                              R"([{"type":"text","text":1}])", R"("a")", "[]"}) {
    const auto refused = Ask(R"({"input":{"content":)" + std::string(content) + "}}");
    ASSERT_FALSE(refused.has_value()) << content;
    EXPECT_EQ(refused.error().status, 400) << content;
  }
}

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
  // As in llama-server, whatever comes first.
  const Json text_first = Json::parse(*Ask(R"({"input":["ab",99]})"));
  ASSERT_EQ(text_first["data"].size(), 1u);
  EXPECT_EQ(text_first["data"][0]["embedding"], Json::array({97, 99, 3}));
  const Json lists = Json::parse(*Ask(R"({"input":[[97,98],[97,"bc",100],"d"]})"));
  ASSERT_EQ(lists["data"].size(), 3u);
  EXPECT_EQ(lists["data"][1]["embedding"], Json::array({97, 100, 4}));
}

TEST_F(EmbeddingsTest, AVectorForEachTokenIsInLlamaServersFormatOnly) {
  embedder_.pools_ = false;
  const auto refused = Ask(R"({"input":"abc"})");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().status, 400);
  EXPECT_NE(refused.error().message.find("/embeddings"), std::string::npos);
  const auto native =
      NativeEmbeddingsBody(engine_, &embedder_, R"({"input":["abc","de"]})", [] { return false; });
  ASSERT_TRUE(native.has_value()) << native.error().message;
  const Json answer = Json::parse(*native);
  EXPECT_EQ(answer[0]["embedding"].size(), 3u);
  EXPECT_EQ(answer[1]["embedding"].size(), 2u);
  EXPECT_EQ(answer[1]["embedding"][0], Json::array({100, 101, 2}));
}

TEST_F(EmbeddingsTest, ATextThatIsTooLargeIsToldSoInLlamaServersWords) {
  const auto refused = Ask(R"({"input":"a text that is long"})");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("too large"), std::string::npos);
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
  EXPECT_EQ(Ask(R"({"input":["a",[]]})").error().field, "input[1]");
  EXPECT_EQ(Ask(R"({"input":["a",{}]})").error().field, "input[1]");
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

// Every file becomes an image of twelve rows.
class TwelveRowsDecoder final : public MediaDecoder {
 public:
  static constexpr size_t kRows = 12;
  Result<DecodedMedium> Decode(const Medium& medium) override {
    DecodedMedium decoded;
    decoded.kind = medium.kind;
    decoded.width = decoded.height = kRows;
    decoded.rgb.resize(3 * kRows * kRows);
    return decoded;
  }
};

// Notes how many texts come at once.
class ListsEmbedder final : public Embedder {
 public:
  size_t size() const override { return 1; }
  size_t tokens_max() const override { return 8; }
  Result<TextVectors> Embed(TokenSpan tokens) override {
    return TextVectors{{static_cast<float>(tokens.size())}};
  }
  Result<std::vector<TextVectors>> EmbedAll(std::span<const TokenSpan> texts,
                                            const std::function<bool()>& gone) override {
    lists.push_back(texts.size());
    return Embedder::EmbedAll(texts, gone);
  }

  std::vector<size_t> lists;
};

TEST(EmbeddingsTogether, TheTextsOfARequestAreComputedAtOnce) {
  const FakeEngine engine{FakeEngineOptions{}};
  ListsEmbedder embedder;
  const auto body =
      EmbeddingsBody(engine, &embedder, "m", R"({"input":["a","bc","def"]})", [] { return false; });
  ASSERT_TRUE(body.has_value());
  EXPECT_EQ(embedder.lists, (std::vector<size_t>{3}));
  const Json answer = Json::parse(*body);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(answer["data"][i]["embedding"], Json::array({i + 1}));
}

// Notes the parts that it was given: "text 2, rows 12".
class PartsEmbedder final : public Embedder {
 public:
  size_t size() const override { return 1; }
  size_t tokens_max() const override { return 100; }
  Result<TextVectors> Embed(TokenSpan tokens) override {
    seen.push_back("text " + std::to_string(tokens.size()));
    return TextVectors{{1}};
  }
  Result<TextVectors> EmbedParts(std::span<const TextPart> parts) override {
    std::string noted;
    for (const TextPart& part : parts) {
      if (!noted.empty()) noted += ", ";
      noted += (part.rows != nullptr ? "rows " : "text ") + std::to_string(part.size());
    }
    seen.push_back(noted);
    return TextVectors{{2}};
  }

  std::vector<std::string> seen;
};

class EmbeddingsMediaTest : public ApiTest {
 protected:
  EmbeddingsMediaTest() {
    ChatServiceOptions options;
    options.media = test::TakingRules();
    options.prompt.media = &layouts_;
    service_of_media_ =
        std::make_unique<const ChatService>(&engine_, template_.get(), &scheduler_, options);
    media_.service = service_of_media_.get();
    media_.encode = [this](NamespaceId, const Medium& medium) -> Result<EncodedPieces> {
      ++encoded_;
      EncodedPieces pieces;
      auto encoded = encoder_.Encode(*decoder_.Decode(medium));
      for (EncodedPiece& piece : *encoded) {
        pieces.push_back(std::make_shared<const EncodedPiece>(std::move(piece)));
      }
      return pieces;
    };
  }
  ApiResult<std::string> Ask(const std::string& content) {
    return NativeEmbeddingsBody(
        engine_, &embedder_, R"({"content":)" + content + "}", [] { return false; }, media_);
  }
  static std::string Object(const std::string& text, const std::string& data) {
    return R"({"prompt_string":")" + text + R"(","multimodal_data":[)" + data + "]}";
  }
  static std::string Png(std::string_view name) {
    return "\"" + EncodeBase64(test::PngFile(name)) + "\"";
  }

  TwelveRowsDecoder decoder_;
  FakeMediaEncoder encoder_;
  MediaLayouts layouts_{&decoder_, &encoder_};
  std::unique_ptr<const ChatService> service_of_media_;
  PartsEmbedder embedder_;
  EmbeddingsMedia media_;
  int encoded_ = 0;
};

TEST_F(EmbeddingsMediaTest, APictureIsEmbeddedAtItsPlaceInTheText) {
  const auto body = Ask(Object("ab<__media__>cde", Png("a")));
  ASSERT_TRUE(body.has_value()) << body.error().message;
  // The fake projector puts a token before its rows and one behind them.
  EXPECT_EQ(embedder_.seen, std::vector<std::string>{"text 3, rows 12, text 4"});
  EXPECT_EQ(Json::parse(*body)[0]["embedding"][0][0], 2);
  const auto openai = EmbeddingsBody(
      engine_, &embedder_, "m", R"({"input":)" + Object("ab<__media__>cde", Png("a")) + "}",
      [] { return false; }, media_);
  ASSERT_TRUE(openai.has_value()) << openai.error().message;
  EXPECT_EQ(Json::parse(*openai)["usage"]["prompt_tokens"], 19);
}

TEST_F(EmbeddingsMediaTest, TextsWithAndWithoutPicturesMayBeMixed) {
  const std::string twice = Object("<__media__><__media__>", Png("a") + "," + Png("a"));
  const std::string plain = R"({"prompt_string":"x <__media__>"})";
  ASSERT_TRUE(Ask("[" + twice + "," + plain + ",\"yz\"]").has_value());
  EXPECT_EQ(embedder_.seen, (std::vector<std::string>{"text 1, rows 12, text 2, rows 12, text 1",
                                                      "text 13", "text 2"}));
  EXPECT_EQ(encoded_, 1) << "the same file";
}

TEST_F(EmbeddingsMediaTest, WhatIsWrongWithAPictureIsSaid) {
  const auto broken = Ask(Object("<__media__>", R"("AAAA")"));
  ASSERT_FALSE(broken.has_value());
  EXPECT_EQ(broken.error().status, 400);
  EXPECT_TRUE(broken.error().message.starts_with("input.multimodal_data[0]"))
      << broken.error().message;
  EXPECT_EQ(Ask(Object("no marker", Png("a"))).error().status, 400);
  EXPECT_EQ(Ask(R"({"prompt_string":7})").error().status, 400);
  const auto large = Ask(Object(std::string(90, 'x') + "<__media__>", Png("a")));
  ASSERT_FALSE(large.has_value());
  EXPECT_NE(large.error().message.find("too large"), std::string::npos);
  media_.service = nullptr;
  EXPECT_EQ(Ask(Object("<__media__>", Png("a"))).error().status, 400);
  EXPECT_TRUE(embedder_.seen.empty());
}

TEST_F(EmbeddingsMediaTest, AModelThatTakesNoneIsA501) {
  class TextsAlone final : public Embedder {
   public:
    size_t size() const override { return 1; }
    size_t tokens_max() const override { return 100; }
    Result<TextVectors> Embed(TokenSpan) override { return TextVectors{{1}}; }
  } texts_only;
  const auto body = NativeEmbeddingsBody(
      engine_, &texts_only, R"({"content":)" + Object("<__media__>", Png("a")) + "}",
      [] { return false; }, media_);
  ASSERT_FALSE(body.has_value());
  EXPECT_EQ(body.error().status, 501);
}

}  // namespace
}  // namespace cairn::embeddings_test
