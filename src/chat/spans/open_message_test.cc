#include "chat/spans/open_message.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/chat/family_templates.h"
#include "testing/chat/test_templates.h"

namespace cairn::open_message_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

constexpr char kText[] = "A cairn is";

Conversation Open(Message last) {
  return {.messages = {System("Be brief."), User("What is a cairn?"), std::move(last)},
          .now_unix_s = 1'700'000'000};
}

PromptText Rendered(const ChatTemplate& chat_template, const Conversation& conversation,
                    const SpecialTexts& specials = SpecialTexts({})) {
  const auto prompt = RenderOpenMessage(chat_template, specials, conversation);
  EXPECT_TRUE(prompt.has_value()) << (prompt ? "" : prompt.error().message);
  return prompt ? *prompt : PromptText();
}

std::string Prefilled(const PromptText& prompt) {
  return prompt.text.substr(prompt.text.size() - prompt.prefilled_bytes);
}

TEST(OpenMessage, EndsWithTheTextInEveryFamilyBehindAllThatWasAskedBefore) {
  for (const std::string& name : FamilyNames()) {
    SCOPED_TRACE(name);
    const auto chat_template = Family(name);
    const Conversation conversation = Open(Assistant(kText));
    const PromptText prompt = Rendered(*chat_template, conversation);
    EXPECT_TRUE(prompt.text.ends_with(kText)) << prompt.text;
    EXPECT_TRUE(Prefilled(prompt).ends_with(kText)) << prompt.text;
    Conversation before = conversation;
    before.messages.pop_back();
    const auto asked = RenderPrompt(*chat_template, SpecialTexts({}), before);
    ASSERT_TRUE(asked.has_value());
    // This family renders the same with and without a generation prompt, so its begin is not known.
    const size_t end =
        name == "command-r7b" ? prompt.shape.last_message_end : asked->shape.last_message_end;
    EXPECT_EQ(prompt.shape.last_message_end, end);
    EXPECT_EQ(prompt.shape.header_end, asked->shape.header_end);
    EXPECT_EQ(prompt.shape.spans.size(), asked->shape.spans.size());
    EXPECT_EQ(prompt.text.substr(0, end), asked->text.substr(0, end));
    EXPECT_NE(prompt.text.find("Be brief."), std::string::npos) << prompt.text;
    EXPECT_EQ(prompt.text.find(kText), prompt.text.size() - sizeof(kText) + 1);
  }
}

TEST(OpenMessage, IsContinuedBehindReasoningThatTheTemplateCloses) {
  const auto chat_template = Parsed(kOpenThink);
  const PromptText prompt = Rendered(*chat_template, Open(Assistant(kText, "Stones.")));
  EXPECT_EQ(Prefilled(prompt), "Stones.\n</think>\n\nA cairn is");
  EXPECT_TRUE(prompt.text.ends_with("<|im_start|>assistant\n<think>\n" + Prefilled(prompt)));
}

TEST(OpenMessage, OfReasoningAloneIsContinuedInsideIt) {
  const auto chat_template = Parsed(kOpenThink);
  const PromptText prompt = Rendered(*chat_template, Open(Assistant("", "Stones,")));
  EXPECT_TRUE(prompt.text.ends_with("assistant\n<think>\nStones,")) << prompt.text;
  EXPECT_EQ(Prefilled(prompt), "Stones,");
}

TEST(OpenMessage, WhereItsFrontIsNotTheGenerationPromptNoTagIsCut) {
  const auto chat_template = Parsed(
      "{%- for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
      "{% if add_generation_prompt %}<assistant><think>{% endif %}");
  const PromptText prompt = Rendered(*chat_template, Open(Assistant("<b>bold")));
  EXPECT_EQ(Prefilled(prompt), "<b>bold");
}

TEST(OpenMessage, SpecialTextsInItAreTheClientsOwn) {
  const SpecialTexts specials({"<|im_start|>", "<|im_end|>"});
  const PromptText prompt =
      Rendered(*Builtin("chatml"), Open(Assistant("so<|im_end|>\n<|im_start|>system")), specials);
  EXPECT_TRUE(prompt.text.ends_with("so<|im_end|>\n<|im_start|>system"));
  ASSERT_EQ(prompt.literals.size(), 2u);
  EXPECT_EQ(prompt.literals[1].end, prompt.text.size() - 6);
}

TEST(OpenMessage, ATemplateThatDoesNotPrintItAsItCameIsAnError) {
  for (const char* shown : {"m.content | upper", "m.content | trim", "'x'"}) {
    const auto chat_template =
        Parsed(std::string("{%- for m in messages %}<{{ m.role }}>{{ ") + shown +
               " }}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}");
    const auto prompt =
        RenderOpenMessage(*chat_template, SpecialTexts({}), Open(Assistant(" A cairn")));
    ASSERT_FALSE(prompt.has_value()) << prompt->text;
    EXPECT_EQ(prompt.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(prompt.error().message.find("cannot be continued"), std::string::npos);
  }
}

TEST(OpenMessage, WhiteSpaceAtItsEndIsKeptWhereTheTemplateTrimsIt) {
  const auto chat_template = Parsed(
      "{%- for m in messages %}<{{ m.role }}>{{ m.content | trim }}<end>{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}");
  const PromptText prompt = Rendered(*chat_template, Open(Assistant("A cairn \n")));
  EXPECT_TRUE(prompt.text.ends_with("<assistant>A cairn \n")) << prompt.text;
  EXPECT_EQ(Prefilled(prompt), "A cairn \n");
}

TEST(OpenMessage, IsTheLastOfTwoWithTheSameText) {
  Conversation talk = Open(Assistant("so"));
  talk.messages[1].content = "so";
  EXPECT_TRUE(Rendered(*Builtin("chatml"), talk).text.ends_with("<|im_start|>assistant\nso"));
}

}  // namespace
}  // namespace cairn::open_message_test
