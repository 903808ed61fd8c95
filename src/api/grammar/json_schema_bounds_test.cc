// Schemas that are large, deep or hostile: the work on them is bounded, and what they allow can be
// written to its end.

#include <gtest/gtest.h>

#include "api/grammar/json_schema.h"
#include "engine/grammar/grammar.h"

namespace cairn::json_schema_bounds_test {
namespace {

// Returns the grammar; null if the schema is refused.
std::shared_ptr<const Grammar> Made(const Json& schema, Loosened* loosened = nullptr) {
  const auto text = GrammarOfSchema(schema, "schema", loosened);
  if (!text) {
    EXPECT_EQ(text.error().status, 400);
    return nullptr;
  }
  const auto grammar = Grammar::Parse(*text);
  EXPECT_TRUE(grammar.has_value()) << grammar.error().message;
  return grammar.value_or(nullptr);
}

bool Fits(const std::shared_ptr<const Grammar>& grammar, const std::string& answer) {
  GrammarMatcher matcher(grammar);
  for (const char c : answer) {
    const std::string_view one(&c, 1);
    if (!matcher.Allows(one)) return false;
    matcher.Accept(one);
  }
  return matcher.MayEnd();
}

TEST(JsonSchemaBounds, EveryValueOfALongListCanBeWritten) {
  Json values = Json::array();
  for (int i = 0; i < 5000; ++i) values.push_back("light.room_" + std::to_string(i * 7919 % 5000));
  Loosened loosened;
  const auto grammar = Made({{"type", "string"}, {"enum", values}}, &loosened);
  ASSERT_NE(grammar, nullptr);
  EXPECT_TRUE(loosened.empty());
  for (int i = 0; i < 5000; i += 97) {
    EXPECT_TRUE(Fits(grammar, "\"light.room_" + std::to_string(i) + "\"")) << i;
  }
  EXPECT_FALSE(Fits(grammar, "\"light.room_5000\""));
}

// Each reference was looked for among all before it: half a minute of an HTTP thread.
TEST(JsonSchemaBounds, AChainOfVeryManyReferencesIsLoosened) {
  for (const size_t count : {1000, 150000}) {
    Json chain = Json::array();
    for (size_t i = 1; i <= count; ++i) {
      chain.push_back({{"$ref", "#/allOf/" + std::to_string(i)}});
    }
    chain.push_back({{"type", "string"}});
    Loosened loosened;
    EXPECT_TRUE(Fits(Made({{"allOf", chain}}, &loosened), "\"a\""));
    EXPECT_EQ(loosened.empty(), count == 1000);
  }
}

TEST(JsonSchemaBounds, EveryObjectOfALargeUnionCanBeWritten) {
  Json choices = Json::array();
  for (int i = 0; i < 1000; ++i) {
    Json choice = {{"type", "object"}, {"required", Json::array({"kind", "v"})}};
    choice["properties"] = {{"kind", {{"const", "k" + std::to_string(i)}}},
                            {"v", {{"type", "integer"}}}};
    choice["additionalProperties"] = false;
    choices.push_back(std::move(choice));
  }
  for (const char* keyword : {"anyOf", "oneOf"}) {
    Loosened loosened;
    Json schema = Json::object();
    schema[keyword] = choices;
    const auto grammar = Made(schema, &loosened);
    ASSERT_NE(grammar, nullptr);
    EXPECT_TRUE(loosened.empty()) << *loosened.begin();
    for (int i = 0; i < 1000; i += 83) {
      EXPECT_TRUE(Fits(grammar, "{\"kind\":\"k" + std::to_string(i) + "\",\"v\":1}")) << i;
    }
    EXPECT_FALSE(Fits(grammar, R"({"kind":"k1000","v":1})"));
  }
}

TEST(JsonSchemaBounds, AnyOfManyPropertiesMayBeMissing) {
  Json properties = Json::object();
  for (int i = 0; i < 4000; ++i) properties["p" + std::to_string(i)] = {{"type", "integer"}};
  const auto grammar =
      Made({{"type", "object"}, {"properties", properties}, {"additionalProperties", false}});
  ASSERT_NE(grammar, nullptr);
  EXPECT_TRUE(Fits(grammar, R"({"p3999":1})"));
  EXPECT_TRUE(Fits(grammar, R"({"p0":1,"p1":2,"p3000":3})"));
  EXPECT_FALSE(Fits(grammar, R"({"q":1})"));
}

TEST(JsonSchemaBounds, ManyNamesLeaveTheirValuesEnforced) {
  for (const int count : {20, 100, 300, 1000}) {
    Json properties = Json::object();
    for (int i = 0; i < count; ++i) {
      properties["a_property_" + std::to_string(i * 7919 % 100000)] = {{"type", "integer"}};
    }
    Loosened loosened;
    const auto grammar = Made({{"type", "object"}, {"properties", properties}}, &loosened);
    ASSERT_NE(grammar, nullptr);
    for (const std::string& place : loosened) EXPECT_EQ(place, "schema.additionalProperties");
    EXPECT_TRUE(Fits(grammar, R"({"a_property_7919":1,"x":"y"})"));
    EXPECT_FALSE(Fits(grammar, R"({"a_property_7919":"x"})")) << count;
  }
}

TEST(JsonSchemaBounds, ProductsOfUnionsAreLoosened) {
  Json all = Json::array();
  for (int i = 0; i < 40; ++i) {
    Json choice = Json::array();
    for (int j = 0; j < 10; ++j) {
      choice.push_back({{"required", Json::array({"p" + std::to_string(i * 10 + j)})}});
    }
    all.push_back({{"anyOf", choice}});
  }
  Loosened loosened;
  const auto grammar = Made({{"type", "object"}, {"allOf", all}}, &loosened);
  ASSERT_NE(grammar, nullptr);
  EXPECT_FALSE(loosened.empty());
  EXPECT_TRUE(Fits(grammar, R"({"p0":1})"));
}

TEST(JsonSchemaBounds, ChoicesThatLeadToChoicesEnd) {
  Json defs = Json::object();
  constexpr int kChoices = 1000;
  for (int i = 0; i < kChoices; ++i) {
    Json next = {{"$ref", "#/$defs/d" + std::to_string(i + 1)}};
    defs["d" + std::to_string(i)] = {{"anyOf", Json::array({std::move(next)})}};
  }
  defs["d" + std::to_string(kChoices)] = {{"type", "null"}};
  Loosened loosened;
  const auto grammar = Made({{"$ref", "#/$defs/d0"}, {"$defs", defs}}, &loosened);
  ASSERT_NE(grammar, nullptr);
  EXPECT_FALSE(loosened.empty());
  EXPECT_TRUE(Fits(grammar, "null"));
}

TEST(JsonSchemaBounds, ValuesThatNeedEarlierOnesAreFound) {
  Json defs = {{"d0", {{"type", "null"}}}};
  Json properties = Json::object();
  for (int i = 1; i < 1000; ++i) {
    const std::string name = std::to_string(i);
    Json needs = {{"type", "object"}, {"required", Json::array({"x"})}};
    needs["properties"]["x"] = {{"$ref", "#/$defs/d" + std::to_string(i - 1)}};
    defs["d" + name] = std::move(needs);
    properties["p" + name] = {{"$ref", "#/$defs/d" + name}};
  }
  const auto grammar = Made({{"type", "object"}, {"properties", properties}, {"$defs", defs}});
  ASSERT_NE(grammar, nullptr);
  EXPECT_TRUE(Fits(grammar, R"({"p2":{"x":{"x":null}}})"));
  EXPECT_FALSE(Fits(grammar, R"({"p2":{"x":null}})"));
}

TEST(JsonSchemaBounds, DeepOnesAreEnforcedAtTheTop) {
  Json deep = {{"type", "null"}};
  for (int i = 0; i < 3000; ++i) {
    Json outer = {{"type", "array"}};
    outer["items"] = std::move(deep);
    deep = std::move(outer);
  }
  const auto grammar = Made(deep);
  ASSERT_NE(grammar, nullptr);
  EXPECT_TRUE(Fits(grammar, "[[[]]]"));
  EXPECT_FALSE(Fits(grammar, "[[1]]"));
}

TEST(JsonSchemaBounds, HostilePatternsAndCountsAreLoosened) {
  for (const char* schema :
       {R"({"type":"string","pattern":"(a|b)*a.{40}$"})",
        R"({"type":"string","pattern":"^((a{50}){50}){50}$"})",
        R"({"type":"string","minLength":1000000000})", R"({"type":"array","minItems":1e15})",
        R"({"type":"object","minProperties":100000})",
        R"({"type":"integer","multipleOf":99991,"minimum":1e300})",
        R"({"type":"string","pattern":"^[a-z]{1,2000}$","maxLength":1999,
            "allOf":[{"pattern":"x.{0,500}y"}]})"}) {
    Loosened loosened;
    EXPECT_NE(Made(Json::parse(schema), &loosened), nullptr) << schema;
    EXPECT_FALSE(loosened.empty()) << schema;
  }
}

TEST(JsonSchemaBounds, LargeOnesHaveAGrammarOfBoundedSize) {
  Json wide = {{"type", "string"}, {"enum", Json::array()}};
  for (int i = 0; i < 300; ++i)
    wide["enum"].push_back(std::string(10000, static_cast<char>('a' + i % 26)) + std::to_string(i));
  Loosened loosened;
  const auto grammar = Made(
      {{"type", "object"}, {"properties", {{"a", wide}, {"b", {{"type", "null"}}}}}}, &loosened);
  ASSERT_NE(grammar, nullptr);
  EXPECT_EQ(loosened, Loosened{"schema"});
  EXPECT_TRUE(Fits(grammar, R"({"a":"x","b":null})"));
}

}  // namespace
}  // namespace cairn::json_schema_bounds_test
