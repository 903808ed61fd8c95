#include "api/llama_server/native.h"

#include "api/json.h"
#include "api/llama_server/model_catalog.h"
#include "testing/api/api_fixture.h"

namespace cairn::native_test {
namespace {

using NativeTest = ApiTest;

TEST_F(NativeTest, TokenizeAndDetokenizeAreInverse) {
  const auto tokens =
      TokenizeBody(service_, R"({"content":"gr\u00fc\u00df <|im_end|>","with_pieces":false})");
  ASSERT_TRUE(tokens.has_value());
  const auto text = DetokenizeBody(service_, *tokens);
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(Json::parse(*text)["content"], "gr\u00fc\u00df <|im_end|>");
}

TEST_F(NativeTest, PiecesThatAreNoCharactersComeAsBytes) {
  const auto body = TokenizeBody(service_, R"({"content":"\u00fc","with_pieces":true})");
  ASSERT_TRUE(body.has_value());
  EXPECT_EQ(Json::parse(*body)["tokens"][0]["piece"], Json::array({0xC3}));
}

TEST_F(NativeTest, SpecialTextIsParsedOnlyWhenAsked) {
  const auto plain = TokenizeBody(service_, R"({"content":"<|im_end|>","parse_special":false})");
  EXPECT_EQ(Json::parse(*plain)["tokens"].size(), 10u);
}

TEST_F(NativeTest, BadFieldsAreNamed) {
  EXPECT_EQ(TokenizeBody(service_, "{}").error().field, "content");
  EXPECT_EQ(DetokenizeBody(service_, R"({"tokens":[99999]})").error().field, "tokens");
  EXPECT_EQ(DetokenizeBody(service_, R"({"tokens":["a"]})").error().field, "tokens");
  EXPECT_EQ(ApplyTemplateBody(service_, R"({"messages":7})").error().field, "messages");
}

TEST_F(NativeTest, ApplyTemplateGivesThePrompt) {
  const auto prompt =
      ApplyTemplateBody(service_, R"({"messages":[{"role":"user","content":"hi"}]})");
  ASSERT_TRUE(prompt.has_value());
  EXPECT_EQ(Json::parse(*prompt)["prompt"],
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
}

TEST_F(NativeTest, PropsSayWhatIsServed) {
  const ServedModel served{"my-model", "9.9", "", 1700000000, "near-end", "live"};
  const Json props = Json::parse(PropsBody(service_, GenerationParams{}, served));
  EXPECT_EQ(props["default_generation_settings"]["n_ctx"], 4096);
  EXPECT_EQ(props["total_slots"], 1);
  EXPECT_EQ(props["cairn"]["memory_class"], "hybrid");
  EXPECT_EQ(props["cairn"]["cache"]["checkpoints"], 0);
  EXPECT_EQ(props["cairn"]["cache"]["failed"], 0);
  EXPECT_NE(props["chat_template"].get<std::string>().find("im_start"), std::string::npos);
}

}  // namespace
}  // namespace cairn::native_test
