// The demo's turns as operations on a list of messages.

#include "lab/demo/demo_conversation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cairn {
namespace {

using Messages = std::vector<ChatMessage>;

const ChatMessage kSystem = {"system", "s"};
const Messages kChat = {
    kSystem,        {"user", "u0"},     {"assistant", "a0"}, {"user", "u1"}, {"assistant", "a1"},
    {"user", "u2"}, {"assistant", "a2"}};

DemoTurn Turn(TurnOperation operation, size_t user_message, const std::string& text) {
  return {"", operation, 0, user_message, text};
}

Messages After(const DemoTurn& turn, const Messages& chat = kChat) {
  Conversations conversations = {chat};
  return ApplyTurn(turn, kSystem, &conversations);
}

TEST(DemoConversation, AppendsAMessage) {
  Messages expected = kChat;
  expected.push_back({"user", "new"});
  EXPECT_EQ(After(Turn(TurnOperation::kAppend, 0, "new")), expected);
}

TEST(DemoConversation, BeginsAnotherConversationWithTheSystemMessage) {
  Conversations conversations = {kChat};
  const DemoTurn turn = {"", TurnOperation::kAppend, 2, 0, "new"};
  const Messages expected = {kSystem, {"user", "new"}};
  EXPECT_EQ(ApplyTurn(turn, kSystem, &conversations), expected);
  EXPECT_EQ(conversations.at(0), kChat);
  EXPECT_EQ(conversations.at(2), expected);
}

TEST(DemoConversation, DropsWhatCameAfterAnEditedMessage) {
  const Messages first = {kSystem, {"user", "new"}};
  EXPECT_EQ(After(Turn(TurnOperation::kEditFrom, 0, "new")), first);
  Messages last(kChat.begin(), kChat.begin() + 5);
  last.push_back({"user", "new"});
  EXPECT_EQ(After(Turn(TurnOperation::kEditFrom, 2, "new")), last);
}

TEST(DemoConversation, AsksForTheLastAnswerAgain) {
  EXPECT_EQ(After(Turn(TurnOperation::kRegenerate, 0, "")),
            Messages(kChat.begin(), kChat.end() - 1));
}

TEST(DemoConversation, TakesThePastedPageOutOfTheHistory) {
  const Messages chat = {
      kSystem, {"user", "Why?\n\nThe page: \"Long.\""}, {"assistant", "Therefore."}};
  const Messages expected = {
      kSystem, {"user", "Why?"}, {"assistant", "Therefore."}, {"user", "new"}};
  EXPECT_EQ(After(Turn(TurnOperation::kDropPage, 0, "new"), chat), expected);
}

TEST(DemoConversation, EveryTurnEndsWithTheUsersWordAndKeepsTheDocumentInFront) {
  Conversations conversations;
  const ChatMessage system = DemoSystemMessage(DemoDocument());
  for (const DemoTurn& turn : DemoTurns(DemoDocument())) {
    Messages& messages = ApplyTurn(turn, system, &conversations);
    EXPECT_EQ(messages.front(), system);
    EXPECT_EQ(messages.back().role, "user");
    EXPECT_FALSE(messages.back().content.empty());
    messages.push_back({"assistant", "answer"});
  }
}

TEST(DemoConversation, GoesBackInEveryWayPeopleDo) {
  const std::vector<DemoTurn> turns = DemoTurns(DemoDocument());
  const auto count = [&turns](TurnOperation operation) {
    return std::count_if(turns.begin(), turns.end(),
                         [&](const DemoTurn& turn) { return turn.operation == operation; });
  };
  EXPECT_GE(count(TurnOperation::kAppend), 4);
  EXPECT_GE(count(TurnOperation::kEditFrom), 2);
  EXPECT_EQ(count(TurnOperation::kRegenerate), 1);
  EXPECT_EQ(count(TurnOperation::kDropPage), 1);
  EXPECT_TRUE(std::any_of(turns.begin(), turns.end(),
                          [](const DemoTurn& turn) { return turn.conversation > 0; }));
  EXPECT_TRUE(turns.back().after_restart);
}

TEST(DemoConversation, FitsItsContextEvenWhenEveryByteIsAToken) {
  Conversations conversations;
  const ChatMessage system = DemoSystemMessage(DemoDocument());
  for (const DemoTurn& turn : DemoTurns(DemoDocument())) {
    Messages& messages = ApplyTurn(turn, system, &conversations);
    size_t bytes = 0;
    for (const ChatMessage& message : messages) bytes += message.content.size() + 64;
    EXPECT_LT(bytes, 16'000U) << turn.what;
    messages.push_back({"assistant", std::string(200, 'a')});
  }
}

TEST(DemoConversation, DocumentIsPlainTextOfAThousandTokensOrMore) {
  const std::string_view document = DemoDocument();
  EXPECT_GT(document.size(), 4'000U);
  EXPECT_TRUE(document.starts_with("STONES ON THE WAY\n"));
  EXPECT_TRUE(std::all_of(document.begin(), document.end(),
                          [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

TEST(Passage, BeginsAndEndsWithSentences) {
  const std::string text = "One is first. Two is next. Three follows. Four ends it all. Five.";
  EXPECT_EQ(Passage(text, 0, 30), "One is first. Two is next.");
  EXPECT_EQ(Passage(text, 0.1, 30), "Two is next. Three follows.");
}

TEST(Passage, TakesWhatThereIsOfATextWithoutSentences) {
  const std::string text(100, 'x');
  EXPECT_EQ(Passage(text, 0.5, 30), std::string(30, 'x'));
  EXPECT_EQ(Passage(text, 0.9, 30), std::string(10, 'x'));
  EXPECT_EQ(Passage("", 0.5, 30), "");
  EXPECT_EQ(Passage("short", 1, 30), "");
}

TEST(Passage, CutsNoCharacterInTwo) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "\xC3\xA9";  // é
  const std::string passage = Passage(text, 0.513, 9);
  EXPECT_EQ(passage, "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9");
}

}  // namespace
}  // namespace cairn
