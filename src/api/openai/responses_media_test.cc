// Tests images and recordings in requests of POST /v1/responses.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "api/openai/response_items.h"
#include "api/openai/responses_request.h"
#include "testing/api/media_samples.h"

namespace cairn::responses_media_test {
namespace {

using test::MediaOf;
using test::PngMarker;
using test::PngUrl;
using test::WavFile;
using test::WavMarker;

std::string Image(const std::string& name = "a") {
  return R"({"type":"input_image","detail":"auto","image_url":")" + PngUrl(name) + "\"}";
}
std::string Asked(const std::string& parts, const std::string& role = "user") {
  return R"({"input":[{"role":")" + role + R"(","content":[)" + parts + "]}]}";
}

ApiResult<Conversation> Parse(const std::string& body, const ResponseTurns& history = {},
                              const MediaRules& rules = test::TakingRules()) {
  auto request = ParseResponsesRequest(*ParseBody(body), GenerationParams{}, history, rules);
  if (!request) return tl::unexpected(request.error());
  return std::move(request->chat.conversation);
}

std::string ErrorOf(const std::string& body, const MediaRules& rules = test::TakingRules()) {
  const auto parsed = Parse(body, {}, rules);
  if (parsed) return "";
  EXPECT_EQ(parsed.error().status, 400);
  return parsed.error().message;
}

TEST(ResponsesMedia, AMarkerStandsWhereThePartWas) {
  for (const char* role : {"user", "system", "developer"}) {
    const auto talk =
        Parse(Asked(R"({"type":"input_text","text":"A "},)" + Image() +
                        R"(,{"type":"input_audio","input_audio":{"format":"wav","data":")" +
                        EncodeBase64(WavFile()) + R"("}},{"type":"input_text","text":" B"})",
                    role));
    ASSERT_TRUE(talk.has_value()) << talk.error().message;
    EXPECT_EQ(talk->messages[0].content, "A " + PngMarker() + WavMarker() + " B");
    ASSERT_EQ(MediaOf(*talk).size(), 2u);
    EXPECT_EQ(MediaOf(*talk)[0]->place, "input[0].content[1]");
    EXPECT_EQ(MediaOf(*talk)[1]->place, "input[0].content[2]");
  }
}

// As Codex answers a call of view_image.
TEST(ResponsesMedia, OutputsOfCallsMayHoldImages) {
  const auto talk = Parse(R"({"input":[{"role":"user","content":"look"},
      {"type":"function_call","call_id":"1","name":"view_image","arguments":"{}"},
      {"type":"function_call_output","call_id":"1","output":[)" +
                          Image() + "]}]}");
  ASSERT_TRUE(talk.has_value()) << talk.error().message;
  ASSERT_EQ(talk->messages.size(), 3u);
  EXPECT_EQ(talk->messages[2].role, Role::kTool);
  EXPECT_EQ(talk->messages[2].content, PngMarker());
  EXPECT_EQ(MediaOf(*talk).at(0)->place, "input[2].output[0]");
}

TEST(ResponsesMedia, AContinuedConversationHasTheImagesOfItsTurns) {
  const Json input = ListedInput((*ParseBody(Asked(Image())))["input"], "1");
  const ResponseTurns history = {std::make_shared<ResponseTurn>(ResponseTurn{
      "resp_1", ToText(input), R"({"output":[{"type":"message","role":"assistant","content":
                                    [{"type":"output_text","text":"seen"}]}]})"})};
  const auto talk = Parse(Asked(Image("b") + "," + Image()), history);
  ASSERT_TRUE(talk.has_value()) << talk.error().message;
  ASSERT_EQ(talk->messages.size(), 3u);
  EXPECT_EQ(talk->messages[0].content, PngMarker());
  EXPECT_EQ(talk->messages[1].content, "seen");
  EXPECT_EQ(talk->messages[2].content, PngMarker("b") + PngMarker());
  ASSERT_EQ(MediaOf(*talk).size(), 2u);
  EXPECT_EQ(MediaOf(*talk)[0]->place, "resp_1.input[0].content[0]");
  EXPECT_EQ(MediaOf(*talk)[1]->place, "input[0].content[0]");
  MediaRules rules = test::TakingRules();
  rules.media_max = 2;
  const auto refused = Parse(Asked(Image("b") + "," + Image()), history, rules);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().message.starts_with("input[0].content[1]: a request may have 2 "));
}

TEST(ResponsesMedia, WithoutAProjectorTheErrorSaysWhatToDo) {
  EXPECT_EQ(ErrorOf(Asked(Image()), {}),
            "input[0].content[0]: this server takes no images: start it with --mmproj FILE");
}

TEST(ResponsesMedia, MistakesAreNamed) {
  const auto begins = [](const std::string& part, const std::string& beginning) {
    const std::string error = ErrorOf(Asked(part));
    EXPECT_TRUE(error.starts_with(beginning)) << error;
  };
  const std::string at = "'input[0].content[0].";
  begins(R"({"type":"input_image"})", at + "image_url' must be a URL");
  begins(R"({"type":"input_image","image_url":null})", at + "image_url' must be a URL");
  begins(R"({"type":"input_image","file_id":"f"})",
         at + "image_url' must be a URL instead of 'file_id': this server stores no files");
  begins(R"({"type":"input_file"})", at + "type' must be 'input_text', 'input_image' or "
                                          "'input_audio', not 'input_file'");
  begins(R"({"type":"input_image","image_url":"https://example.org/a.png"})",
         "input[0].content[0]: this server fetches no URLs: send the file as a data URL");
  EXPECT_EQ(ErrorOf(Asked(Image(), "assistant")),
            "'input[0].content[0].type' must be 'output_text' in a message of the assistant, not "
            "'input_image'");
}

}  // namespace
}  // namespace cairn::responses_media_test
