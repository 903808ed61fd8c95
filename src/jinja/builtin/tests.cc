#include <algorithm>
#include <string>

#include "jinja/run/builtins.h"
#include "jinja/value/print.h"
#include "jinja/value/unicode.h"

namespace cairn::jinja {
namespace {

bool IsDefined(Interpreter&, const Value& value, const Bound&) {
  return !value.is_undefined();
}
bool IsUndefined(Interpreter&, const Value& value, const Bound&) {
  return value.is_undefined();
}
bool IsNone(Interpreter&, const Value& value, const Bound&) {
  return value.is_none();
}
bool IsBoolean(Interpreter&, const Value& value, const Bound&) {
  return value.is(Kind::kBool);
}
bool IsFalse(Interpreter&, const Value& value, const Bound&) {
  return value.is(Kind::kBool) && !value.boolean();
}
bool IsTrueValue(Interpreter&, const Value& value, const Bound&) {
  return value.is(Kind::kBool) && value.boolean();
}
bool IsInteger(Interpreter&, const Value& value, const Bound&) {
  return value.is(Kind::kInt);
}
bool IsFloat(Interpreter&, const Value& value, const Bound&) {
  return value.is(Kind::kFloat);
}
bool IsNumber(Interpreter&, const Value& value, const Bound&) {
  return value.is_number();
}
bool IsString(Interpreter&, const Value& value, const Bound&) {
  return value.is_text();
}
bool IsMapping(Interpreter&, const Value& value, const Bound&) {
  return value.is_dict();
}
bool IsSequence(Interpreter&, const Value& value, const Bound&) {
  return value.is_text() || value.is_sequence() || value.is_dict() || value.is(Kind::kRange) ||
         value.is_undefined();
}
bool IsIterableValue(Interpreter&, const Value& value, const Bound&) {
  return IsIterable(value);
}
bool IsCallableValue(Interpreter&, const Value& value, const Bound&) {
  return IsCallable(value);
}
bool IsEscaped(Interpreter&, const Value& value, const Bound&) {
  return value.is_text() && value.text().safe();
}

Value Modulo(Interpreter& run, const Value& value, const Value& by) {
  return Operate(run, Arithmetic::kMod, value, by);
}
bool IsOdd(Interpreter& run, const Value& value, const Bound&) {
  return Equal(Modulo(run, value, Value::Integer(2)), Value::Integer(1));
}
bool IsEven(Interpreter& run, const Value& value, const Bound&) {
  return Equal(Modulo(run, value, Value::Integer(2)), Value::Integer(0));
}
bool IsDivisibleBy(Interpreter& run, const Value& value, const Bound& bound) {
  return Equal(Modulo(run, value, *bound[0]), Value::Integer(0));
}

// All letters are in this case, and there is one.
bool IsInCase(Interpreter& run, const Value& value, bool lower) {
  const Text text = TextOf(&run.heap(), value);
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text.bytes(), at);
    at += character.bytes;
    if (IsTitle(character.code) || (lower ? IsUpper : IsLower)(character.code)) return false;
    any = any || (lower ? IsLower : IsUpper)(character.code);
  }
  return any;
}
bool IsLowerText(Interpreter& run, const Value& value, const Bound&) {
  return IsInCase(run, value, true);
}
bool IsUpperText(Interpreter& run, const Value& value, const Bound&) {
  return IsInCase(run, value, false);
}

bool IsSame(Interpreter&, const Value& value, const Bound& bound) {
  const Value& other = *bound[0];
  if (value.kind() != other.kind()) return false;
  switch (value.kind()) {
    case Kind::kUndefined:
      return value.object() != nullptr && value.object() == other.object();
    case Kind::kNone:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kText:
      return Equal(value, other);
    default:
      return value.object() == other.object();
  }
}

bool IsInValue(Interpreter& run, const Value& value, const Bound& bound) {
  return IsIn(&run.heap(), value, *bound[0]);
}
bool IsEqual(Interpreter& run, const Value& value, const Bound& bound) {
  return Equal(value, *bound[0], &run.heap());
}
bool IsUnequal(Interpreter& run, const Value& value, const Bound& bound) {
  return !Equal(value, *bound[0], &run.heap());
}
bool IsGreater(Interpreter& run, const Value& value, const Bound& bound) {
  return Less(*bound[0], value, ">", &run.heap());
}
bool IsGreaterOrEqual(Interpreter& run, const Value& value, const Bound& bound) {
  return Less(*bound[0], value, ">=", &run.heap()) || Equal(value, *bound[0], &run.heap());
}
bool IsLess(Interpreter& run, const Value& value, const Bound& bound) {
  return Less(value, *bound[0], "<", &run.heap());
}
bool IsLessOrEqual(Interpreter& run, const Value& value, const Bound& bound) {
  return Less(value, *bound[0], "<=", &run.heap()) || Equal(value, *bound[0], &run.heap());
}
bool IsFilterName(Interpreter&, const Value& value, const Bound&) {
  if (value.is_list() || value.is_dict()) HashOf(value);
  return value.is_text() && FindFilter(value.bytes()) != nullptr;
}
bool IsTestName(Interpreter&, const Value& value, const Bound&) {
  if (value.is_list() || value.is_dict()) HashOf(value);
  return value.is_text() && FindTest(value.bytes()) != nullptr;
}

constexpr TestDefinition kTests[] = {{"defined", "", IsDefined},
                                     {"undefined", "", IsUndefined},
                                     {"none", "", IsNone},
                                     {"string", "", IsString},
                                     {"mapping", "", IsMapping},
                                     {"iterable", "", IsIterableValue},
                                     {"sequence", "", IsSequence},
                                     {"boolean", "", IsBoolean},
                                     {"false", "", IsFalse},
                                     {"true", "", IsTrueValue},
                                     {"integer", "", IsInteger},
                                     {"float", "", IsFloat},
                                     {"number", "", IsNumber},
                                     {"callable", "", IsCallableValue},
                                     {"escaped", "", IsEscaped},
                                     {"odd", "", IsOdd},
                                     {"even", "", IsEven},
                                     {"divisibleby", "num", IsDivisibleBy},
                                     {"lower", "", IsLowerText},
                                     {"upper", "", IsUpperText},
                                     {"sameas", "other", IsSame},
                                     {"in", "seq", IsInValue},
                                     {"filter", "", IsFilterName},
                                     {"test", "", IsTestName},
                                     {"eq", "/other", IsEqual},
                                     {"equalto", "/other", IsEqual},
                                     {"==", "/other", IsEqual},
                                     {"ne", "/other", IsUnequal},
                                     {"!=", "/other", IsUnequal},
                                     {"gt", "/other", IsGreater},
                                     {"greaterthan", "/other", IsGreater},
                                     {">", "/other", IsGreater},
                                     {"ge", "/other", IsGreaterOrEqual},
                                     {">=", "/other", IsGreaterOrEqual},
                                     {"lt", "/other", IsLess},
                                     {"lessthan", "/other", IsLess},
                                     {"<", "/other", IsLess},
                                     {"le", "/other", IsLessOrEqual},
                                     {"<=", "/other", IsLessOrEqual}};

}  // namespace

const TestDefinition* FindTest(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kTests), std::end(kTests),
                                         [&](const auto& test) { return name == test.name; });
  return found == std::end(kTests) ? nullptr : found;
}

const FilterDefinition* FindFilter(std::string_view name) {
  for (const FilterDefinition* const table :
       {kTextFilters, kListFilters, kChoiceFilters, kValueFilters}) {
    for (const FilterDefinition* filter = table; filter->name != nullptr; ++filter) {
      if (name == filter->name) return filter;
    }
  }
  return nullptr;
}

}  // namespace cairn::jinja
