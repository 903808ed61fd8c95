// GrammarWithReasoning, as the grammars of the engine read it.

#include <gtest/gtest.h>

#include "chat/parse/reasoning.h"
#include "engine/grammar/grammar.h"

namespace cairn::answer_grammar_test {
namespace {

bool IsAnswer(std::string_view answer, bool starts_inside, const ReasoningTags& tags = {}) {
  const auto grammar =
      Grammar::Parse(GrammarWithReasoning(tags, "root ::= \"7\"", starts_inside), kAnswerRule);
  EXPECT_TRUE(grammar.has_value());
  GrammarMatcher matcher(*grammar);
  if (!matcher.Allows(answer)) return false;
  matcher.Accept(answer);
  return matcher.MayEnd();
}

TEST(GrammarWithReasoning, HoldsForWhatFollowsTheReasoning) {
  EXPECT_TRUE(IsAnswer("a < b </thin <</think>\n\n7", true));
  EXPECT_TRUE(IsAnswer("</think>7", true));
  EXPECT_FALSE(IsAnswer("7", true));
  EXPECT_FALSE(IsAnswer("a</think>x</think>7", true));
  EXPECT_TRUE(IsAnswer("7", false));
  EXPECT_TRUE(IsAnswer("<think>a</think>\n7", false));
  EXPECT_FALSE(IsAnswer("<think>7", false));
  EXPECT_FALSE(IsAnswer("a</think>7", false));
}

TEST(GrammarWithReasoning, GoesThroughAnyTag) {
  const ReasoningTags brackets{"[THINK]", "[/THINK]", true};
  EXPECT_TRUE(IsAnswer("[THINK]a ] [ \\ \" [/THINX] [/[/THINK]\n7", false, brackets));
  EXPECT_FALSE(IsAnswer("[THINK]a[/THINK]b[/THINK]7", false, brackets));
  // The begin of the tag stands in the tag again.
  const ReasoningTags again{"◁a▷", "ababac", true};
  EXPECT_TRUE(IsAnswer("◁a▷ xababababac7", false, again));
  EXPECT_FALSE(IsAnswer("ababab7", true, again));
  const ReasoningTags kimi{"◁think▷", "◁/think▷", true};
  EXPECT_TRUE(IsAnswer("ä◁◁/think▷7", true, kimi));
  EXPECT_FALSE(IsAnswer("ä◁◁/think7", true, kimi));
}

}  // namespace
}  // namespace cairn::answer_grammar_test
