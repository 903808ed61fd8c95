#include "api/request/answer_format.h"

#include <gtest/gtest.h>

#include "engine/grammar/grammar.h"

namespace cairn::answer_format_test {
namespace {

bool Allows(const std::string& body, const std::string& answer) {
  const auto rules = ParseAnswerGrammar(Json::parse(body));
  EXPECT_TRUE(rules.has_value()) << body << (rules ? "" : rules.error().message);
  if (!rules) return false;
  const auto grammar = Grammar::Parse(*rules);
  EXPECT_TRUE(grammar.has_value()) << *rules;
  if (!grammar) return false;
  GrammarMatcher matcher(*grammar);
  if (!matcher.Allows(answer)) return false;
  matcher.Accept(answer);
  return matcher.MayEnd();
}

void ExpectRefused(const std::string& body, const std::string& field) {
  const auto rules = ParseAnswerGrammar(Json::parse(body));
  ASSERT_FALSE(rules.has_value()) << body;
  EXPECT_EQ(rules.error().status, 400);
  EXPECT_EQ(rules.error().field, field) << rules.error().message;
}

TEST(AnswerFormat, VllmsFieldsAreGrammarsToo) {
  for (const std::string schema : {R"({"enum":["a"]})", R"("{\"enum\":[\"a\"]}")"}) {
    for (const std::string& body : {R"({"guided_json":)" + schema + "}",
                                    R"({"structured_outputs":{"json":)" + schema + "}}"}) {
      EXPECT_TRUE(Allows(body, R"("a")")) << body;
      EXPECT_FALSE(Allows(body, R"("b")")) << body;
    }
  }
  EXPECT_TRUE(Allows(R"({"guided_choice":["yes","no: \"2\""]})", "no: \"2\""));
  EXPECT_FALSE(Allows(R"({"guided_choice":["yes","no"]})", "y"));
  EXPECT_TRUE(Allows(R"({"structured_outputs":{"choice":["yes","no"]}})", "no"));
  EXPECT_TRUE(Allows(R"({"guided_regex":"a|b\\d+"})", "b12"));
  EXPECT_FALSE(Allows(R"({"guided_regex":"a|b\\d+"})", "ab1"));
  EXPECT_TRUE(Allows(R"({"structured_outputs":{"regex":"[^\"]*"}})", "any text: é"));
  EXPECT_TRUE(Allows(R"({"guided_grammar":"root ::= \"x\"+"})", "xx"));
  EXPECT_TRUE(Allows(R"({"structured_outputs":{"json_object":true}})", "{\"a\":1}"));
}

TEST(AnswerFormat, FieldsThatSayNothingLeaveTheAnswerFree) {
  for (const char* body : {"{}", R"({"guided_json":null,"structured_outputs":null})",
                           R"({"structured_outputs":{"json_object":false}})",
                           R"({"response_format":{"type":"text"},"grammar":""})"}) {
    EXPECT_EQ(ParseAnswerGrammar(Json::parse(body)).value_or("refused"), "") << body;
  }
}

TEST(AnswerFormat, RefusesWhatIsNoFormOrTwo) {
  ExpectRefused(R"({"guided_json":"{"})", "guided_json");
  ExpectRefused(R"({"guided_json":{"type":"king"}})", "guided_json.type");
  ExpectRefused(R"({"guided_choice":[]})", "guided_choice");
  ExpectRefused(R"({"guided_choice":["a",1]})", "guided_choice");
  ExpectRefused(R"({"guided_regex":"(a)\\1"})", "guided_regex");
  ExpectRefused(R"({"guided_regex":"("})", "guided_regex");
  ExpectRefused(R"({"guided_grammar":7})", "guided_grammar");
  ExpectRefused(R"({"structured_outputs":[]})", "structured_outputs");
  ExpectRefused(R"({"structured_outputs":{}})", "structured_outputs");
  ExpectRefused(R"({"structured_outputs":{"regex":"a","choice":["b"]}})", "structured_outputs");
  ExpectRefused(R"({"guided_regex":"a","guided_choice":["b"]})", "guided_choice");
}

// The mark of odd forms is none of llama.cpp's signs; in a literal, a class or a comment it is a
// character as others are.
TEST(AnswerFormat, ClientsGrammarsHaveNoMarksOfOddForms) {
  for (const char* field : {"grammar", "guided_grammar"}) {
    const std::string name = std::string("{\"") + field + "\":";
    ExpectRefused(name + R"("root ::= \"1\" (~\".\" \"0\")?"})", field);
    ExpectRefused(name + R"("root ::= ~[a]"})", field);
    EXPECT_TRUE(Allows(name + R"("root ::= \"~\" [~] # ~\"a\""})", "~~"));
  }
}

TEST(AnswerFormat, ASchemaThatComesAgainIsTranslatedOnce) {
  GrammarCache cache;
  const Json body = Json::parse(R"({"json_schema":{"type":"array","uniqueItems":true}})");
  Loosened first;
  Loosened second;
  const auto rules = ParseAnswerGrammar(body, &first, &cache);
  const size_t bytes = cache.bytes();
  EXPECT_GT(bytes, 0u);
  ASSERT_TRUE(rules.has_value());
  EXPECT_EQ(ParseAnswerGrammar(body, &second, &cache).value_or(""), *rules);
  EXPECT_EQ(cache.bytes(), bytes);
  EXPECT_EQ(first, Loosened{"json_schema.uniqueItems"});
  EXPECT_EQ(second, first);
}

}  // namespace
}  // namespace cairn::answer_format_test
