#include "chat/parse/shown_reasoning.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::shown_reasoning_test {
namespace {

// The deltas of an answer that arrives byte by byte: reasoning in brackets, then the rest.
struct Shown {
  std::string reasoning;
  std::string content;
};
Shown Parse(AnswerParser* parser, const std::string& answer) {
  Shown shown;
  const auto add = [&shown](const std::vector<AnswerDelta>& deltas) {
    for (const AnswerDelta& delta : deltas) {
      (delta.kind == AnswerDelta::Kind::kReasoning ? shown.reasoning : shown.content) += delta.text;
    }
  };
  for (const char byte : answer) add(parser->Push(std::string_view(&byte, 1)));
  add(parser->Finish());
  return shown;
}

Shown ParseAs(const std::string& name, const std::string& answer, bool starts_in_reasoning) {
  AnswerFormat format;
  format.starts_in_reasoning = starts_in_reasoning;
  const auto parser = ShowReasoning(ParseShownReasoning(name).value(), format,
                                    MakeReasoningParser(starts_in_reasoning));
  return Parse(parser.get(), answer);
}

constexpr const char* kAnswer = "<think>\nLet me see.\n</think>\n\nForty-two.";

TEST(ShownReasoning, IsApartByDefault) {
  for (const char* name : {"auto", "deepseek"}) {
    const Shown shown = ParseAs(name, kAnswer, false);
    EXPECT_EQ(shown.reasoning, "Let me see.");
    EXPECT_EQ(shown.content, "Forty-two.");
  }
}

TEST(ShownReasoning, StaysInTheContentWithNone) {
  const Shown shown = ParseAs("none", kAnswer, false);
  EXPECT_EQ(shown.reasoning, "");
  EXPECT_EQ(shown.content, kAnswer);
}

TEST(ShownReasoning, HasNoOpeningTagThatThePromptHas) {
  const Shown shown = ParseAs("none", "Let me see.\n</think>\n\nForty-two.", true);
  EXPECT_EQ(shown.content, "Let me see.\n</think>\n\nForty-two.");
}

TEST(ShownReasoning, IsInBothPlacesInTheLegacyFormat) {
  const Shown shown = ParseAs("deepseek-legacy", kAnswer, false);
  EXPECT_EQ(shown.reasoning, "Let me see.");
  EXPECT_EQ(shown.content, kAnswer);
}

TEST(ShownReasoning, LeavesAnAnswerWithoutReasoningAlone) {
  EXPECT_EQ(ParseAs("none", "Forty-two.", false).content, "Forty-two.");
}

TEST(ShownReasoning, HasNoOtherNames) {
  EXPECT_FALSE(ParseShownReasoning("qwen").has_value());
  EXPECT_FALSE(ParseShownReasoning("").has_value());
}

TEST(PlainParser, TakesEverythingAsContent) {
  const std::string answer = " <think>\nx</think>\n<tool_call>{}</tool_call>\n";
  const auto parser = MakePlainParser();
  const Shown shown = Parse(parser.get(), answer);
  EXPECT_EQ(shown.content, answer);
  EXPECT_EQ(shown.reasoning, "");
}

}  // namespace
}  // namespace cairn::shown_reasoning_test
