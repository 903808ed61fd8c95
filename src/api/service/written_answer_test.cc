#include "api/service/written_answer.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "chat/parse/answer_parser.h"
#include "testing/base/golden_file.h"
#include "testing/chat/parsed_answer.h"
#include "testing/chat/test_templates.h"

namespace cairn::written_answer_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

constexpr char kArguments[] = R"({"city":"Rome \"\\ \n","days":3,"exact":false})";

// Those of which the agents' answers are tried (scripts/clients/matrix.py).
constexpr std::array kFamilies = {"deepseek-v3", "gemma3",     "glm-4.5", "gpt-oss",
                                  "mistral-v3",  "nemotron-h", "qwen3.5"};

// Each is parsed once: that takes longer than all that is done with it.
const ChatTemplate* TemplateOf(const std::string& family) {
  static auto* const parsed = new std::map<std::string, std::unique_ptr<ChatTemplate>>;
  auto& found = (*parsed)[family];
  if (found == nullptr) {
    auto made = ChatTemplate::Parse(ReadSourceFile("testdata/templates/" + family + ".jinja"),
                                    "<bos>", "<eos>");
    EXPECT_TRUE(made.has_value()) << family;
    if (made) found = *std::move(made);
  }
  return found.get();
}

Message Saying(std::string content, std::string reasoning = "") {
  return {
      .role = Role::kAssistant, .content = std::move(content), .reasoning = std::move(reasoning)};
}

void ReplaceAll(const std::string& from, const std::string& to, std::string* text) {
  for (size_t at = text->find(from); at != std::string::npos; at = text->find(from, at + to.size()))
    text->replace(at, from.size(), to);
}

// What the answer's parser makes of the text that is written for it behind the generation prompt,
// without the white space in which templates differ.
std::string ReadBack(const Message& answer, const ChatTemplate& chat_template) {
  const Conversation talk{.messages = {User("stone")}, .tools = Tools::Parse(kTools).value()};
  const auto text = WrittenAnswer(answer, talk, chat_template);
  if (!text) return "error: " + text.error().message;
  const auto prompt = chat_template.Render(talk, true);
  if (!prompt) return "error: " + prompt.error().message;
  std::string read =
      ParsePushed(FindAnswerFormat(chat_template, *prompt, talk.tools), {*text}).text;
  ReplaceAll("\": ", "\":", &read);
  ReplaceAll(", \"", ",\"", &read);
  ReplaceAll("content{ ", "content{", &read);
  return read;
}

TEST(WrittenAnswer, IsReadBackUnderTheTemplatesOfFamilies) {
  for (const char* family : kFamilies) {
    EXPECT_EQ(ReadBack(Saying("Granite."), *TemplateOf(family)), "content{Granite.}") << family;
  }
}

TEST(WrittenAnswer, WritesCallsAsTheTemplateDoes) {
  for (const char* family : {"gpt-oss", "lfm2", "mistral-v3", "qwen3", "qwen3.5"}) {
    Message answer = Saying("", "I look.");
    answer.tool_calls = {{"call00001", "weather", kArguments}};
    const std::string read = ReadBack(answer, *TemplateOf(family));
    EXPECT_TRUE(read.ends_with("call0{weather " + std::string(kArguments) + "}"))
        << family << ": " << read;
    EXPECT_EQ(read.find("content{"), std::string::npos) << family << ": " << read;
  }
}

TEST(WrittenAnswer, HasWhatClosesItsCalls) {
  Message answer = Saying("");
  answer.tool_calls = {{"call00001", "weather", kArguments}};
  const Conversation talk{.tools = Tools::Parse(kTools).value()};
  const auto text = WrittenAnswer(answer, talk, *TemplateOf("qwen3"));
  ASSERT_TRUE(text.has_value()) << text.error().message;
  EXPECT_TRUE(text->ends_with("}\n</tool_call>")) << *text;
}

TEST(WrittenAnswer, WritesReasoningWhereTheTemplateShowsSome) {
  for (const char* family : {"qwen3.5", "gpt-oss", "glm-4.5", "nemotron-h"}) {
    EXPECT_EQ(ReadBack(Saying("Granite.", "I look."), *TemplateOf(family)),
              "reasoning{I look.} content{Granite.}")
        << family;
  }
  for (const char* family : {"gemma3", "mistral-v3", "deepseek-v3"}) {
    EXPECT_EQ(ReadBack(Saying("Granite.", "I look."), *TemplateOf(family)), "content{Granite.}")
        << family;
  }
}

TEST(WrittenAnswer, ClosesReasoningThatTheGenerationPromptOpensAndTheTemplateDoesNotShow) {
  const auto chat_template = ChatTemplate::Parse(
      "{%- for m in messages %}{{- m.role + ':' + m.content + ';' }}{%- endfor %}"
      "{%- if add_generation_prompt %}{{- 'assistant:<think>' }}{%- endif %}",
      "", "");
  ASSERT_TRUE(chat_template.has_value());
  EXPECT_EQ(WrittenAnswer(Saying("A"), {}, **chat_template), "\n</think>\n\nA");
  EXPECT_EQ(WrittenAnswer(Saying("A", "B"), {}, **chat_template), "B\n</think>\n\nA");
}

TEST(WrittenAnswer, ClosesReasoningOnceWhereEarlierAnswersShowTheClosingTag) {
  const Conversation talk{.template_kwargs_json = R"({"thinking":true})"};
  EXPECT_EQ(WrittenAnswer(Saying("A", "B"), talk, *TemplateOf("deepseek-v3")), "B\n</think>\n\nA");
}

TEST(WrittenAnswer, RefusesATemplateThatDoesNotShowAnswers) {
  const auto chat_template =
      ChatTemplate::Parse("{%- for m in messages %}{{- m.role }}{%- endfor %}", "", "");
  ASSERT_TRUE(chat_template.has_value());
  const auto text = WrittenAnswer(Saying("A"), {}, **chat_template);
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace cairn::written_answer_test
