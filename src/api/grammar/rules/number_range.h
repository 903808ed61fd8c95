// NumberRange: which numbers a schema allows, and their texts as rules of a grammar.

#ifndef CAIRN_API_GRAMMAR_RULES_NUMBER_RANGE_H_
#define CAIRN_API_GRAMMAR_RULES_NUMBER_RANGE_H_

#include <optional>
#include <string>

#include "api/grammar/pattern/dfa.h"
#include "api/grammar/rules/decimal.h"
#include "api/grammar/rules/rule_sheet.h"

namespace cairn {

struct NumberRange {
  std::optional<Decimal> least = {};
  std::optional<Decimal> most = {};
  bool above_least = false;  // `least` itself is not allowed
  bool below_most = false;
  bool integer = false;
  std::optional<Decimal> multiple_of = {};  // above zero

  void RaiseLeast(const Decimal& bound, bool exclusive);
  void LowerMost(const Decimal& bound, bool exclusive);
  bool free() const { return !least && !most && !integer && !multiple_of; }
  // Whether the bounds leave no number.
  bool empty() const;
  bool Holds(const Json& number) const;

  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};

// Whether a grammar can hold the multiples of the range; true if it has none.
bool MultiplesFit(const NumberRange& range);

// Whether any number is in the range; true if that cannot be said.
bool AnyNumber(const NumberRange& range, WorkBudget* budget);

// Returns an expression for the numbers in the range. Forms: digits with a fraction, and, unless
// only integers or multiples fit, a digit, a fraction and an exponent. Nullopt if the automaton
// would be too large.
std::optional<std::string> RuleOfNumbers(const NumberRange& range, RuleSheet* sheet,
                                         WorkBudget* budget);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_RULES_NUMBER_RANGE_H_
