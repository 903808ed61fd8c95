#include "api/grammar/rules/number_range.h"

#include <gtest/gtest.h>

#include <random>

#include "api/grammar/rules/json_grammar.h"
#include "engine/grammar/grammar.h"
#include "testing/base/played_share.h"

namespace cairn::number_range_test {
namespace {

Decimal Of(const std::string& text) {
  return Decimal(Json::parse(text));
}

std::shared_ptr<const Grammar> GrammarOf(const NumberRange& range) {
  RuleSheet sheet("", 1000000);
  WorkBudget budget(5000000);
  const auto rule = RuleOfNumbers(range, &sheet, &budget);
  EXPECT_TRUE(rule.has_value());
  if (!rule) return nullptr;
  const auto grammar = Grammar::Parse(WithJsonRules("root ::= " + *rule + "\n" + sheet.text()));
  EXPECT_TRUE(grammar.has_value()) << grammar.error().message << sheet.text();
  return grammar.value_or(nullptr);
}

bool Fits(const std::shared_ptr<const Grammar>& grammar, const std::string& text) {
  GrammarMatcher matcher(grammar);
  if (!matcher.Allows(text)) return false;
  matcher.Accept(text);
  return matcher.MayEnd();
}

TEST(Decimal, ComparesExactly) {
  EXPECT_LT(Of("0.1"), Of("0.10000000000000002"));
  EXPECT_LT(Of("-2"), Of("-1.5"));
  EXPECT_EQ(Of("1e3"), Of("1000.0"));
  EXPECT_LT(Of("0"), Of("1e-300"));
  EXPECT_EQ(Of("-0.0"), Of("0"));
  EXPECT_LT(Of("18446744073709551614"), Of("18446744073709551615"));
  EXPECT_EQ(Of("12.5").Whole(), "12");
  EXPECT_EQ(Of("0.05").Fraction(), "05");
}

TEST(NumberRange, HoldsEveryFormOfItsNumbers) {
  NumberRange part;
  part.RaiseLeast(Of("0"), false);
  part.LowerMost(Of("1"), false);
  const auto grammar = GrammarOf(part);
  for (const char* text :
       {"0", "1", "0.5", "1.0", "0.0000001", "1e-7", "9.99E-01", "0e5", "-0", "1.000e0", "-0.0"}) {
    EXPECT_TRUE(Fits(grammar, text)) << text;
  }
  for (const char* text : {"1.1", "-0.1", "2", "1e1", "1.5e0", "01", ".5", "1.", "1.0000001"}) {
    EXPECT_FALSE(Fits(grammar, text)) << text;
  }
}

TEST(NumberRange, KeepsBoundsOfRandomNumbers) {
  std::mt19937 random(5);
  const auto number = [&] {
    std::string text = random() % 2 == 0 ? "-" : "";
    text += std::to_string(random() % (random() % 2 == 0 ? 12 : 400));
    if (random() % 2 == 0) text += "." + std::to_string(random() % 300);
    return text;
  };
  for (size_t i = 0; i < test::Played(150); ++i) {
    NumberRange range;
    if (random() % 4 > 0) range.RaiseLeast(Of(number()), random() % 2 == 0);
    if (random() % 4 > 0) range.LowerMost(Of(number()), random() % 2 == 0);
    range.integer = random() % 3 == 0;
    if (random() % 4 == 0) range.multiple_of = Of(random() % 2 == 0 ? "7" : "0.25");
    WorkBudget budget(5000000);
    if (!AnyNumber(range, &budget)) continue;
    const auto grammar = GrammarOf(range);
    for (size_t j = 0; j < 60; ++j) {
      const std::string text = number();
      EXPECT_EQ(Fits(grammar, text), range.Holds(Json::parse(text))) << text << " " << i;
      const std::string scientific =
          Json(Of(text).is_zero() ? 0.0 : Json::parse(text).get<double>() / 1e30).dump();
      if (range.integer || range.multiple_of) continue;
      EXPECT_EQ(Fits(grammar, scientific), range.Holds(Json::parse(scientific))) << scientific;
    }
  }
}

TEST(NumberRange, KnowsWhenNothingIsLeft) {
  NumberRange none;
  none.RaiseLeast(Of("1"), true);
  none.LowerMost(Of("2"), true);
  WorkBudget budget(1000000);
  EXPECT_TRUE(AnyNumber(none, &budget));
  none.integer = true;
  EXPECT_FALSE(AnyNumber(none, &budget));
  NumberRange large;
  large.RaiseLeast(Of("0"), false);
  large.LowerMost(Of("18446744073709551615"), false);
  large.integer = true;
  const auto grammar = GrammarOf(large);
  EXPECT_TRUE(Fits(grammar, "18446744073709551615"));
  EXPECT_FALSE(Fits(grammar, "18446744073709551616"));
}

TEST(NumberRange, LargeWholeNumbersMayHaveExponents) {
  NumberRange large;
  large.RaiseLeast(Of("5"), false);
  large.LowerMost(Of("2e20"), false);
  large.integer = true;
  const auto grammar = GrammarOf(large);
  for (const char* text : {"1e20", "1E+20", "2e20", "1.5e16", "1.2345678901234567e17"}) {
    EXPECT_TRUE(Fits(grammar, text)) << text;
  }
  for (const char* text : {"2.1e20", "3e20", "1.00000000000000001e16", "1e21"}) {
    EXPECT_FALSE(Fits(grammar, text)) << text;
  }
}

TEST(NumberRange, EndsRepeatedDigits) {
  NumberRange part;
  part.RaiseLeast(Of("0"), false);
  part.LowerMost(Of("1"), false);
  EXPECT_FALSE(Fits(GrammarOf(part), "0." + std::string(200, '3')));
}

}  // namespace
}  // namespace cairn::number_range_test
