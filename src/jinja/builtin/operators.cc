#include <algorithm>
#include <array>
#include <string>

#include "jinja/run/builtins.h"
#include "jinja/value/print.h"
#include "jinja/value/unicode.h"

namespace cairn::jinja {
namespace {

struct Parameter {
  std::string_view name;
  bool optional = false;
};

std::vector<Parameter> ParametersIn(std::string_view list) {
  std::vector<Parameter> parameters;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view name = list.substr(0, comma);
    const bool optional = name.ends_with('=');
    if (optional) name.remove_suffix(1);
    parameters.push_back({name, optional});
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parameters;
}

[[noreturn]] void RaiseTypes(Arithmetic operation, const Value& a, const Value& b) {
  RequireDefined(a);
  RequireDefined(b);
  Raise(std::string("unsupported operand type(s) for ") + OperatorText(operation) + ": '" +
        TypeName(a) + "' and '" + TypeName(b) + "'");
}

void AppendFor(const Text& text, bool safe, TextBuilder* out) {
  if (safe && !text.safe()) {
    AppendEscaped(text, out);
  } else {
    out->Append(text);
  }
}

Value AddTexts(Interpreter& run, const Text& a, const Text& b) {
  TextBuilder out(&run.heap());
  const bool safe = a.safe() || b.safe();
  AppendFor(a, safe, &out);
  AppendFor(b, safe, &out);
  out.set_safe(safe);
  return Value::Of(out.Build());
}

Value AddSequences(Interpreter& run, const Value& a, const Value& b) {
  std::vector<Value> items = a.items();
  run.heap().Step(items.size() + b.items().size());
  items.insert(items.end(), b.items().begin(), b.items().end());
  return a.is_list() ? MakeList(&run.heap(), std::move(items))
                     : MakeTuple(&run.heap(), std::move(items));
}

Value Repeated(Interpreter& run, const Value& value, Int times) {
  if (times > Int{INT64_MAX}) Raise("cannot fit 'int' into an index-sized integer");
  const size_t size = value.is_text() ? value.bytes().size() : value.items().size();
  const size_t count = times <= 0 || size == 0      ? 0
                       : times > Int{SIZE_MAX / 64} ? SIZE_MAX / 64
                                                    : static_cast<size_t>(times);
  if (count > (SIZE_MAX / 64) / std::max<size_t>(size, 1)) Raise("it takes too much memory");
  if (value.is_text()) {
    run.heap().CheckTextBytes(size * count);
    run.heap().Step(count);
    TextBuilder out(&run.heap());
    for (size_t i = 0; i < count; ++i) out.Append(value.text());
    out.set_safe(value.text().safe());
    return Value::Of(out.Build());
  }
  run.heap().Charge(size * count * sizeof(Value));
  run.heap().Step(size * count);
  std::vector<Value> items;
  items.reserve(size * count);
  for (size_t i = 0; i < count; ++i) {
    items.insert(items.end(), value.items().begin(), value.items().end());
  }
  return value.is_list() ? MakeList(&run.heap(), std::move(items))
                         : MakeTuple(&run.heap(), std::move(items));
}

bool IsRepeatable(const Value& value) {
  return value.is_text() || value.is_sequence();
}

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

Bound::Bound(std::string_view function, std::string_view parameters, const Arguments& arguments)
    : all_(arguments) {
  if (parameters == "*") return;
  const bool by_place_only = parameters.starts_with('/');
  if (by_place_only) parameters.remove_prefix(1);
  const std::vector<Parameter> known = ParametersIn(parameters);
  const std::string name = std::string(function) + "()";
  values_.resize(known.size());
  if (arguments.places.size() > known.size()) {
    Raise(name + " takes " + std::to_string(known.size()) + " arguments but " +
          std::to_string(arguments.places.size()) + " were given");
  }
  for (size_t i = 0; i < arguments.places.size(); ++i) values_[i] = &arguments.places[i];
  for (const auto& named : arguments.names) {
    const std::string& given = named.first;
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const auto& one) { return one.name == given; });
    if (found == known.end() || by_place_only) {
      Raise(name + " got an unexpected keyword argument '" + given + "'");
    }
    const Value*& place = values_[static_cast<size_t>(found - known.begin())];
    if (place != nullptr) Raise(name + " got multiple values for argument '" + given + "'");
    place = &named.second;
  }
  for (size_t i = 0; i < known.size(); ++i) {
    if (values_[i] == nullptr && !known[i].optional) {
      Raise(name + " missing 1 required argument: '" + std::string(known[i].name) + "'");
    }
  }
}

Value Operate(Interpreter& run, Arithmetic operation, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return Calculate(operation, a, b);
  if (operation == Arithmetic::kAdd) {
    if (a.is_text() && b.is_text()) return AddTexts(run, a.text(), b.text());
    if (a.is_sequence() && a.kind() == b.kind()) return AddSequences(run, a, b);
    if (a.is_text() && !b.is_undefined()) {
      Raise(std::string("can only concatenate str (not \"") + TypeName(b) + "\") to str");
    }
  }
  if (operation == Arithmetic::kMul) {
    if (IsRepeatable(a) && b.is_int()) return Repeated(run, a, b.integer());
    if (IsRepeatable(b) && a.is_int()) return Repeated(run, b, a.integer());
  }
  if (operation == Arithmetic::kMod && a.is_text()) return FormatPercent(run, a.text(), b);
  RaiseTypes(operation, a, b);
}

Int IntegerOf(const Value& value) {
  RequireDefined(value);
  if (!value.is_int()) {
    Raise(std::string("'") + TypeName(value) + "' object cannot be interpreted as an integer");
  }
  return value.integer();
}

size_t CountOf(const Value& value, size_t max) {
  const Int count = IntegerOf(value);
  if (count <= 0) return 0;
  return count > static_cast<Int>(max) ? max : static_cast<size_t>(count);
}

Text TextArgument(const Value& value, std::string_view what) {
  RequireDefined(value);
  if (!value.is_text()) {
    Raise(std::string(what) + " must be str, not " + TypeName(value));
  }
  return value.text();
}

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
