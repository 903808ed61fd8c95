#include "chat/template/builtin_templates.h"

#include <sstream>
#include <string>
#include <vector>

#include "testing/base/golden_file.h"
#include "testing/chat/test_templates.h"

namespace cairn::builtin_templates_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

TEST(BuiltinTemplates, NamesThemAllWhenAskedForOneThatIsNot) {
  const auto none = BuiltinTemplate("chatgpt");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(none.error().message.starts_with(
      "there is no chat template called \"chatgpt\"; the names are chatml, gemma, llama3, qwen "
      "and, without tools, bailing, "))
      << none.error().message;
  EXPECT_NE(none.error().message.find("command-r"), std::string::npos);
  EXPECT_TRUE(BuiltinTemplate(kDefaultTemplate).has_value());
}

TEST(BuiltinTemplates, AllRenderAPlainConversation) {
  std::vector<std::string> names = BuiltinTemplateNames();
  for (const auto& [name, source] : PlainTemplates()) names.push_back(name);
  for (const std::string& name : names) {
    const std::string text =
        Render(*Builtin(name),
               {.messages = {System("Be brief."), User("Hi"), Assistant("Hello"), User("Bye")}});
    size_t at = 0;
    for (const char* part : {"Be brief.", "Hi", "Hello", "Bye"}) {
      at = text.find(part, at);
      ASSERT_NE(at, std::string::npos) << name << ": " << text;
    }
  }
}

// The file has what llama_chat_apply_template of libllama 0.7.0 makes of a system message "Zz",
// "U1", the answer "A1" and "U2", by name; a line break is "\\n".
TEST(BuiltinTemplates, PlainOnesPrintWhatLlamaCppPrints) {
  std::istringstream lines(ReadSourceFile("testdata/golden/plain_templates.txt"));
  size_t templates = 0;
  for (std::string line; std::getline(lines, line); ++templates) {
    const std::string name = line.substr(0, line.find('\t'));
    std::string expected = line.substr(name.size() + 1);
    // It leaves the system message out, which would change what a client asked for.
    if (name == "yandex") continue;
    for (size_t at = 0; (at = expected.find("\\n", at)) != std::string::npos; ++at) {
      expected.replace(at, 2, "\n");
    }
    EXPECT_EQ(Render(*Builtin(name.c_str()),
                     {.messages = {System("Zz"), User("U1"), Assistant("A1"), User("U2")}}),
              expected)
        << name;
  }
  EXPECT_EQ(templates, PlainTemplates().size());
}

TEST(BuiltinTemplates, PlainOnesWithADefaultPrintItWhereThereIsNoSystemMessage) {
  EXPECT_TRUE(Render(*Builtin("bailing2"), {.messages = {User("U")}})
                  .starts_with("<role>SYSTEM</role>detailed thinking off<|role_end|>"));
}

TEST(BuiltinTemplates, ChatmlRendersTurns) {
  EXPECT_EQ(Render(*Builtin("chatml"), {.messages = {System("S"), User("U")}}),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST(BuiltinTemplates, ChatmlPutsToolsIntoTheSystemMessage) {
  const std::string text = Render(
      *Builtin("chatml"), {.messages = {System("S"), User("U"),
                                        Call("weather", R"({"city":"Rome"})"), ToolAnswer("sunny")},
                           .tools = Tools::Parse(kWeatherTool).value()});
  EXPECT_EQ(text.rfind("<|im_start|>system\nS\n\nThese tools", 0), 0u) << text;
  EXPECT_NE(
      text.find(R"(<tool_call>{"name": "weather", "arguments": {"city":"Rome"}}</tool_call>)"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("<|im_start|>tool\nsunny<|im_end|>"), std::string::npos) << text;
}

TEST(BuiltinTemplates, QwenDropsReasoningOnceANewQueryFollows) {
  const auto qwen = Builtin("qwen");
  Conversation talk{.messages = {User("Q1"), Call("weather", "{}", "Hm."), ToolAnswer("sunny")}};
  EXPECT_EQ(Render(*qwen, talk),
            "<|im_start|>user\nQ1<|im_end|>\n<|im_start|>assistant\n<think>\nHm.\n</think>\n\n"
            "<tool_call>\n{\"name\": \"weather\", \"arguments\": {}}\n</tool_call><|im_end|>\n"
            "<|im_start|>user\n<tool_response>\nsunny\n</tool_response><|im_end|>\n"
            "<|im_start|>assistant\n");
  talk.messages.push_back(User("Q2"));
  EXPECT_EQ(Render(*qwen, talk).find("Hm."), std::string::npos);
}

TEST(BuiltinTemplates, QwenClosesTheReasoningWhenToldNotToThink) {
  const std::string text =
      Render(*Builtin("qwen"),
             {.messages = {User("Q")}, .template_kwargs_json = R"({"enable_thinking":false})"});
  EXPECT_TRUE(text.ends_with("assistant\n<think>\n\n</think>\n\n")) << text;
}

TEST(BuiltinTemplates, GemmaMergesTheSystemTextAndDemandsTurns) {
  const auto gemma = Builtin("gemma");
  EXPECT_EQ(Render(*gemma, {.messages = {System("S"), User(" U1 "), Assistant("A"), User("U2")}}),
            "<s><start_of_turn>user\nS\n\nU1<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n"
            "<start_of_turn>user\nU2<end_of_turn>\n<start_of_turn>model\n");
  EXPECT_EQ(Render(*gemma, {.messages = {Assistant("A"), User("U1")}}),
            "error: the chat template refuses this conversation: the messages must alternate "
            "between user and assistant, after at most one system message");
}

TEST(BuiltinTemplates, Llama3RendersHeadersToolsAndTheirAnswers) {
  const auto llama = Builtin("llama3");
  EXPECT_EQ(Render(*llama, {.messages = {User("U")}}),
            "<s><|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
  const std::string text =
      Render(*llama, {.messages = {User("U"), Call("weather", "{}"), ToolAnswer("sunny")},
                      .tools = Tools::Parse(kWeatherTool).value()});
  EXPECT_NE(text.find("{\"name\": \"weather\", \"parameters\": {}}<|eot_id|>"
                      "<|start_header_id|>ipython<|end_header_id|>\n\nsunny"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace cairn::builtin_templates_test
