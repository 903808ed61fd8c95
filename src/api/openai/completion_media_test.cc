// Tests images and recordings in the prompts of plain completions.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/admin/cache_api.h"
#include "api/anthropic/anthropic.h"
#include "api/llama_server/native.h"
#include "api/media/media_layouts.h"
#include "api/openai/completion.h"
#include "api/render/render.h"
#include "media/media_tokens.h"
#include "sched/request/adapter_name_space.h"
#include "testing/api/api_fixture.h"
#include "testing/api/media_samples.h"
#include "testing/media/fake_media.h"

namespace cairn::completion_media_test {
namespace {

using test::PngFile;
using test::PngMarker;
using test::PngUrl;
using test::WavFile;

constexpr size_t kRows = 12;
constexpr NamespaceId kKey = 7;
constexpr size_t kMediumTokens = kRows + 2;  // the fake encoder's texts around the rows

// Every file becomes twelve rows. Records for whom it decoded, and for how many that had left.
class TwelveRowsDecoder final : public MediaDecoder {
 public:
  Result<DecodedMedium> DecodeFor(uint64_t owner, const Medium& medium) override {
    owners.push_back(owner);
    if (medium.gone && medium.gone()) {
      ++left;
      return Fail(ErrorCode::kCancelled, "left");
    }
    return Decode(medium);
  }
  Result<DecodedMedium> Decode(const Medium& medium) override {
    DecodedMedium decoded;
    decoded.kind = medium.kind;
    decoded.width = kRows;
    decoded.height = kRows;
    decoded.rgb.resize(3 * kRows * kRows);
    return decoded;
  }

  std::vector<uint64_t> owners;
  int left = 0;
};

std::string Quoted(const std::string& text) {
  return "\"" + text + "\"";
}
const std::string kPngA = Quoted(EncodeBase64(PngFile("a")));
const std::string kPngB = Quoted(EncodeBase64(PngFile("b")));
const std::string kWav = Quoted(EncodeBase64(WavFile()));

std::string Object(const std::string& text, const std::string& data) {
  return R"({"prompt_string":")" + text + R"(","multimodal_data":[)" + data + "]}";
}

class CompletionMediaTest : public ApiTest {
 protected:
  ChatServiceOptions Options(const MediaRules& rules = test::TakingRules()) {
    ChatServiceOptions options;
    options.media = rules;
    options.prompt.media = &layouts_;
    return options;
  }
  static ApiResult<CompletionRequest> Parse(
      const ChatService& service, const std::string& prompt,
      CompletionDialect dialect = CompletionDialect::kNative) {
    return ParseCompletion(service, Body(R"({"prompt":)" + prompt + "}"), {}, dialect, kKey);
  }
  CompletionRequest Read(const std::string& prompt) const {
    auto request = Parse(taking_, prompt);
    EXPECT_TRUE(request.has_value()) << prompt << ": " << request.error().message;
    return request.value_or(CompletionRequest{});
  }
  static ApiError ErrorOf(const ChatService& service, const std::string& prompt) {
    const auto request = Parse(service, prompt);
    EXPECT_FALSE(request.has_value()) << prompt;
    if (request) return {};
    EXPECT_EQ(request.error().status, 400) << prompt;
    return request.error();
  }
  // Of a server with other rules.
  std::string ErrorUnder(const MediaRules& rules, const std::string& prompt) {
    const ChatService service(&engine_, template_.get(), &scheduler_, Options(rules));
    return ErrorOf(service, prompt).message;
  }

  TwelveRowsDecoder decoder_;
  FakeMediaEncoder encoder_;
  MediaLayouts layouts_{&decoder_, &encoder_};
  const ChatService taking_{&engine_, template_.get(), &scheduler_, Options()};
};

TEST_F(CompletionMediaTest, EachMarkerStandsForTheNextItem) {
  const CompletionRequest request = Read(Object("x<__media__>yy<__media__>z", kPngA + "," + kWav));
  EXPECT_EQ(request.prompt.size(), 4 + 2 * kMediumTokens);
  EXPECT_EQ(request.shape.tokens, request.prompt.size());
  EXPECT_EQ(request.prompt_text, "x<__media__>yy<__media__>z");
  ASSERT_EQ(request.media.size(), 2u);
  EXPECT_EQ(request.media[0].begin, 1u);
  EXPECT_EQ(request.media[0].end, 1 + kMediumTokens);
  EXPECT_EQ(request.media[0].medium->place, "prompt.multimodal_data[0]");
  EXPECT_EQ(request.media[1].begin, 3 + kMediumTokens);
  EXPECT_EQ(request.media[1].medium->kind, MediumKind::kAudio);
  ASSERT_EQ(request.shape.media.size(), 2u);
  EXPECT_EQ(request.shape.media[0], (TokenRange{2, 2 + kRows}));
  EXPECT_EQ(request.shape.media[0], request.media[0].rows[0]);
}

TEST_F(CompletionMediaTest, TheSameFileHasTheSameTokensAndAnotherOneHasOthers) {
  const Tokens a = Read(Object("<__media__>x", kPngA)).prompt;
  EXPECT_EQ(Read(Object("<__media__>x", kPngA)).prompt, a);
  EXPECT_NE(Read(Object("<__media__>x", kPngB)).prompt, a);
  const CompletionRequest twice = Read(Object("<__media__><__media__>", kPngA + "," + kPngA));
  EXPECT_EQ(twice.media.size(), 2u);
  EXPECT_EQ(twice.prompt.size(), 2 * kMediumTokens);
}

TEST_F(CompletionMediaTest, AnObjectWithoutDataIsItsText) {
  const Tokens text = Read(R"("a <__media__> b")").prompt;
  EXPECT_FALSE(HasMedia(text));
  EXPECT_EQ(Read(R"({"prompt_string":"a <__media__> b"})").prompt, text);
  EXPECT_EQ(Read(R"({"prompt_string":"a <__media__> b","multimodal_data":null})").prompt, text);
  EXPECT_EQ(Read(R"([{"prompt_string":"a <__media__> b"}])").prompt, text);
  EXPECT_EQ(Read(Object("abc", "")).prompt, Read(R"("abc")").prompt);
}

TEST_F(CompletionMediaTest, AListMayHoldOnePromptOrSeveral) {
  const std::string object = Object("<__media__>x", kPngA);
  EXPECT_EQ(Read("[" + object + "]").prompt, Read(object).prompt);
  EXPECT_EQ(Read("[[97,98]]").prompt, Read("[97,98]").prompt);
  const CompletionRequest several = Read("[" + object + R"(,"text",[98,"c"]])");
  EXPECT_EQ(several.media.size(), 1u);
  ASSERT_EQ(several.more_prompts.size(), 2u);
  EXPECT_EQ(several.more_prompts[0].text, "text");
  EXPECT_EQ(several.more_prompts[1].tokens, (Tokens{98, 99}));
  EXPECT_EQ(ErrorOf(taking_, "[" + object + ",7]").field, "prompt[1]");
  // The limits are the request's.
  MediaRules one = test::TakingRules();
  one.media_max = 1;
  const std::string both = "[" + object + "," + Object("<__media__>y", kPngB) + "]";
  EXPECT_TRUE(ErrorUnder(one, both).starts_with("prompt[1]")) << ErrorUnder(one, both);
}

TEST_F(CompletionMediaTest, BothDialectsTakeMedia) {
  const auto request = Parse(taking_, Object("<__media__>x", kPngA), CompletionDialect::kOpenAi);
  ASSERT_TRUE(request.has_value()) << request.error().message;
  EXPECT_EQ(request->media.size(), 1u);
}

TEST_F(CompletionMediaTest, AreDecodedForTheKeyOfTheRequest) {
  const auto prompt_of = [](const std::string& name) {
    return R"({"prompt":)" + Object("<__media__>x", Quoted(EncodeBase64(PngFile(name)))) + "}";
  };
  for (const CompletionDialect dialect : {CompletionDialect::kNative, CompletionDialect::kOpenAi}) {
    const std::string name = dialect == CompletionDialect::kNative ? "native" : "openai";
    ASSERT_TRUE(ParseCompletion(taking_, Body(prompt_of(name)), {}, dialect, kKey));
  }
  const GenerationParams defaults;
  const TokenIds plain;
  const RenderContext context{&defaults, &plain, nullptr, "m"};
  ASSERT_TRUE(RenderCompletionBody(taking_, context, {prompt_of("rendered"), kKey, "id"}));
  // It fails later: the scheduler of this test has no encoder.
  static_cast<void>(PrefetchBody(taking_, prompt_of("prefetched"), kKey, [] { return false; }));
  EXPECT_EQ(decoder_.owners, std::vector<uint64_t>(4, kKey));
}

// Else the files of clients that left would be decoded before those of clients that wait.
TEST_F(CompletionMediaTest, AreNotDecodedForAClientThatHasLeft) {
  const auto gone = [] { return true; };
  const auto part = [](const std::string& type, const std::string& field) {
    return R"([{"role":"user","content":[{"type":")" + type + R"(",)" + field + "}]}]";
  };
  const std::string url = Quoted(PngUrl());
  const std::string chat =
      R"({"messages":)" + part("image_url", R"("image_url":{"url":)" + url + "}") + "}";
  const std::string messages = R"({"max_tokens":1,"messages":)" +
                               part("image", R"("source":{"type":"url","url":)" + url + "}") + "}";
  const std::string responses = R"({"input":)" + part("input_image", R"("image_url":)" + url) + "}";
  const std::string prompt = R"({"prompt":)" + Object("<__media__>x", kPngA) + "}";
  const GenerationParams defaults;
  const TokenIds plain;
  const RenderContext context{&defaults, &plain, nullptr, "m"};
  const std::vector<ApiResult<std::string>> answers = {
      RenderChatBody(taking_, context, {chat, kKey, "id", gone}),
      RenderMessagesBody(taking_, context, {messages, kKey, "id", gone}),
      RenderResponsesBody(taking_, context, {responses, kKey, "id", gone}),
      RenderCompletionBody(taking_, context, {prompt, kKey, "id", gone}),
      ChatInputTokensBody(taking_, chat, kKey, gone),
      ResponsesInputTokensBody(taking_, responses, kKey, nullptr, gone),
      CountTokensBody(taking_, messages, kKey, gone),
      PrefetchBody(taking_, chat, kKey, gone),
      PrefetchBody(taking_, prompt, kKey, gone),
  };
  for (const auto& answer : answers) {
    ASSERT_FALSE(answer.has_value()) << *answer;
    EXPECT_EQ(answer.error().status, 503) << "one that shut down only its own side still reads it";
  }
  EXPECT_EQ(decoder_.left, static_cast<int>(answers.size()));
}

// Else a key with many sets of adapters had as many turns.
TEST_F(CompletionMediaTest, AreDecodedForTheKeyWhateverItsAdapters) {
  for (const uint32_t set : {0U, 1U, 9U}) {
    const std::string chat =
        R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":")" +
        PngUrl(std::to_string(set)) + R"("}}]}]})";
    const auto conversation = ParseConversation(Body(chat), test::TakingRules());
    ASSERT_TRUE(conversation.has_value());
    ASSERT_TRUE(taking_.PromptTokens(*conversation, WithAdapters(kKey, set)));
  }
  EXPECT_EQ(decoder_.owners, std::vector<uint64_t>(3, kKey));
}

TEST_F(CompletionMediaTest, MarkersAndItemsMustBeAsMany) {
  const auto expect = [&](const std::string& prompt, const std::string& field,
                          const std::string& count) {
    const ApiError error = ErrorOf(taking_, prompt);
    EXPECT_EQ(error.field, field);
    EXPECT_NE(error.message.find(count), std::string::npos) << error.message;
  };
  const std::string text = "prompt.prompt_string";
  expect(Object("none", kPngA), text, "it has 0, and there are 1 items");
  expect(Object("<__media__>", ""), text, "it has 1, and there are 0 items");
  expect(Object("<__media__><__media__>", kPngA), text, "it has 2, and there are 1 items");
  expect("[" + Object("none", kPngA) + "]", "prompt[0].prompt_string", "it has 0");
  // The marker of the medium itself is none of the client's.
  expect(Object(PngMarker("a"), kPngA), text, "it has 0, and there are 1 items");
}

TEST_F(CompletionMediaTest, MistakesAreNamed) {
  const auto begins = [&](const std::string& prompt, const std::string& beginning) {
    const std::string error = ErrorOf(taking_, prompt).message;
    EXPECT_TRUE(error.starts_with(beginning)) << error;
  };
  begins(Object("<__media__>", "7"), "'prompt.multimodal_data[0]' must be an image or an audio");
  begins(Object("<__media__><__media__>", kPngA + R"(,"####")"),
         "prompt.multimodal_data[1]: its data has no base64 at byte 0");
  begins(Object("<__media__>", Quoted(PngUrl())),
         "prompt.multimodal_data[0]: its data has no base64 at byte 4");
  begins(Object("<__media__>", Quoted(EncodeBase64(test::FileOf("%PDF-1.7")))),
         "prompt.multimodal_data[0]: its bytes are neither an image nor an audio file");
  begins(R"({"prompt_string":"x","multimodal_data":"AAAA"})",
         "'prompt.multimodal_data' must be a list");
  begins(R"({"prompt_string":7})", "'prompt' must be a string, tokens, or an object");
  begins(R"({"multimodal_data":[]})", "'prompt' must be a string, tokens, or an object");
  begins(R"([{"prompt":"x"}])", "'prompt[0]' must be a string, tokens, or an object");
}

TEST_F(CompletionMediaTest, TheRulesOfTheServerHold) {
  const std::string one = Object("<__media__>", kPngA);
  EXPECT_EQ(ErrorUnder({}, one),
            "prompt.multimodal_data[0]: this server takes no images and no audio: start it with "
            "--mmproj FILE");
  MediaRules images = test::TakingRules();
  images.takes_audio = false;
  EXPECT_EQ(ErrorUnder(images, Object("<__media__>", kWav)),
            "prompt.multimodal_data[0]: the projector of this server takes no audio: leave it "
            "out, or start the server with --mmproj FILE of one that does");
  MediaRules few = test::TakingRules();
  few.media_max = 1;
  EXPECT_TRUE(ErrorUnder(few, Object("<__media__><__media__>", kPngA + "," + kPngB))
                  .starts_with("prompt.multimodal_data[1]: a request may have 1 images"));
  MediaRules small = test::TakingRules();
  small.file_bytes_max = 4;
  EXPECT_TRUE(ErrorUnder(small, one).starts_with("prompt.multimodal_data[0]: has 9 bytes"));
}

TEST_F(CompletionMediaTest, ATemplatesPromptIsTheSameWhenItIsSentBack) {
  const std::string chat = R"({"messages":[{"role":"user","content":[{"type":"text","text":"x"},
      {"type":"image_url","image_url":{"url":")" +
                           PngUrl("a") + R"("}},{"type":"text","text":"y"}]}]})";
  const auto applied = ApplyTemplateBody(taking_, chat);
  ASSERT_TRUE(applied.has_value()) << applied.error().message;
  const Json prompt = Json::parse(*applied)["prompt"];
  EXPECT_NE(prompt.get<std::string>().find("x<__media__>y"), std::string::npos);
  const auto conversation = ParseConversation(Body(chat), test::TakingRules());
  ASSERT_TRUE(conversation.has_value());
  const Json object = {{"prompt_string", prompt},
                       {"multimodal_data", Json::array({EncodeBase64(PngFile("a"))})}};
  EXPECT_EQ(Read(ToText(object)).prompt, *taking_.PromptTokens(*conversation, 0));
}

}  // namespace
}  // namespace cairn::completion_media_test
