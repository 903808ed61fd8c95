#include "trace/replay/pseudo_prompt.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn {
namespace {

using Role = PseudoPrompt::Role;

// <|im_start|>, the role, a line end: three tokens, but "assistant" is two.
constexpr size_t kOpening = 3;

TEST(PseudoPrompt, BoundariesLieWhereTheChatLayerReportsThem) {
  PseudoPrompt prompt;
  prompt.Add(Role::kSystem, "Be kind");
  prompt.Add(Role::kUser, "Hi");
  const PromptShape shape = prompt.shape();
  // "Be", " kind", the end token, a line end.
  EXPECT_EQ(shape.header_end, kOpening + 4 + kOpening);
  ASSERT_EQ(shape.turns.size(), 1u);
  EXPECT_EQ(shape.turns[0].position, shape.header_end);
  EXPECT_TRUE(shape.turns[0].by_user);
  EXPECT_EQ(shape.messages_end, shape.header_end + 3);
  EXPECT_EQ(shape.tokens, shape.messages_end + kOpening + 1);
  EXPECT_EQ(prompt.tokens().size(), shape.tokens);
  EXPECT_EQ(shape.eog_ends, (std::vector<size_t>{kOpening + 3, shape.header_end + 2}));
}

TEST(PseudoPrompt, AnAnswerComesBackAsItWasGenerated) {
  PseudoPrompt prompt;
  prompt.Add(Role::kUser, "How many are 2 and 40?");
  Tokens gone_on = prompt.tokens();
  const Tokens answer = PseudoPrompt::Answer("They are 42, all told.");
  gone_on.insert(gone_on.end(), answer.begin(), answer.end());
  prompt.Add(Role::kAssistant, "They are 42, all told.");
  prompt.Add(Role::kTool, "[]");
  EXPECT_EQ(CommonPrefix(prompt.tokens(), gone_on), gone_on.size());
  EXPECT_FALSE(prompt.shape().turns.back().by_user);
}

TEST(PseudoPrompt, HasAboutFourBytesATokenInEnglishAndInJson) {
  const std::string text =
      "The keeper of the lighthouse wrote down each evening what had passed: the ships, the wind "
      "and the weather, and at the end of the year the book went to the harbour office. "
      R"({"ship":"Marigold","tons":1240,"harbour":"Port Ellen","crew":[{"name":"Ada"}]})";
  const double bytes = static_cast<double>(text.size());
  const double a_token = bytes / static_cast<double>(PseudoPrompt::Answer(text).size());
  EXPECT_GT(a_token, 3.2);
  EXPECT_LT(a_token, 4.8);
}

}  // namespace
}  // namespace cairn
