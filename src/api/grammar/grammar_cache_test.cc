#include "api/grammar/grammar_cache.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(GrammarCache, MakesEachOnce) {
  GrammarCache cache;
  int made = 0;
  const auto make = [&](Loosened* loosened) -> ApiResult<std::string> {
    ++made;
    loosened->insert("schema.uniqueItems");
    return std::string("root ::= \"a\"\n");
  };
  for (int i = 0; i < 3; ++i) {
    Loosened loosened;
    EXPECT_EQ(*cache.Rules("schema", &loosened, make), "root ::= \"a\"\n");
    EXPECT_EQ(loosened, Loosened{"schema.uniqueItems"});
  }
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(cache.Rules("other", nullptr, make).has_value());
  EXPECT_EQ(made, 2);
}

TEST(GrammarCache, ParsesEachOnce) {
  GrammarCache cache;
  const std::string rules = "root ::= \"a\"\nother ::= \"b\"\n";
  const auto grammar = cache.Parse(rules);
  ASSERT_TRUE(grammar.has_value());
  EXPECT_EQ(*cache.Parse(rules), *grammar);
  EXPECT_NE(*cache.Parse(rules, "other"), *grammar);
  EXPECT_FALSE(cache.Parse("root ::= (").has_value());
}

TEST(GrammarCache, KeepsNoErrors) {
  GrammarCache cache;
  const auto refuse = [](Loosened*) -> ApiResult<std::string> {
    return tl::unexpected(FieldError("schema", "a schema"));
  };
  EXPECT_FALSE(cache.Rules("schema", nullptr, refuse).has_value());
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(GrammarCache, ForgetsWhatWasUnusedForLongest) {
  GrammarCache cache(2500);
  int made = 0;
  const auto make = [&](Loosened*) -> ApiResult<std::string> {
    ++made;
    return std::string(800, 'x');
  };
  for (const char* key : {"a", "b", "a", "c", "a"}) EXPECT_TRUE(cache.Rules(key, nullptr, make));
  EXPECT_EQ(made, 3);
  EXPECT_LE(cache.bytes(), 2500u);
  EXPECT_TRUE(cache.Rules("b", nullptr, make));
  EXPECT_EQ(made, 4);
  const auto large = [](Loosened*) -> ApiResult<std::string> { return std::string(5000, 'x'); };
  EXPECT_TRUE(cache.Rules("large", nullptr, large));
  EXPECT_LE(cache.bytes(), 2500u);
}

TEST(GrammarCache, IsNotNeeded) {
  const auto make = [](Loosened*) -> ApiResult<std::string> { return std::string("x"); };
  EXPECT_EQ(*RulesOf(nullptr, "schema", nullptr, make), "x");
  EXPECT_TRUE(ParsedGrammar(nullptr, "root ::= \"a\"\n").has_value());
}

}  // namespace
}  // namespace cairn
