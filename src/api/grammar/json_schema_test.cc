#include "api/grammar/json_schema.h"

#include <gtest/gtest.h>

#include "engine/grammar/grammar.h"
#include "testing/base/golden_file.h"

namespace cairn {
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

void ExpectRefused(const std::string& schema, const std::string& field) {
  const auto text = GrammarOfSchema(Json::parse(schema), "schema");
  ASSERT_FALSE(text.has_value()) << schema;
  EXPECT_EQ(text.error().status, 400);
  EXPECT_EQ(text.error().field, field) << text.error().message;
}

TEST(JsonSchema, ObjectsHaveTheirPropertiesInOrder) {
  const std::string schema = R"({"type":"object","properties":{"a":{"type":"integer"},
      "b":{"type":"boolean"},"c":{"type":"null"}},"required":["b"]})";
  ExpectAnswers(schema,
                {R"({"a":1,"b":true,"c":null})", R"({"b":false})", R"({ "b": true,"c": null })",
                 "{\n  \"a\": -7,\n  \"b\": true\n}"},
                {R"({})", R"({"a":1})", R"({"b":true,"a":1})", R"({"b":true,})", R"({"b":1})",
                 R"({"b":true,"d":1})"});
  ExpectAnswers(R"({"properties":{"a":true,"b":true}})",
                {"{}", R"({"a":[1,"x",{"y":null}]})", R"({"b":2})", R"({"a":1,"b":2})"},
                {R"({"b":2,"a":1})", R"({,"b":2})"});
  ExpectAnswers(R"({"type":"object"})", {"{}", R"({"x":{"y":[]},"z":"\n\u00e9"})"}, {"[]", "{"});
  ExpectAnswers(R"({"type":"object","additionalProperties":false})", {"{}"}, {R"({"a":1})"});
}

TEST(JsonSchema, ListsThatRepeatThemselvesAreReadOnce) {
  ExpectAnswers(R"({"type":["integer","null","integer","integer"]})", {"1", "null"}, {"true"});
  EXPECT_EQ(*GrammarOfSchema(Json::parse(R"({"type":["string","string"]})"), "schema"),
            *GrammarOfSchema(Json::parse(R"({"type":"string"})"), "schema"));
  ExpectAnswers(R"({"properties":{"a":{"type":"null"}},"required":["a","a","b","b"]})",
                {R"({"a":null,"b":1})"}, {"{}", R"({"a":null})"});
}

// What is merged with each of a list's schemas would be copied as often as there are some.
TEST(JsonSchema, RefusesLongListsOfSchemas) {
  std::string list = "{}";
  for (int i = 1; i < 1000; ++i) list += ",{}";
  EXPECT_TRUE(GrammarOfSchema(Json::parse("{\"anyOf\":[" + list + "]}"), "schema").has_value());
  for (const char* name : {"anyOf", "oneOf", "allOf"}) {
    ExpectRefused("{\"" + std::string(name) + "\":[" + list + ",{}]}",
                  "schema." + std::string(name));
  }
  std::string parts;
  for (int part = 0; part < 5; ++part) {
    parts += std::string(part > 0 ? "," : "") + "{\"properties\":{";
    for (int i = 0; i < 1000; ++i) {
      parts += std::string(i > 0 ? "," : "") + "\"" + std::to_string(part * 1000 + i) + "\":{}";
    }
    parts += "}}";
  }
  ExpectRefused("{\"allOf\":[" + parts + "]}", "schema.allOf");
}

TEST(JsonSchema, OtherPropertiesHaveOtherNames) {
  const std::string schema = R"({"properties":{"ab":{"type":"integer"},"a^-":{"type":"null"}},
      "additionalProperties":{"type":"string"},"required":["ab"]})";
  ExpectAnswers(schema,
                {R"({"ab":1})", R"({"ab":1,"a":"x"})", R"({"ab":1,"abc":"x","":"y"})",
                 R"({"ab":1,"a^-":null,"a^":"z"})"},
                {R"({"ab":1,"ab":"x"})", R"({"ab":1,"x":2})", R"({"ab":1,"a^-":"x"})",
                 R"({"a":"x"})", R"({"ab":1,"\u0061b":"x"})"});
  ExpectAnswers(R"({"additionalProperties":{"type":"integer"}})", {"{}", R"({"a":1,"b":2})"},
                {R"({"a":"x"})"});
  ExpectAnswers(R"({"additionalProperties":true,"required":["k"]})", {R"({"k":1,"z":2})"},
                {R"({"z":2})"});
}

TEST(JsonSchema, ArraysCountTheirItems) {
  ExpectAnswers(R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3})",
                {"[1]", "[1,2,3]", "[1, 2]"}, {"[]", "[1,2,3,4]", "[\"a\"]"});
  ExpectAnswers(R"({"items":{"type":"null"}})", {"[]", "[null,null]"}, {"[1]"});
  ExpectAnswers(R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"});
  ExpectAnswers(R"({"prefixItems":[{"type":"integer"},{"type":"string"}],"items":false})",
                {R"([1,"a"])"}, {"[1]", R"([1,"a",2])"});
  ExpectAnswers(R"({"prefixItems":[{"type":"integer"}],"items":{"type":"null"},"minItems":2})",
                {"[1,null]", "[1,null,null]"}, {"[1]", "[1,2]"});
}

TEST(JsonSchema, StringsKeepTheirLengthsPatternsAndFormats) {
  ExpectAnswers(R"({"type":"string","minLength":2,"maxLength":3})", {R"("ab")", R"("äö\n")"},
                {R"("a")", R"("abcd")"});
  ExpectAnswers(R"({"pattern":"^[A-Z]{2}-\\d+(\\.x|y)?$"})", {R"("AB-1")", R"("XY-22.x")"},
                {R"("A-1")", R"("AB-")", R"("AB-1x")"});
  ExpectAnswers(R"({"pattern":"^.\"[^a-c]$"})", {R"("x\"d")"}, {R"("x\"a")", R"("x"d")"});
  ExpectAnswers(R"({"type":"string","format":"date"})", {R"("2024-02-28")", R"("2024-12-31")"},
                {R"("2024-13-01")", R"("2024-02-30")", R"("2024-04-31")"});
  ExpectAnswers(R"({"type":"string","format":"date-time"})", {R"("2024-02-28T23:59:59.5Z")"},
                {R"("2024-02-28")", R"("2024-02-28T24:00:00Z")"});
  ExpectAnswers(R"({"type":"string","format":"uuid"})",
                {R"("123e4567-e89b-12d3-a456-426614174000")"}, {R"("123e4567")"});
  ExpectAnswers(R"({"type":"string","format":"email"})", {R"("anything")"}, {"1"});
  ExpectAnswers(R"({"type":"string"})", {R"("")", R"("\u00e9")"}, {R"("\ud800")", "\"\n\""});
}

TEST(JsonSchema, IntegersKeepTheirBounds) {
  const std::vector<std::pair<int, int>> bounds = {{0, 9},     {5, 5},    {1, 100},  {7, 123},
                                                   {-20, 13},  {-5, -3},  {99, 101}, {-130, 0},
                                                   {190, 210}, {10, 1000}};
  for (const auto& [least, most] : bounds) {
    const auto grammar = Made(R"({"type":"integer","minimum":)" + std::to_string(least) +
                              R"(,"exclusiveMaximum":)" + std::to_string(most + 1) + "}");
    for (int value = -1200; value <= 1200; ++value) {
      GrammarMatcher matcher(grammar);
      const std::string text = std::to_string(value);
      bool fits = matcher.Allows(text);
      if (fits) matcher.Accept(text);
      fits = fits && matcher.MayEnd();
      EXPECT_EQ(fits, least <= value && value <= most) << value << " in " << least << " " << most;
    }
  }
  ExpectAnswers(R"({"type":"integer","minimum":12})", {"12", "99", "100", "12345"},
                {"11", "0", "-1", "9"});
  ExpectAnswers(R"({"type":"integer","maximum":-3})", {"-3", "-10"}, {"-2", "0", "3"});
  ExpectAnswers(R"({"type":"integer"})", {"0", "-5"}, {"01", "1.5", "-"});
  ExpectAnswers(R"({"type":"number"})", {"0", "-5.25", "1e9"}, {"1.", ".5"});
  ExpectAnswers(R"({"type":"number","minimum":0})", {"0", "5.25"}, {"-5.25"});
}

TEST(JsonSchema, TakesOneOfSeveral) {
  ExpectAnswers(R"({"enum":["a",1,null,{"x":[2]}]})", {R"("a")", "1", "null", R"({"x":[2]})"},
                {R"("b")", "2"});
  ExpectAnswers(R"({"type":"string","enum":["a",1]})", {R"("a")"}, {"1"});
  ExpectAnswers(R"({"const":"q\"\n"})", {R"("q\"\n")"}, {R"("q")"});
  ExpectAnswers(R"({"type":["string","null"]})", {R"("a")", "null"}, {"1"});
  ExpectAnswers(R"({"anyOf":[{"type":"integer"},{"type":"boolean"}]})", {"1", "true"}, {"null"});
  ExpectAnswers(R"({"oneOf":[{"const":1},{"const":2}],"title":"t"})", {"1", "2"}, {"3"});
  ExpectAnswers(R"({"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"}},
                    "anyOf":[{"required":["a"]},{"required":["b"]}]})",
                {R"({"a":null})", R"({"b":null})"}, {"{}"});
  ExpectAnswers("{}", {"1", R"({"a":[]})"}, {"x"});
}

TEST(JsonSchema, PutsTogetherWhatAllHold) {
  ExpectAnswers(R"({"allOf":[{"type":"object","properties":{"a":{"type":"null"}},"required":["a"]},
                             {"properties":{"b":{"type":"null"}},"required":["b"]}]})",
                {R"({"a":null,"b":null})"}, {R"({"a":null})", R"({"b":null})"});
  ExpectAnswers(R"({"allOf":[{"type":"integer"}],"description":"d"})", {"1"}, {"null"});
  ExpectRefused(R"({"allOf":[{"type":"string","minLength":2},{"minLength":3}]})",
                "schema.allOf[1].minLength");
  ExpectRefused(R"({"allOf":[{"properties":{"a":{}},"additionalProperties":false},
                             {"properties":{"b":{}}}]})",
                "schema.allOf[1].additionalProperties");
}

TEST(JsonSchema, FollowsReferences) {
  const std::string tree = R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object",
      "properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},
      {"type":"null"}]}},"required":["v","next"]}}})";
  ExpectAnswers(tree, {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":null}})"},
                {R"({"v":1})", R"({"v":1,"next":2})"});
  ExpectAnswers(R"({"type":"array","items":{"$ref":"#"}})", {"[]", "[[],[[]]]"}, {"[1]"});
  ExpectAnswers(R"({"items":{"$ref":"#/definitions/n"},"definitions":{"n":{"type":"null"}}})",
                {"[null]"}, {"[1]"});
}

TEST(JsonSchema, NamesEveryKeywordThatItCannotKeep) {
  for (const char* keyword :
       {"not", "if", "then", "else", "dependencies", "dependentRequired", "dependentSchemas",
        "contains", "minContains", "maxContains", "propertyNames", "patternProperties",
        "minProperties", "maxProperties", "uniqueItems", "multipleOf", "unevaluatedItems",
        "unevaluatedProperties", "$dynamicRef"}) {
    ExpectRefused(R"({"properties":{"a":{"type":"object",")" + std::string(keyword) + R"(":{}}}})",
                  "schema.properties.a." + std::string(keyword));
  }
  ExpectRefused(R"({"type":"number","maximum":5})", "schema.maximum");
  ExpectRefused(R"({"type":"number","minimum":1})", "schema.minimum");
  ExpectRefused(R"({"type":"king"})", "schema.type");
  ExpectRefused(R"({"type":"integer","minimum":5,"maximum":4})", "schema.maximum");
  ExpectRefused(R"({"items":{"pattern":"a+"}})", "schema.items.pattern");
  ExpectRefused(R"({"pattern":"^(?=a)b$"})", "schema.pattern");
  ExpectRefused(R"({"pattern":"^a|b$"})", "schema.pattern");
  ExpectRefused(R"({"pattern":"^\\p{L}$"})", "schema.pattern");
  ExpectRefused(R"({"pattern":"^a$","minLength":1})", "schema.minLength");
  ExpectRefused(R"({"enum":[]})", "schema.enum");
  ExpectRefused(R"({"enum":["a"],"minLength":4})", "schema.minLength");
  ExpectRefused(R"({"$ref":"http://x/y"})", "schema.$ref");
  ExpectRefused(R"({"$ref":""})", "schema.$ref");
  ExpectRefused(R"({"$ref":7})", "schema.$ref");
  ExpectRefused(R"({"$ref":"#/$defs/none"})", "schema.$ref");
  ExpectRefused(R"({"$ref":"#/a~b/c","a":1})", "schema.$ref");
  ExpectRefused(R"({"anyOf":[]})", "schema.anyOf");
  ExpectRefused(R"({"anyOf":[3]})", "schema.anyOf[0]");
  ExpectRefused(R"({"items":false,"minItems":1})", "schema.minItems");
  ExpectRefused(R"({"type":"string","maxLength":1000000})", "schema.maxLength");
  ExpectRefused(
      R"({"properties":{")" + std::string(91, 'n') + R"(":{}},"additionalProperties":true})",
      "schema.additionalProperties");
  ExpectRefused(R"({"properties":{"a":false}})", "schema.properties.a");
  ExpectRefused("7", "schema");
}

TEST(JsonSchema, RefusesWhatIsTooDeepOrTooLarge) {
  std::string deep = "{}";
  for (int i = 0; i < 100; ++i) deep = R"({"items":)" + deep + "}";
  const auto text = GrammarOfSchema(Json::parse(deep), "schema");
  ASSERT_FALSE(text.has_value());
  EXPECT_NE(text.error().message.find("nested at most 64 deep"), std::string::npos);
  Json wide = {{"enum", Json::array({std::string(300000, 'x')})}};
  EXPECT_FALSE(GrammarOfSchema(wide, "schema").has_value());
  Json many;
  for (int i = 0; i < 6000; ++i) many["properties"]["p" + std::to_string(i)] = true;
  EXPECT_FALSE(GrammarOfSchema(many, "schema").has_value());
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
}  // namespace cairn
