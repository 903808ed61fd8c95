#include "api/service/answer_script.h"

#include <gtest/gtest.h>

#include "api/service/written_answer.h"
#include "chat/parse/answer_parser.h"
#include "testing/chat/parsed_answer.h"
#include "testing/chat/test_templates.h"

namespace cairn::answer_script_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

constexpr char kStones[] = R"json({"rules": [
  {"text": "granite", "answer": {"content": "It is granite."}},
  {"text": "stone", "tool": "weather", "answer": {"reasoning": "I look.", "content": "Wait.",
    "call": {"name": "weather", "arguments": {"city": "Rome \"\\ \n"}}}},
  {"answer": {"content": "Nothing."}}
]})json";

std::unique_ptr<const AnswerScript> Stones() {
  auto script = AnswerScript::Parse(kStones);
  EXPECT_TRUE(script.has_value()) << script.error().message;
  return std::move(*script);
}

std::string ContentFor(const Conversation& talk) {
  return Stones()->AnswerTo(talk)->content;
}

TEST(AnswerScript, TakesTheFirstRuleWhoseTextStandsInANewMessage) {
  EXPECT_EQ(ContentFor({.messages = {User("a granite stone")}}), "It is granite.");
  EXPECT_EQ(ContentFor({.messages = {User("granite"), System("a reminder")}}), "It is granite.");
  EXPECT_EQ(ContentFor({.messages = {User("granite"), Assistant("Yes."), User("And?")}}),
            "Nothing.");
}

TEST(AnswerScript, TakesARuleWithAToolOnlyWhereItIsOffered) {
  EXPECT_EQ(ContentFor({.messages = {User("stone")}, .tools = Tools::Parse(kTools).value()}),
            "Wait.");
  EXPECT_EQ(ContentFor({.messages = {User("stone")}}), "Nothing.");
  EXPECT_EQ(ContentFor({.messages = {User("stone")},
                        .tools = Tools::Parse(R"([{"type": "other"}])").value()}),
            "Nothing.");
}

TEST(AnswerScript, LeavesTheAnswerToTheModelWhereNoRuleHolds) {
  const auto script = AnswerScript::Parse(R"({"rules": [{"text": "x", "answer": {}}]})");
  ASSERT_TRUE(script.has_value());
  EXPECT_EQ((*script)->AnswerTo({.messages = {User("y")}}), nullptr);
  const auto grammar = (*script)->GrammarFor({.messages = {User("y")}}, *Builtin("chatml"));
  ASSERT_TRUE(grammar.has_value());
  EXPECT_EQ(*grammar, nullptr);
}

TEST(AnswerScript, AllowsOnlyAnAnswerThatParsesAsTheScriptsOwn) {
  for (const char* name : {"chatml", "qwen"}) {
    const auto chat_template = Builtin(name);
    const Conversation talk{.messages = {User("stone")}, .tools = Tools::Parse(kTools).value()};
    const auto script = Stones();
    const auto text = WrittenAnswer(*script->AnswerTo(talk), talk, *chat_template);
    ASSERT_TRUE(text.has_value()) << text.error().message;
    const AnswerFormat format = FindAnswerFormat(*chat_template, "", Tools::Parse(kTools).value());
    const std::string reasoning = std::string(name) == "qwen" ? "reasoning{I look.} " : "";
    EXPECT_EQ(Parse(format, *text),
              reasoning + R"(content{Wait.} call0{weather {"city":"Rome \"\\ \n"}})");
    const auto grammar = script->GrammarFor(talk, *chat_template);
    ASSERT_TRUE(grammar.has_value()) << grammar.error().message;
    GrammarMatcher matcher(*grammar);
    EXPECT_FALSE(matcher.Allows("Something else"));
    ASSERT_TRUE(matcher.Allows(*text));
    EXPECT_FALSE(matcher.MayEnd());
    matcher.Accept(*text);
    EXPECT_TRUE(matcher.MayEnd());
  }
}

TEST(AnswerScript, SaysWhichRuleIsNoRule) {
  const auto message = [](const char* text) {
    const auto script = AnswerScript::Parse(text);
    EXPECT_FALSE(script.has_value()) << text;
    return script ? "" : script.error().message;
  };
  EXPECT_NE(message("no JSON").find("'rules'"), std::string::npos);
  EXPECT_NE(message(R"({"rules": [{"text": "x"}]})").find("rules[0].answer"), std::string::npos);
  EXPECT_NE(message(R"({"rules": [{"text": 1, "answer": {}}]})").find("rules[0].text"),
            std::string::npos);
  EXPECT_NE(message(R"({"rules": [{"answer": {"content": 1}}]})").find("rules[0].answer.content"),
            std::string::npos);
  EXPECT_NE(message(R"({"rules": [{"answer": {"call": {"name": "x"}}}]})").find("call"),
            std::string::npos);
}

}  // namespace
}  // namespace cairn::answer_script_test
