#include "api/prompt/next_turn.h"

#include <gtest/gtest.h>

namespace cairn::next_turn_test {
namespace {

constexpr char kTools[] = R"([{"type": "function", "function": {"name": "weather"}}])";

Conversation Asked(std::vector<Message> earlier = {}) {
  Conversation conversation;
  conversation.messages = std::move(earlier);
  conversation.messages.push_back({.role = Role::kUser, .content = "Hi"});
  return conversation;
}

TEST(AnswerMessage, HasReasoningContentAndCallsApart) {
  const Message message =
      AnswerMessage({CallFormat::kHermes, true, Tools::Parse(kTools).value()},
                    "Hm.</think>I look.<tool_call>{\"name\": \"weather\", \"arguments\": "
                    "{\"city\": \"Rome\"}}</tool_call>");
  EXPECT_EQ(message.role, Role::kAssistant);
  EXPECT_EQ(message.reasoning, "Hm.");
  EXPECT_EQ(message.content, "I look.");
  ASSERT_EQ(message.tool_calls.size(), 1u);
  EXPECT_EQ(message.tool_calls[0].name, "weather");
  EXPECT_EQ(message.tool_calls[0].arguments, "{\"city\": \"Rome\"}");
}

TEST(ExpectedConversations, EndWithAUsersMessageAfterAnAnswer) {
  const auto expected = ExpectedConversations(Asked(), {.role = Role::kAssistant, .content = "Ho"});
  ASSERT_EQ(expected.size(), 1u);
  ASSERT_EQ(expected[0].messages.size(), 3u);
  EXPECT_EQ(expected[0].messages[1].content, "Ho");
  EXPECT_EQ(expected[0].messages[2].role, Role::kUser);
}

TEST(ExpectedConversations, EndWithAResultOfEachCall) {
  Message answer{.role = Role::kAssistant};
  answer.tool_calls = {{.name = "weather"}, {.name = "time"}};
  const auto expected = ExpectedConversations(Asked(), answer);
  ASSERT_EQ(expected.size(), 1u);
  const auto& messages = expected[0].messages;
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[2].role, Role::kTool);
  EXPECT_EQ(messages[2].tool_call_id, messages[1].tool_calls[0].id);
  EXPECT_EQ(messages[3].name, "time");
  EXPECT_NE(messages[2].tool_call_id, messages[3].tool_call_id);
}

TEST(ExpectedConversations, AreTwoOfAFirstAnswerWithReasoning) {
  const Message answer{.role = Role::kAssistant, .content = "Ho", .reasoning = "Hm."};
  const auto expected = ExpectedConversations(Asked(), answer);
  ASSERT_EQ(expected.size(), 2u);
  EXPECT_EQ(expected[0].messages[1].reasoning, "");
  EXPECT_EQ(expected[1].messages[1].reasoning, "Hm.");
}

TEST(ExpectedConversations, DoAsTheClientDidBefore) {
  const Message answer{.role = Role::kAssistant, .content = "Ho", .reasoning = "Hm."};
  Message earlier{.role = Role::kAssistant, .content = "What?"};
  const auto dropped = ExpectedConversations(Asked({earlier}), answer);
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].messages[2].reasoning, "");
  earlier.reasoning = "So.";
  const auto sent = ExpectedConversations(Asked({earlier}), answer);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].messages[2].reasoning, "Hm.");
}

}  // namespace
}  // namespace cairn::next_turn_test
