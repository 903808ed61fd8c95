// Tests images and recordings in requests of chat completions.

#include <gtest/gtest.h>

#include <string>

#include "api/request/chat_request.h"
#include "testing/api/media_samples.h"

namespace cairn::chat_media_test {
namespace {

using test::MediaOf;
using test::PngMarker;
using test::PngUrl;
using test::WavFile;
using test::WavMarker;

std::string Image(const std::string& url) {
  return R"({"type":"image_url","image_url":{"url":")" + url + R"(","detail":"low"}})";
}
std::string Audio(const std::string& format) {
  return R"({"type":"input_audio","input_audio":{"format":")" + format + R"(","data":")" +
         EncodeBase64(WavFile()) + R"("}})";
}
std::string Asked(const std::string& role, const std::string& parts) {
  return R"({"messages":[{"role":"user","content":"hi"},{"role":")" + role + R"(","content":[)" +
         parts + "]}]}";
}

ApiResult<Conversation> Parse(const std::string& body,
                              const MediaRules& rules = test::TakingRules()) {
  return ParseConversation(*ParseBody(body), rules);
}

std::string ErrorOf(const std::string& body, const MediaRules& rules = test::TakingRules()) {
  const auto parsed = Parse(body, rules);
  if (parsed) return "";
  EXPECT_EQ(parsed.error().status, 400);
  return parsed.error().message;
}

TEST(ChatMedia, AMarkerStandsWhereThePartWas) {
  for (const char* role : {"user", "tool", "system", "developer"}) {
    const auto talk = Parse(Asked(role, R"({"type":"text","text":"A "},)" + Image(PngUrl()) +
                                            R"(,{"type":"text","text":" B"},)" + Audio("wav")));
    ASSERT_TRUE(talk.has_value()) << talk.error().message;
    EXPECT_EQ(talk->messages[1].content, "A " + PngMarker() + " B" + WavMarker()) << role;
    ASSERT_EQ(MediaOf(*talk).size(), 2u);
    EXPECT_EQ(MediaOf(*talk)[0]->place, "messages[1].content[1]");
    EXPECT_EQ(MediaOf(*talk)[1]->place, "messages[1].content[3]");
    EXPECT_EQ(MediaOf(*talk)[1]->kind, MediumKind::kAudio);
  }
}

TEST(ChatMedia, AUrlMayStandAloneAndTheSameImageIsOneMedium) {
  const std::string bare = R"({"type":"image_url","image_url":")" + PngUrl() + "\"}";
  const auto talk = Parse(Asked("user", bare + "," + Image(PngUrl()) + "," + Image(PngUrl("b"))));
  ASSERT_TRUE(talk.has_value()) << talk.error().message;
  EXPECT_EQ(talk->messages[1].content, PngMarker() + PngMarker() + PngMarker("b"));
  EXPECT_EQ(MediaOf(*talk).size(), 2u);
}

TEST(ChatMedia, ReachesTheRequestItself) {
  const auto request = ParseChatRequest(*ParseBody(Asked("user", Image(PngUrl()))),
                                        GenerationParams{}, test::TakingRules());
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(MediaOf(request->conversation).size(), 1u);
}

TEST(ChatMedia, WithoutAProjectorTheErrorSaysWhatToDo) {
  EXPECT_EQ(ErrorOf(Asked("user", Image(PngUrl())), {}),
            "messages[1].content[0]: this server takes no images: start it with --mmproj FILE");
  EXPECT_EQ(ErrorOf(Asked("user", Audio("wav")), {}),
            "messages[1].content[0]: this server takes no audio: start it with --mmproj FILE");
  const auto refused = ParseConversation(*ParseBody(Asked("user", Image(PngUrl()))));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().field, "messages[1].content[0]");
}

TEST(ChatMedia, MistakesAreNamed) {
  const auto begins = [](const std::string& part, const std::string& beginning) {
    const std::string error = ErrorOf(Asked("user", part));
    EXPECT_TRUE(error.starts_with(beginning)) << error;
  };
  const std::string at = "'messages[1].content[0].";
  begins(R"({"type":"image_url"})", at + "image_url' must be a URL");
  begins(R"({"type":"image_url","image_url":7})", at + "image_url' must be a URL");
  begins(R"({"type":"image_url","image_url":{}})", at + "image_url.url' must be a URL");
  begins(R"({"type":"image_url","image_url":{"url":[]}})", at + "image_url.url' must be a URL");
  begins(R"({"type":"input_audio"})", at + "input_audio' must be an object");
  begins(R"({"type":"input_audio","input_audio":{"format":"wav"}})", at + "input_audio.data' must");
  begins(Audio("ogg"), at + "input_audio.format' must be 'wav', 'mp3' or 'flac', not 'ogg'");
  begins(R"({"type":"video_url"})", at + "type' must be 'text', 'image_url' or 'input_audio'");
  begins(Image("a.png"), "messages[1].content[0]: neither a data URL");
  begins(Image("data:image/png;base64,####"), "messages[1].content[0]: its data has no base64");
}

TEST(ChatMedia, AnAnswerHoldsTextOnly) {
  EXPECT_EQ(ErrorOf(Asked("assistant", Image(PngUrl()))),
            "'messages[1].content[0].type' must be 'text' in a message of the assistant, not "
            "'image_url'");
}

TEST(ChatMedia, LimitsCountAllMessages) {
  MediaRules rules = test::TakingRules();
  rules.media_max = 1;
  const std::string message = R"({"role":"user","content":[)" + Image(PngUrl()) + "]}";
  EXPECT_EQ(ErrorOf(R"({"messages":[)" + message + "]}", rules), "");
  EXPECT_TRUE(ErrorOf(R"({"messages":[)" + message + "," + message + "]}", rules)
                  .starts_with("messages[1].content[0]: a request may have 1 images"));
}

TEST(ChatMedia, ATextThatLooksLikeAMarkerIsOnlyText) {
  const auto talk = Parse(Asked("user", R"({"type":"text","text":")" + PngMarker() + "\"}"));
  ASSERT_TRUE(talk.has_value());
  EXPECT_EQ(talk->messages[1].content, PngMarker());
  EXPECT_TRUE(talk->messages[1].media.empty());
  // Beside the image itself, and before and behind it.
  const std::string text = R"({"type":"text","text":")" + PngMarker() + "\"}";
  const auto beside = Parse(Asked("user", text + "," + Image(PngUrl()) + "," + text));
  ASSERT_TRUE(beside.has_value());
  const Message& message = beside->messages[1];
  EXPECT_EQ(message.content, PngMarker() + PngMarker() + PngMarker());
  ASSERT_EQ(message.media.size(), 1u);
  EXPECT_EQ(message.media[0].begin, PngMarker().size());
}

}  // namespace
}  // namespace cairn::chat_media_test
