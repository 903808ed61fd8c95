// The chat template of synthetic models, rendered by the server's chat layer.

#include <gtest/gtest.h>

#include "chat/template/chat_template.h"
#include "lab/maker/model_vocabulary.h"

namespace cairn {
namespace {

const ChatTemplate& Made() {
  static const auto made =
      ChatTemplate::Parse(std::string(SyntheticChatTemplate()), "", "<|im_end|>");
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return **made;
}

std::string Render(const Conversation& conversation, bool add_generation_prompt = true) {
  const Result<std::string> text = Made().Render(conversation, add_generation_prompt);
  return text ? *text : "error: " + text.error().message;
}

Message System(std::string content) {
  return {.role = Role::kSystem, .content = std::move(content)};
}
Message User(std::string content) {
  return {.role = Role::kUser, .content = std::move(content)};
}
Message Assistant(std::string content, std::string reasoning = {},
                  std::vector<ToolCall> calls = {}) {
  return {.role = Role::kAssistant,
          .content = std::move(content),
          .reasoning = std::move(reasoning),
          .tool_calls = std::move(calls)};
}
Message ToolAnswer(std::string content, std::string id) {
  return {.role = Role::kTool, .content = std::move(content), .tool_call_id = std::move(id)};
}

TEST(MadeModelTemplate, RendersTurns) {
  EXPECT_EQ(
      Render({.messages = {System("Be brief."), User("Hi"), Assistant("Hello"), User("Bye")}}),
      "<|im_start|>system\nBe brief.<|im_end|>\n"
      "<|im_start|>user\nHi<|im_end|>\n"
      "<|im_start|>assistant\nHello<|im_end|>\n"
      "<|im_start|>user\nBye<|im_end|>\n"
      "<|im_start|>assistant\n");
}

TEST(MadeModelTemplate, LeavesOutTheGenerationPromptWhenNotAsked) {
  EXPECT_EQ(Render({.messages = {User("Hi")}}, false), "<|im_start|>user\nHi<|im_end|>\n");
}

TEST(MadeModelTemplate, KeepsALaterSystemMessageInItsPlace) {
  EXPECT_EQ(Render({.messages = {User("Hi"), System("Now!")}}),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>system\nNow!<|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST(MadeModelTemplate, StripsReasoningBeforeTheLastUserMessage) {
  const std::string text =
      Render({.messages = {User("1"), Assistant("one", "why one"), User("2"),
                           Assistant("<think>\nwhy two\n</think>\n\ntwo"), User("3")}});
  EXPECT_EQ(text.find("why"), std::string::npos) << text;
  EXPECT_EQ(text.find("think"), std::string::npos) << text;
  EXPECT_NE(text.find("<|im_start|>assistant\none<|im_end|>"), std::string::npos) << text;
  EXPECT_NE(text.find("<|im_start|>assistant\ntwo<|im_end|>"), std::string::npos) << text;
}

TEST(MadeModelTemplate, KeepsReasoningInsideAToolLoop) {
  const std::vector<ToolCall> calls = {{.id = "a", .name = "ls", .arguments = R"({"dir": "/"})"}};
  // All formats of the same reasoning give the same rendering.
  for (const Message& answer :
       {Assistant("look", "hm", calls), Assistant("<think>hm</think>look", "", calls),
        Assistant("<think>\nhm\n</think>\n\nlook", "", calls)}) {
    EXPECT_EQ(
        Render({.messages = {User("1"), answer, ToolAnswer("bin", "a"), ToolAnswer("etc", "b")}}),
        "<|im_start|>user\n1<|im_end|>\n"
        "<|im_start|>assistant\n<think>\nhm\n</think>\n\nlook\n"
        "<tool_call>\n{\"name\": \"ls\", \"arguments\": {\"dir\": \"/\"}}\n</tool_call>"
        "<|im_end|>\n"
        "<|im_start|>user\n<tool_response>\nbin\n</tool_response>\n"
        "<tool_response>\netc\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n");
  }
}

TEST(MadeModelTemplate, TakesCallsWithoutContentOrArguments) {
  EXPECT_EQ(Render({.messages = {User("1"), Assistant("", "",
                                                      {{.name = "a", .arguments = "{}"},
                                                       {.name = "b", .arguments = "{}"}})}},
                   false),
            "<|im_start|>user\n1<|im_end|>\n<|im_start|>assistant\n"
            "<tool_call>\n{\"name\": \"a\", \"arguments\": {}}\n</tool_call>\n"
            "<tool_call>\n{\"name\": \"b\", \"arguments\": {}}\n</tool_call><|im_end|>\n");
}

TEST(MadeModelTemplate, ListsToolsInTheSystemBlock) {
  const Tools tools = Tools::Parse(R"([{"type":"function","function":{"name":"ls"}}])").value();
  const std::string with_system =
      Render({.messages = {System("Be brief."), User("Hi")}, .tools = tools});
  EXPECT_EQ(with_system.find("<|im_start|>system\nBe brief.\n\n# Tools\n"), 0U) << with_system;
  EXPECT_NE(with_system.find(R"({"type": "function", "function": {"name": "ls"}})"),
            std::string::npos)
      << with_system;
  EXPECT_EQ(with_system.find("Be brief.", 40), std::string::npos) << with_system;
  const std::string without = Render({.messages = {User("Hi")}, .tools = tools});
  EXPECT_EQ(without.find("<|im_start|>system\n# Tools\n"), 0U) << without;
}

TEST(MadeModelTemplate, BeginsWithEmptyReasoningWhenThinkingIsOff) {
  EXPECT_EQ(
      Render({.messages = {User("Hi")}, .template_kwargs_json = R"({"enable_thinking": false})"}),
      "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
  EXPECT_EQ(
      Render({.messages = {User("Hi")}, .template_kwargs_json = R"({"enable_thinking": true})"}),
      "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

TEST(MadeModelTemplate, TellsTheChatLayerWhatItCanDo) {
  const TemplateCaps& caps = Made().caps();
  EXPECT_TRUE(caps.system_role);
  EXPECT_TRUE(caps.tools);
  EXPECT_TRUE(caps.tool_calls);
  EXPECT_TRUE(caps.tool_responses);
  EXPECT_FALSE(caps.typed_content);
}

}  // namespace
}  // namespace cairn
