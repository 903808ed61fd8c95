#include <algorithm>
#include <array>
#include <string>

#include "jinja/run/builtins.h"
#include "jinja/value/print.h"

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

}  // namespace cairn::jinja
