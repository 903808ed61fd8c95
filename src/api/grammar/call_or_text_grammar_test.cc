#include "api/grammar/call_or_text_grammar.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/grammar/json_schema.h"
#include "chat/parse/answer_parser.h"
#include "engine/grammar/grammar.h"
#include "testing/chat/family_templates.h"
#include "testing/chat/test_templates.h"

namespace cairn::call_or_text_grammar_test {
namespace {

const std::string kNow = R"({"type":"function","function":{"name":"now",)"
                         R"("parameters":{"type":"object","properties":{}}}})";
const std::string kText = R"({"a": true})";

std::string Format() {
  return GrammarOfSchema(Json::parse(R"({"type":"object","properties":{"a":{"type":"boolean"}},
                                         "required":["a"],"additionalProperties":false})"),
                         "format")
      .value();
}

// What answers may be where these tools are offered and the format is wanted.
class Answers {
 public:
  Answers(const ChatTemplate& chat_template, const std::string& tools, bool several = true,
          std::vector<std::string> names = {})
      : rules_(GrammarOfCallsOrText(chat_template, Tools::Parse("[" + tools + "]").value(),
                                    {ToolChoice::Kind::kAuto, std::move(names), several},
                                    Format())) {}

  bool MayBegin(const std::string& text) const { return Matcher().Allows(text); }
  bool MayBe(const std::string& text) const {
    GrammarMatcher matcher = Matcher();
    if (!matcher.Allows(text)) return false;
    matcher.Accept(text);
    return matcher.MayEnd();
  }
  const std::string& rules() const { return rules_; }

 private:
  GrammarMatcher Matcher() const {
    const auto grammar = Grammar::Parse(rules_);
    EXPECT_TRUE(grammar.has_value()) << grammar.error().message << "\n" << rules_;
    return GrammarMatcher(grammar.value());
  }

  const std::string rules_;
};

std::string HermesCall(const std::string& name, const std::string& arguments) {
  return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments +
         "}\n</tool_call>";
}

TEST(CallOrTextGrammar, AnAnswerIsCallsOrATextInTheFormat) {
  const Answers answers(*test::Parsed("<tool_call>"), kNow);
  EXPECT_TRUE(answers.MayBe(kText));
  EXPECT_TRUE(answers.MayBe(HermesCall("now", "{}")));
  EXPECT_TRUE(answers.MayBe(HermesCall("now", "{}") + "\n" + HermesCall("now", "{}")));
  EXPECT_FALSE(answers.MayBegin("Hello"));
  EXPECT_FALSE(answers.MayBegin(R"({"b")"));
  EXPECT_FALSE(answers.MayBegin(HermesCall("later", "{}")));
  EXPECT_FALSE(answers.MayBegin(HermesCall("now", "{}") + kText));
  EXPECT_FALSE(answers.MayBegin(kText + HermesCall("now", "{}")));
}

TEST(CallOrTextGrammar, HasAsManyCallsAndOnlyTheToolsThatTheRequestAllows) {
  const std::string later = R"({"type":"function","function":{"name":"later"}})";
  const Answers one(*test::Parsed("<tool_call>"), kNow + "," + later, /*several=*/false, {"later"});
  EXPECT_TRUE(one.MayBe(kText));
  EXPECT_TRUE(one.MayBe(HermesCall("later", "{}")));
  EXPECT_FALSE(one.MayBegin(HermesCall("later", "{}") + "\n"));
  EXPECT_FALSE(one.MayBegin(HermesCall("now", "{}")));
}

TEST(CallOrTextGrammar, HoldsForEveryFamily) {
  size_t calling = 0;
  for (const std::string& name : test::FamilyNames()) {
    const auto family = test::Family(name);
    const Tools tools = Tools::Parse("[" + kNow + "]").value();
    const AnswerFormat format = FindAnswerFormat(*family, "", tools);
    const Answers answers(*family, kNow);
    EXPECT_TRUE(answers.MayBe(kText)) << name;
    EXPECT_FALSE(answers.MayBegin("Hello")) << name;
    if (format.calls == CallFormat::kNone) {
      EXPECT_EQ(answers.rules(), Format()) << name;
      continue;
    }
    ++calling;
    const std::vector<std::string> begins = CallBeginsOf(format);
    ASSERT_FALSE(begins.empty()) << name;
    // Some write line breaks in front of their calls.
    EXPECT_TRUE(answers.MayBegin(begins[0]) || answers.MayBegin("\n" + begins[0]) ||
                answers.MayBegin("\n\n" + begins[0]))
        << name << ": " << begins[0];
  }
  EXPECT_GT(calling, 20u);
}

TEST(CallOrTextGrammar, ArgumentsAreFreeWhereTheirSchemaCannotBeEnforced) {
  const std::string odd =
      R"({"type":"function","function":{"name":"odd","parameters":{"type":"object",)"
      R"("properties":{"n":{"not":{"const":1}}},"required":["n"]}}})";
  const Answers json(*test::Parsed("<tool_call>"), odd + "," + kNow);
  EXPECT_TRUE(json.MayBe(HermesCall("odd", R"({"n": 7})")));
  EXPECT_TRUE(json.MayBe(HermesCall("now", "{}")));
  EXPECT_TRUE(json.MayBe(kText));
  const Answers pairs(*test::Family("qwen3-coder"), odd + "," + kNow);
  EXPECT_TRUE(
      pairs.MayBe("<tool_call>\n<function=odd>\n<parameter=n>\n7\n</parameter>\n</function>"
                  "\n</tool_call>"));
  EXPECT_TRUE(pairs.MayBe(kText));
}

TEST(CallOrTextGrammar, EverythingMayFollowTheBeginningOfACallThatNoGrammarCanWrite) {
  const std::string spaced = R"({"type":"function","function":{"name":"two words"}})";
  const Answers hermes(*test::Parsed("<tool_call>"), spaced);
  EXPECT_TRUE(hermes.MayBe(HermesCall("two words", "{}")));
  EXPECT_TRUE(hermes.MayBe(kText));
  EXPECT_FALSE(hermes.MayBegin("Hello"));
  // Its arguments have other names than its schema tells.
  const std::string open =
      R"({"type":"function","function":{"name":"open","parameters":{"type":"object",)"
      R"("properties":{},"additionalProperties":true}}})";
  const Answers pairs(*test::Family("qwen3-coder"), open);
  EXPECT_TRUE(pairs.MayBegin("<tool_call>\n<function=open>\n<parameter=any>\n7\n</parameter>"));
  EXPECT_FALSE(pairs.MayBegin("Hello"));
  const Answers minimax(*test::Family("minimax-m3"), kNow);
  EXPECT_TRUE(minimax.MayBegin("]<]minimax[>[<tool_call>"));
  EXPECT_FALSE(minimax.MayBegin("Hello"));
}

TEST(CallOrTextGrammar, ATextOfGptOssMayBeInAMessageBehindItsReasoning) {
  const Answers answers(*test::Parsed("<|channel|><|message|>"), kNow);
  const std::string thought = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant";
  for (const std::string& before : {std::string(), thought}) {
    EXPECT_TRUE(answers.MayBe(before + "<|channel|>final<|message|>" + kText)) << before;
    EXPECT_TRUE(answers.MayBe(before + "<|channel|>final <|constrain|>json<|message|>" + kText));
    EXPECT_TRUE(answers.MayBe(before + "<|channel|>commentary to=functions.now "
                                       "<|constrain|>json<|message|>{}"))
        << before;
    EXPECT_FALSE(answers.MayBegin(before + "<|channel|>final<|message|>Hello"));
  }
  EXPECT_TRUE(answers.MayBe(kText));
  EXPECT_FALSE(answers.MayBegin("Hello"));
}

TEST(CallOrTextGrammar, WithoutToolsOrAKnownSyntaxOfCallsItIsTheFormat) {
  EXPECT_EQ(Answers(*test::Parsed("<tool_call>"), "").rules(), Format());
  EXPECT_EQ(Answers(*test::Parsed("a template of nobody"), kNow).rules(), Format());
  EXPECT_EQ(Answers(*test::Parsed("<tool_call>"), R"({"type":"web_search"})").rules(), Format());
}

TEST(CallOrTextGrammar, KeepsALiteralThatLooksLikeRules) {
  const std::string rules =
      std::string(R"(root ::= ("a b \" c" | [\]x-z\\] | other){1,2} # root)") +
      "\nother ::= \"{root}\"\n";
  const std::string joined = GrammarOfCallsOrText(
      *test::Parsed("<tool_call>"), Tools::Parse("[" + kNow + "]").value(), {}, rules);
  const auto grammar = Grammar::Parse(joined);
  ASSERT_TRUE(grammar.has_value()) << grammar.error().message << joined;
  for (const char* text : {"a b \" c", "]", "y\\", "{root}x"}) {
    GrammarMatcher matcher(*grammar);
    ASSERT_TRUE(matcher.Allows(text)) << text;
    matcher.Accept(text);
    EXPECT_TRUE(matcher.MayEnd()) << text;
  }
}

}  // namespace
}  // namespace cairn::call_or_text_grammar_test
