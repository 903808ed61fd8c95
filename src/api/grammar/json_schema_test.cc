#include "api/grammar/json_schema.h"

#include <gtest/gtest.h>

#include "engine/grammar/grammar.h"
#include "engine/grammar/token_trie.h"
#include "testing/base/golden_file.h"

namespace cairn::json_schema_test {
namespace {

std::shared_ptr<const Grammar> Made(const std::string& schema) {
  const auto text = GrammarOfSchema(Json::parse(schema), "schema");
  EXPECT_TRUE(text.has_value()) << schema << ": " << (text ? "" : text.error().message);
  if (!text) return nullptr;
  const auto grammar = Grammar::Parse(*text);
  EXPECT_TRUE(grammar.has_value()) << *text << (grammar ? "" : grammar.error().message);
  return grammar.value_or(nullptr);
}

bool Fits(const std::string& schema, const std::string& answer) {
  GrammarMatcher matcher(Made(schema));
  if (!matcher.Allows(answer)) return false;
  matcher.Accept(answer);
  return matcher.MayEnd();
}

void ExpectAnswers(const std::string& schema, const std::vector<std::string>& fitting,
                   const std::vector<std::string>& others) {
  for (const std::string& answer : fitting) EXPECT_TRUE(Fits(schema, answer)) << schema << answer;
  for (const std::string& answer : others) EXPECT_FALSE(Fits(schema, answer)) << schema << answer;
}

// The places that are not enforced.
Loosened LoosenedOf(const std::string& schema) {
  Loosened loosened;
  EXPECT_TRUE(GrammarOfSchema(Json::parse(schema), "schema", &loosened).has_value()) << schema;
  return loosened;
}

void ExpectExact(const std::string& schema, const std::vector<std::string>& fitting,
                 const std::vector<std::string>& others) {
  EXPECT_EQ(LoosenedOf(schema), Loosened()) << schema;
  ExpectAnswers(schema, fitting, others);
}

void ExpectRefused(const std::string& schema, const std::string& field) {
  const auto text = GrammarOfSchema(Json::parse(schema), "schema");
  ASSERT_FALSE(text.has_value()) << schema;
  EXPECT_EQ(text.error().status, 400);
  EXPECT_EQ(text.error().field, field) << text.error().message;
}

TEST(JsonSchema, ObjectsHaveTheirPropertiesInOrder) {
  const std::string schema = R"({"type":"object","properties":{"a":{"type":"integer"},
      "b":{"type":"boolean"},"c":{"type":"null"}},"required":["b"],"additionalProperties":false})";
  ExpectExact(schema,
              {R"({"a":1,"b":true,"c":null})", R"({"b":false})", R"({ "b": true,"c": null })",
               "{\n  \"a\": -7,\n  \"b\": true\n}"},
              {R"({})", R"({"a":1})", R"({"b":true,"a":1})", R"({"b":true,})", R"({"b":1})",
               R"({"b":true,"d":1})"});
  ExpectExact(R"({"type":"object"})", {"{}", R"({"x":{"y":[]},"z":"\n\u00e9"})"}, {"[]", "{"});
  ExpectExact(R"({"type":"object","additionalProperties":false})", {"{}"}, {R"({"a":1})"});
  ExpectExact(R"({"properties":{"a":true},"required":["a","a","b"]})", {R"({"a":null,"b":1})", "7"},
              {"{}", R"({"a":null})"});
}

TEST(JsonSchema, OtherPropertiesAreAllowedUnlessTheSchemaSaysNo) {
  ExpectExact(R"({"type":"object","properties":{"ab":{"type":"integer"},"a^-":{"type":"null"}},
      "additionalProperties":{"type":"string"},"required":["ab"]})",
              {R"({"ab":1})", R"({"ab":1,"a":"x"})", R"({"ab":1,"abc":"x","":"y"})",
               R"({"ab":1,"a^-":null,"a^":"z"})"},
              {R"({"ab":1,"ab":"x"})", R"({"ab":1,"x":2})", R"({"ab":1,"a^-":"x"})", R"({"a":"x"})",
               R"({"ab":1,"\u0061b":"x"})"});
  ExpectExact(R"({"type":"object","properties":{"a":{"type":"null"}}})",
              {R"({"a":null,"x":[1]})", R"({"x":2})"}, {R"({"a":1})", R"({"x":1,"a":1})"});
  ExpectExact(
      R"({"type":"object","properties":{")" + std::string(300, 'n') + R"(":{"type":"null"}}})",
      {R"({"x":1})"}, {R"({")" + std::string(300, 'n') + R"(":1})"});
}

TEST(JsonSchema, NamesFitTheirPatterns) {
  ExpectExact(
      R"({"type":"object","patternProperties":{"^x-":{"type":"string"},"n$":{"type":"integer"}},
                  "additionalProperties":false})",
      {"{}", R"({"x-a":"s","bn":1})"}, {R"({"x-a":1})", R"({"b":1})", R"({"x-n":1})"});
  ExpectExact(R"({"type":"object","properties":{"xa":{"maximum":5}},
                  "patternProperties":{"^x":{"type":"integer"}}})",
              {R"({"xa":5,"xb":9,"c":"s"})"}, {R"({"xa":6})", R"({"xa":"s"})", R"({"xb":1.5})"});
  ExpectExact(
      R"({"type":"object","propertyNames":{"maxLength":2},"minProperties":1,"maxProperties":2})",
      {R"({"a":1})", R"({"a":1,"bc":2})"}, {"{}", R"({"abc":1})", R"({"a":1,"b":2,"c":3})"});
  ExpectExact(R"({"type":"object","propertyNames":{"enum":["a","b"]}})", {R"({"b":1})"},
              {R"({"c":1})"});
  ExpectExact(R"({"type":"object","properties":{"a":true,"b":true,"c":true},"required":["c"],
                  "maxProperties":2,"additionalProperties":false})",
              {R"({"c":1})", R"({"a":1,"c":1})", R"({"b":1,"c":1})"},
              {R"({"a":1,"b":1,"c":1})", R"({"a":1,"b":1})"});
}

TEST(JsonSchema, ArraysCountTheirItems) {
  ExpectExact(R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3})",
              {"[1]", "[1,2,3]", "[1, 2]"}, {"[]", "[1,2,3,4]", "[\"a\"]"});
  ExpectExact(R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"});
  ExpectExact(
      R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false})",
      {R"([1,"a"])", "[1]", "[]"}, {R"([1,"a",2])", R"(["a"])"});
  ExpectExact(
      R"({"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"null"},"minItems":2})",
      {"[1,null]", "[1,null,null]"}, {"[1]", "[1,2]"});
  ExpectExact(R"({"type":"array","items":[{"type":"null"}],"additionalItems":{"type":"integer"}})",
              {"[]", "[null]", "[null,1,2]"}, {"[1]", "[null,null]"});
  ExpectExact(R"({"type":"array","uniqueItems":true,"maxItems":1})", {"[1]"}, {"[1,1]"});
}

TEST(JsonSchema, StringsKeepTheirLengthsPatternsAndFormats) {
  ExpectExact(R"({"type":"string","minLength":2,"maxLength":3})",
              {R"("ab")", R"("äö\n")", R"("\u00e4\ud83d\ude00")"}, {R"("a")", R"("abcd")"});
  ExpectExact(R"({"type":"string","pattern":"^[A-Z]{2}-\\d+(\\.x|y)?$"})",
              {R"("AB-1")", R"("XY-22.x")"}, {R"("A-1")", R"("AB-")", R"("AB-1x")"});
  ExpectExact(R"({"type":"string","pattern":"^.\"[^a-c]$"})",
              {R"("x\"d")", R"("x\"\u0064")", R"("\u0078\u0022d")"},
              {R"("x\"a")", R"("x"d")", R"("x\"\u0061")"});
  ExpectExact(R"({"type":"string","pattern":"b+","maxLength":3,"minLength":2})",
              {R"("ab")", R"("bbb")"}, {R"("b")", R"("aa")", R"("aabb")"});
  ExpectExact(R"({"type":"string","format":"date"})", {R"("2024-02-29")", R"("2024-12-31")"},
              {R"("2024-13-01")", R"("2023-02-29")", R"("2024-04-31")", R"("1900-02-29")"});
  ExpectExact(R"({"type":"string","format":"date-time"})", {R"("2024-02-28T23:59:59.5Z")"},
              {R"("2024-02-28")", R"("2024-02-28T24:00:00Z")"});
  ExpectExact(R"({"type":"string","format":"uuid"})", {R"("123e4567-e89b-12d3-a456-426614174000")"},
              {R"("123e4567")"});
  ExpectExact(R"({"type":"string","format":"email"})", {R"("anything")"}, {"1"});
  ExpectExact(R"({"type":"string"})", {R"("")", R"("\u00e9")", R"("\ud83d\ude00")"},
              {R"("\ud800")", "\"\n\""});
  ExpectExact(R"({"type":"string","maxLength":10000})", {R"("abc")"}, {"1"});
  ExpectExact(R"({"type":"string","not":{"pattern":"^a"}})", {R"("ba")"}, {R"("ab")"});
}

TEST(JsonSchema, NumbersKeepTheirBounds) {
  ExpectExact(R"({"type":"number","minimum":0,"maximum":1})", {"0", "1", "0.5", "1.0", "5e-1"},
              {"1.1", "-1", "\"0\""});
  ExpectExact(R"({"type":"number","minimum":0.1,"maximum":2.0})", {"0.1", "2"}, {"0.09", "2.01"});
  ExpectExact(R"({"type":"number","exclusiveMinimum":0})", {"0.001", "1e9"}, {"0", "-1", "0.0"});
  ExpectExact(R"({"type":"integer","minimum":0,"exclusiveMinimum":true})", {"1"}, {"0"});
  ExpectExact(R"({"type":"integer","minimum":0,"maximum":18446744073709551615})",
              {"18446744073709551615"}, {"18446744073709551616", "-1"});
  ExpectExact(R"({"type":"integer","minimum":-3,"exclusiveMaximum":12})", {"-3", "11", "2.0"},
              {"-4", "12", "1.5"});
  ExpectExact(R"({"type":"integer","multipleOf":5})", {"0", "15", "-10"}, {"3", "7.5"});
  ExpectExact(R"({"type":"number","multipleOf":0.01,"minimum":0})", {"0.5", "12.25"}, {"0.001"});
  ExpectExact(R"({"type":"integer"})", {"0", "-5", "1.0", "1e3", "1.5e1"},
              {"01", "1.5", "-", "1.55e1"});
  ExpectExact(R"({"type":"number"})", {"0", "-5.25", "1e9", "1E+300"}, {"1.", ".5"});
  // Beyond a double's largest: our own parser took the call for a text.
  ExpectAnswers(R"({"type":"number"})", {"25e239", "1e-999", "-9.5e307"}, {"1e308", "25e300"});
  ExpectAnswers(R"({"type":"number","minimum":1})", {"9e307"}, {"1e308", "1e999"});
  // Parsers take smaller ones for 0.
  ExpectAnswers(R"({"type":"number","exclusiveMinimum":0})", {"1e-307"}, {"9e-308", "9e-999"});
}

// The characters of ASCII that may come behind `begun` where the model's own token was refused.
std::string PlainlyNext(const std::string& schema, const std::string& begun) {
  std::vector<std::string> texts;
  for (char c = ' '; c < '\x7F'; ++c) texts.emplace_back(1, c);
  texts.emplace_back("\n");
  GrammarMatcher matcher(Made(schema));
  EXPECT_TRUE(matcher.Allows(begun)) << begun;
  matcher.Accept(begun);
  std::vector<bool> allowed(texts.size());
  matcher.AllowedPlainly(TokenTrie(texts), &allowed);
  std::string next;
  for (size_t i = 0; i < texts.size(); ++i) next += allowed[i] ? texts[i] : "";
  return next;
}

// 7.0 and an escaped letter fit, but clients' parsers tell 7.0 from 7.
TEST(JsonSchema, OddFormsAreTheModelsOwnChoice) {
  constexpr const char* kDigits = "0123456789";
  const std::string object = R"({"type":"object","properties":{"a":{"type":"integer"},
      "b":{"enum":["x",5]}},"required":["a"]})";
  EXPECT_EQ(PlainlyNext(object, R"({)"), " \"");
  EXPECT_EQ(PlainlyNext(object, R"({")"), "a");
  EXPECT_EQ(PlainlyNext(object, R"({"a":7)"), std::string(" ,") + kDigits + "}");
  EXPECT_EQ(PlainlyNext(object, R"({"a":7,")"), "b");
  EXPECT_EQ(PlainlyNext(object, R"({"a":7,"b":)"), " \"5");
  EXPECT_EQ(PlainlyNext(object, R"({"a":7,"b":5)"), " }");
  EXPECT_EQ(PlainlyNext(object, R"({"a":7,"b":")"), "x");
  EXPECT_EQ(PlainlyNext(R"({"type":"integer","minimum":1,"maximum":9})", "7"), "");
  EXPECT_EQ(PlainlyNext(R"({"type":"number","minimum":1,"maximum":9})", "7"), ".");
  EXPECT_EQ(PlainlyNext(R"({"type":"string","pattern":"^[a-c]+$"})", "\"a"), "\"abc");
  // Where there are no named properties, others are plain.
  EXPECT_EQ(PlainlyNext(R"({"type":"object","additionalProperties":{"enum":[1]}})", "{"), " \"}");
  EXPECT_EQ(PlainlyNext(R"({"type":"object","additionalProperties":{"enum":[1]}})", R"({"a":1)"),
            " ,}");
}

TEST(JsonSchema, TakesOneOfSeveral) {
  ExpectExact(R"({"enum":["a",1,null,{"x":[2]}]})",
              {R"("a")", "1", "1.0", "null", R"({"x":[2]})", R"("\u0061")"},
              {R"("b")", "2", R"({"x":[3]})", R"({"x":[2],"y":1})"});
  ExpectExact(R"({"type":"string","enum":["a",1]})", {R"("a")"}, {"1"});
  ExpectExact(R"({"const":"q\"\n"})", {R"("q\"\n")"}, {R"("q")"});
  ExpectExact(R"({"const":"a","enum":["a","b"],"minLength":1})", {R"("a")"}, {R"("b")"});
  ExpectExact(R"({"type":["string","null"]})", {R"("a")", "null"}, {"1"});
  ExpectExact(R"({"anyOf":[{"type":"integer"},{"type":"boolean"}]})", {"1", "true"}, {"null"});
  ExpectExact(R"({"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"}},
                  "anyOf":[{"required":["a"]},{"required":["b"]}]})",
              {R"({"a":null})", R"({"b":null})", R"({"a":null,"b":null})"}, {"{}"});
  ExpectExact("{}", {"1", R"({"a":[]})"}, {"x"});
}

TEST(JsonSchema, OneOfIsExactWhereItsSchemasAreApartOrCanBeDenied) {
  ExpectExact(R"({"oneOf":[{"const":1},{"const":2}],"title":"t"})", {"1", "2"}, {"3"});
  ExpectExact(R"({"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]})",
              {R"({"a":1})", R"({"b":1,"c":2})"}, {"{}", R"({"a":1,"b":1})"});
  ExpectExact(
      R"({"oneOf":[{"type":"object","required":["t"],
                   "properties":{"t":{"const":"x"},"v":{"type":"null"}}},
                           {"type":"object","properties":{"t":{"const":"y"}},"required":["t"]}]})",
      {R"({"t":"x","v":null})", R"({"t":"y","v":1})"}, {R"({"t":"x","v":1})", R"({"t":"z"})"});
  EXPECT_EQ(LoosenedOf(R"({"oneOf":[{"items":{"type":"null"}},{"items":{"maximum":1}}]})").size(),
            2u);
}

TEST(JsonSchema, PutsTogetherWhatAllHold) {
  ExpectExact(R"({"type":"object","allOf":[{"properties":{"a":{"type":"null"}},"required":["a"]},
                           {"properties":{"b":{"type":"null"},"a":{}},"required":["b"]}]})",
              {R"({"a":null,"b":null})"}, {R"({"a":null})", R"({"b":null})"});
  ExpectExact(R"({"allOf":[{"type":"integer"}],"description":"d"})", {"1"}, {"null"});
  ExpectExact(R"({"allOf":[{"type":"string","minLength":2},{"minLength":3},{"pattern":"^a"}]})",
              {R"("abc")"}, {R"("ab")", R"("bcd")"});
  ExpectExact(
      R"({"type":"object","allOf":[{"properties":{"a":{}},"additionalProperties":false},
          {"properties":{"b":{}}}]})",
      {R"({"a":1})", "{}"}, {R"({"b":1})"});
  ExpectExact(R"({"$ref":"#/$defs/c","minLength":2,"$defs":{"c":{"enum":["r","rg"]}}})",
              {R"("rg")"}, {R"("r")"});
  ExpectExact(R"({"not":{"type":["string","number"]}})", {"null", "[]"}, {"1", R"("a")"});
  ExpectExact(R"({"type":"object","not":{"required":["a"]}})", {R"({"b":1})"}, {R"({"a":1})"});
  ExpectExact(R"({"type":"object","properties":{"k":{"enum":["x","y"]},"v":{}},"required":["k"],
                  "if":{"properties":{"k":{"const":"x"}}},"then":{"required":["v"]}})",
              {R"({"k":"y"})", R"({"k":"x","v":1})"}, {R"({"k":"x"})"});
  ExpectExact(R"({"type":"object","dependentRequired":{"a":["b"]}})",
              {R"({"a":1,"b":2})", R"({"b":2})"}, {R"({"a":1})"});
  ExpectExact(
      R"({"type":"object","properties":{"a":{}},"allOf":[{"properties":{"b":{}}}],
          "unevaluatedProperties":false})",
      {R"({"a":1,"b":2})"}, {R"({"c":1})"});
}

TEST(JsonSchema, FollowsReferences) {
  const std::string tree = R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object",
      "properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},
      {"type":"null"}]}},"required":["v","next"]}}})";
  ExpectExact(tree, {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":null}})"},
              {R"({"v":1})", R"({"v":1,"next":2})"});
  ExpectExact(R"({"type":"array","items":{"$ref":"#"}})", {"[]", "[[],[[]]]"}, {"[1]"});
  ExpectExact(
      R"({"items":{"$ref":"#/definitions/n"},"type":"array","definitions":{"n":{"type":"null"}}})",
      {"[null]"}, {"[1]"});
  ExpectExact(R"({"$ref":"#/$defs/C%20D","$defs":{"C D":{"type":"null"}}})", {"null"}, {"1"});
  ExpectExact(R"({"$ref":"#n","$defs":{"C":{"$anchor":"n","type":"null"}}})", {"null"}, {"1"});
  ExpectExact(R"({"$ref":"item.json","$defs":{"C":{"$id":"item.json","type":"null"}}})", {"null"},
              {"1"});
  ExpectExact(
      R"({"properties":{"a":{"$defs":{"n":{"type":"null"}},
          "$ref":"#/properties/a/$defs/n"}},"type":"object"})",
      {R"({"a":null})"}, {R"({"a":1})"});
  // Older drafts ignore what stands beside a reference.
  ExpectExact(
      R"({"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/n",
          "type":"string",
                  "definitions":{"n":{"type":"null"}}})",
      {"null"}, {R"("a")"});
}

TEST(JsonSchema, ConditionsAreReadSinceDraft7) {
  const auto schema = [](const std::string& draft) {
    return R"({"$schema":")" + draft + R"(","type":"object","properties":{"a":{"enum":["x","y"]}},
        "required":["a"],"if":{"properties":{"a":{"enum":["x"]}}},"then":{"required":["b"]}})";
  };
  for (const char* draft :
       {"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#"}) {
    ExpectExact(schema(draft), {R"({"a":"x"})", R"({"a":"x","b":2})", R"({"a":"y"})"},
                {R"({"a":"z"})"});
  }
  for (const char* draft : {"http://json-schema.org/draft-07/schema#",
                            "https://json-schema.org/draft/2020-12/schema"}) {
    ExpectExact(schema(draft), {R"({"a":"x","b":2})", R"({"a":"y"})"}, {R"({"a":"x"})"});
  }
}

TEST(JsonSchema, AnEmptyAllOfAsksForNothing) {
  ExpectExact(R"({"type":"null","allOf":[]})", {"null"}, {"1"});
}

TEST(JsonSchema, WhatIsNullIsNotThere) {
  ExpectExact(
      R"({"type":"object","properties":{"a":{"type":"null"}},"required":null,
          "additionalProperties":null})",
      {"{}", R"({"x":1})"}, {R"({"a":1})"});
  ExpectExact(R"({"type":"object","properties":null})", {"{}"}, {"1"});
}

TEST(JsonSchema, NamesWhatItDoesNotEnforceAndAllowsIt) {
  const auto expect = [](const std::string& schema, const Loosened& places,
                         const std::string& answer) {
    EXPECT_EQ(LoosenedOf(schema), places) << schema;
    EXPECT_TRUE(Fits(schema, answer)) << schema;
  };
  expect(R"({"type":"array","uniqueItems":true})", {"schema.uniqueItems"}, "[1,2]");
  expect(R"({"properties":{"a":{"type":"array","contains":{"type":"null"}}}})",
         {"schema.properties.a.contains"}, R"({"a":[1]})");
  expect(R"x({"items":{"type":"string","pattern":"(?<=a)b"}})x", {"schema.items.pattern"},
         R"(["x"])");
  expect(R"({"not":{"items":{"type":"null"}}})", {"schema.not"}, "[1]");
  expect(R"({"$ref":"http://elsewhere.org/schema"})", {"schema.$ref"}, "7");
  expect(R"({"extends":"types.json#/boolean"})", {"schema.extends"}, "7");
  expect(R"({"type":"string","maxLength":1000000})", {"schema.maxLength"}, R"("a")");
  expect(R"({"type":"number","multipleOf":0.123456789})", {"schema.multipleOf"}, "1");
}

TEST(JsonSchema, RefusesWhatIsNoSchemaAndWhatNothingFits) {
  ExpectRefused(R"({"type":"king"})", "schema.type");
  ExpectRefused(R"({"type":"integer","minimum":5,"maximum":4})", "schema");
  ExpectRefused(R"({"properties":{"a":{"type":"object","properties":7}}})",
                "schema.properties.a.properties");
  ExpectRefused(R"({"enum":[]})", "schema.enum");
  ExpectRefused(R"({"enum":["a"],"minLength":4})", "schema");
  ExpectRefused(R"({"$ref":""})", "schema.$ref");
  ExpectRefused(R"({"$ref":7})", "schema.$ref");
  ExpectRefused(R"({"$ref":"#/$defs/none"})", "schema.$ref");
  ExpectRefused(R"({"anyOf":[]})", "schema.anyOf");
  ExpectRefused(R"({"anyOf":[3]})", "schema.anyOf[0]");
  ExpectRefused(R"({"type":"array","items":false,"minItems":1})", "schema");
  ExpectRefused(R"({"type":"object","properties":{"a":false},"required":["a"]})", "schema");
  ExpectRefused(R"({"not":{}})", "schema");
  ExpectRefused(R"({"type":"object","required":["a"],"minProperties":3,"maxProperties":1})",
                "schema");
  ExpectRefused(
      R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})",
      "schema");
  ExpectRefused(R"({"type":"object","properties":{"next":{"$ref":"#"}},"required":["next"]})",
                "schema");
  ExpectRefused("7", "schema");
}

TEST(JsonSchema, WritesTheGrammarThatTheGoldenFileShows) {
  const auto text = GrammarOfSchema(Json::parse(R"({"type":"object","title":"Person",
      "properties":{"name":{"type":"string","minLength":1},"age":{"type":"integer","minimum":0},
      "tags":{"type":"array","items":{"enum":["a","b"]},"maxItems":4}},"required":["name"]})"),
                                    "schema");
  ASSERT_TRUE(text.has_value());
  ExpectGolden("json_schema.gbnf", *text);
}

}  // namespace
}  // namespace cairn::json_schema_test
