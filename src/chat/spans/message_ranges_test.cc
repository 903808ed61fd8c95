#include "chat/spans/message_ranges.h"

#include "testing/chat/family_templates.h"
#include "testing/chat/test_templates.h"

namespace cairn::message_ranges_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

struct Ranged {
  std::string text;
  std::vector<std::optional<TextRange>> ranges;
};

std::optional<Ranged> Ranges(const ChatTemplate& chat_template, const Conversation& talk) {
  const auto rendered = chat_template.RenderWithOrigins(talk, true);
  if (!rendered) return std::nullopt;  // the template refuses this conversation
  const TextShape shape = FindTextShape(chat_template, talk, *rendered);
  return Ranged{rendered->text, FindMessageRanges(talk.messages, shape)};
}

// Returns the prompt with each message's range in brackets after its number.
std::string Sampled(const ChatTemplate& chat_template, const Conversation& talk) {
  const auto [text, ranges] = Ranges(chat_template, talk).value_or(Ranged());
  std::string sampled;
  size_t at = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i]) continue;
    sampled += text.substr(at, ranges[i]->begin - at) + std::to_string(i) + "[" +
               text.substr(ranges[i]->begin, ranges[i]->end - ranges[i]->begin) + "]";
    at = ranges[i]->end;
  }
  return sampled + text.substr(at);
}

TEST(MessageRanges, AUsersMessageIsItsTextAndTheRestIsTheOthers) {
  EXPECT_EQ(Sampled(*Builtin("chatml"),
                    {.messages = {System("S"), User("U1"), Assistant("A"), User("U2")}}),
            "0[<|im_start|>system\nS<|im_end|>\n<|im_start|>user\n]1[U1]"
            "2[<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n<|im_start|>user\n]3[U2]"
            "<|im_end|>\n<|im_start|>assistant\n");
}

TEST(MessageRanges, WhatStandsBeforeTheFirstMessageOfAUserIsNobodys) {
  EXPECT_EQ(Sampled(*Builtin("chatml"), {.messages = {User("U")}}),
            "<|im_start|>user\n0[U]<|im_end|>\n<|im_start|>assistant\n");
}

TEST(MessageRanges, AnAnswersReasoningAndCallsAreItsOwn) {
  Message call = Call("f", "{}", "");
  call.reasoning = "Why not";
  EXPECT_EQ(Sampled(*Builtin("qwen"), {.messages = {User("U"), call, ToolAnswer("T")}}),
            "<|im_start|>user\n0[U]1[<|im_end|>\n<|im_start|>assistant\n<think>\nWhy not\n</think>"
            "\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call><|im_end|>\n"
            "<|im_start|>user\n<tool_response>\n]2[T]\n</tool_response><|im_end|>\n"
            "<|im_start|>assistant\n");
}

// The answer's text also occurs in the template's own text.
TEST(MessageRanges, AnswersOfAFewLettersAreNotLookedFor) {
  EXPECT_EQ(Sampled(*Builtin("chatml"), {.messages = {User("a"), Assistant("s"), User("u")}}),
            "<|im_start|>user\n0[a]1[<|im_end|>\n<|im_start|>assistant\ns<|im_end|>\n"
            "<|im_start|>user\n]2[u]<|im_end|>\n<|im_start|>assistant\n");
}

TEST(MessageRanges, OfTwoAnswersInARowTheSecondBeginsAtItsText) {
  EXPECT_EQ(Sampled(*Builtin("chatml"),
                    {.messages = {User("U"), Assistant("Yes."), Assistant("No."), User("Oh")}}),
            "<|im_start|>user\n0[U]1[<|im_end|>\n<|im_start|>assistant\nYes.<|im_end|>\n"
            "<|im_start|>assistant\n]2[No.<|im_end|>\n<|im_start|>user\n]3[Oh]<|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST(MessageRanges, OfTwoAnswersThatAreTheSameEachHasItsOwnPlace) {
  EXPECT_EQ(Sampled(*Builtin("chatml"),
                    {.messages = {User("U"), Assistant("Yes."), Assistant("Yes."), User("Oh")}}),
            "<|im_start|>user\n0[U]1[<|im_end|>\n<|im_start|>assistant\nYes.<|im_end|>\n"
            "<|im_start|>assistant\n]2[Yes.<|im_end|>\n<|im_start|>user\n]3[Oh]<|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST(MessageRanges, WhiteSpaceThatIsPrintedBelongsToItsMessage) {
  EXPECT_EQ(Sampled(*Builtin("chatml"), {.messages = {User(" U \n"), Assistant("A"), User("V")}}),
            "<|im_start|>user\n0[ U \n]1[<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n"
            "<|im_start|>user\n]2[V]<|im_end|>\n<|im_start|>assistant\n");
}

// Checks the words that occur in one message only: "m3a" and the like.
TEST(MessageRanges, HoldTheWordsOfNoOtherMessage) {
  size_t words = 0;
  for (const std::string& name : FamilyNames()) {
    const auto family = Family(name);
    ASSERT_NE(family, nullptr);
    for (const NamedConversation& tried : FamilyConversations()) {
      const auto ranged = Ranges(*family, tried.conversation);
      if (!ranged) continue;
      const auto& [text, ranges] = *ranged;
      for (size_t i = 0; i < ranges.size(); ++i) {
        for (const char* what : {"m", "r", "c"}) {
          const size_t at = text.find(what + std::to_string(i) + "a");
          if (at == std::string::npos) continue;
          for (size_t other = 0; other < ranges.size(); ++other) {
            if (!ranges[other] || at < ranges[other]->begin || at >= ranges[other]->end) continue;
            ++words;
            // The text of a message without a place is in the range of another one.
            EXPECT_TRUE(other == i || !ranges[i])
                << name << ", " << tried.name << ": " << what << i << "a is in " << other;
          }
        }
      }
    }
  }
  EXPECT_GT(words, 1000u);
}

TEST(MessageRanges, FollowEachOtherInEveryFamilysPrompt) {
  const Conversation talk{.messages = {System("Be brief."), User("What is a cairn?"),
                                       Assistant("A pile of stones."), User("Who builds them?"),
                                       Assistant("Hikers do."), User("Why?")}};
  for (const std::string& name : FamilyNames()) {
    const auto family = Family(name);
    ASSERT_NE(family, nullptr);
    const auto ranged = Ranges(*family, talk);
    ASSERT_TRUE(ranged.has_value());
    const auto& [text, ranges] = *ranged;
    size_t at = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
      // Some templates write the system text into the last message.
      if (!ranges[i] && i == 0) continue;
      ASSERT_TRUE(ranges[i].has_value()) << name << " " << i;
      EXPECT_TRUE(i < 2 || ranges[i]->begin == at) << name << " " << i;
      at = ranges[i]->end;
      const std::string own = text.substr(ranges[i]->begin, at - ranges[i]->begin);
      EXPECT_NE(own.find(talk.messages[i].content), std::string::npos) << name << ": " << own;
      EXPECT_TRUE(i % 2 == 0 || own == talk.messages[i].content) << name << ": " << own;
    }
    EXPECT_LE(at, text.size());
  }
}

}  // namespace
}  // namespace cairn::message_ranges_test
