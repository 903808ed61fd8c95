// Tests images in requests of POST /v1/messages.

#include <gtest/gtest.h>

#include <string>

#include "api/anthropic/anthropic.h"
#include "api/anthropic/anthropic_request.h"
#include "testing/api/media_samples.h"

namespace cairn::anthropic_media_test {
namespace {

using test::MediaOf;
using test::PngFile;
using test::PngMarker;
using test::PngUrl;

std::string Image(const std::string& name = "a") {
  return R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":")" +
         EncodeBase64(PngFile(name)) + R"("}})";
}
std::string Text(const std::string& text) {
  return R"({"type":"text","text":")" + text + "\"}";
}
std::string Asked(const std::string& blocks, const std::string& role = "user") {
  return R"({"max_tokens":1,"messages":[{"role":")" + role + R"(","content":[)" + blocks + "]}]}";
}

ApiResult<ChatRequest> Parse(const std::string& body,
                             const MediaRules& rules = test::TakingRules()) {
  return ParseMessagesRequest(*ParseBody(body), GenerationParams{}, rules);
}

std::string ErrorOf(const std::string& body, const MediaRules& rules = test::TakingRules()) {
  const auto parsed = Parse(body, rules);
  if (parsed) return "";
  EXPECT_EQ(parsed.error().status, 400);
  return parsed.error().message;
}

TEST(AnthropicMedia, AMarkerStandsWhereTheBlockWas) {
  const auto request = Parse(Asked(Text("A ") + "," + Image() + "," + Text(" B")));
  ASSERT_TRUE(request.has_value()) << request.error().message;
  const Conversation& talk = request->conversation;
  EXPECT_EQ(talk.messages[0].content, "A " + PngMarker() + " B");
  ASSERT_EQ(MediaOf(talk).size(), 1u);
  EXPECT_EQ(MediaOf(talk)[0]->place, "messages[0].content[1]");
}

TEST(AnthropicMedia, AMessageMayBeAnImageAlone) {
  const auto request = Parse(Asked(Image()));
  ASSERT_TRUE(request.has_value()) << request.error().message;
  ASSERT_EQ(request->conversation.messages.size(), 1u);
  EXPECT_EQ(request->conversation.messages[0].content, PngMarker());
}

TEST(AnthropicMedia, ResultsOfToolsMayHoldImages) {
  const std::string result = R"({"type":"tool_result","tool_use_id":"t","content":[)" +
                             Text("seen: ") + "," + Image() + "]}";
  const auto request = Parse(Asked(result + "," + Image("b")));
  ASSERT_TRUE(request.has_value()) << request.error().message;
  const Conversation& talk = request->conversation;
  ASSERT_EQ(talk.messages.size(), 2u);
  EXPECT_EQ(talk.messages[0].role, Role::kTool);
  EXPECT_EQ(talk.messages[0].content, "seen: " + PngMarker());
  EXPECT_EQ(talk.messages[1].content, PngMarker("b"));
  ASSERT_EQ(MediaOf(talk).size(), 2u);
  EXPECT_EQ(MediaOf(talk)[0]->place, "messages[0].content[0].content[1]");
}

TEST(AnthropicMedia, UrlsAreSourcesTooAndMarksAreKept) {
  const auto request = Parse(Asked(
      R"({"type":"image","cache_control":{"type":"ephemeral"},"source":{"type":"url","url":")" +
      PngUrl() + R"("}})"));
  ASSERT_TRUE(request.has_value()) << request.error().message;
  EXPECT_EQ(request->conversation.messages[0].content, PngMarker());
  EXPECT_EQ(request->conversation.messages[0].marks.size(), 1u);
}

TEST(AnthropicMedia, WithoutAProjectorTheErrorSaysWhatToDo) {
  const auto refused = Parse(Asked(Text("x") + "," + Image()), {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "messages[0].content[1]: this server takes no images: start it with --mmproj FILE");
  EXPECT_EQ(MessagesErrorBody(refused.error()),
            R"({"type":"error","error":{"type":"invalid_request_error","message":")" +
                refused.error().message + R"("}})");
}

TEST(AnthropicMedia, MistakesAreNamed) {
  const auto begins = [](const std::string& source, const std::string& beginning) {
    const std::string error = ErrorOf(Asked(R"({"type":"image","source":)" + source + "}"));
    EXPECT_TRUE(error.starts_with(beginning)) << error;
  };
  const std::string at = "'messages[0].content[0].source";
  begins("7", at + "' must be an object");
  begins("{}", at + ".type' must be 'base64' or 'url'");
  begins(R"({"type":"file","file_id":"f"})", at + ".type' must be 'base64' or 'url', not 'file'");
  begins(R"({"type":"base64"})", at + ".data' must be the file's bytes as base64");
  begins(R"({"type":"base64","data":7})", at + ".data' must be the file's bytes as base64");
  begins(R"({"type":"url","data":"x"})", at + ".url' must be a URL");
  begins(R"({"type":"base64","media_type":"audio/wav","data":""})", at + ".media_type' must be");
  begins(R"({"type":"base64","media_type":1,"data":""})", at + ".media_type' must be a string");
  begins(R"({"type":"base64","data":"AAAA"})",
         "messages[0].content[0]: its bytes are not an image of a known format");
}

TEST(AnthropicMedia, FilesAndImagesOfAnAnswerAreRefused) {
  EXPECT_EQ(ErrorOf(Asked(R"({"type":"document","source":{"type":"base64",
                               "media_type":"application/pdf","data":"JVBERg=="}})")),
            "'messages[0].content[0].type' must be 'text' or 'image', not 'document': this server "
            "reads only documents whose source is a text; send the text");
  EXPECT_EQ(ErrorOf(Asked(Image(), "assistant")),
            "'messages[0].content[0].type' must be 'text', not 'image': the assistant's messages "
            "hold no images");
}

}  // namespace
}  // namespace cairn::anthropic_media_test
