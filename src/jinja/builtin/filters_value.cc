// Filters of single values, and those that apply others to every item.

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "jinja/builtin/attribute_path.h"
#include "jinja/builtin/format_spec.h"
#include "jinja/run/builtins.h"
#include "jinja/run/lookup.h"
#include "jinja/value/number.h"
#include "jinja/value/print.h"
#include "jinja/value/unicode.h"

namespace cairn::jinja {
namespace {

// The layout of Python's pprint.

constexpr size_t kWidth = 80;
constexpr int kPrettyDepthMax = 100;

using Members = std::vector<std::pair<Value, Value>>;

class PrettyPrinter {
 public:
  explicit PrettyPrinter(Heap* heap) : heap_(*heap) {}

  // `indent`: columns before it; `allowance`: those behind it in its line.
  std::string Print(const Value& value, size_t indent, size_t allowance, int depth) {
    if (depth > kPrettyDepthMax) Raise("a value is nested too deep to be printed");
    std::string line = OneLine(value, depth);
    if (indent + CountCharacters(line) + allowance <= kWidth) return line;
    if (value.is_dict()) return Dict(value, indent, allowance, depth);
    if (value.is_list()) return Items(value, "[", "]", indent, allowance, depth);
    if (value.is(Kind::kTuple)) {
      return Items(value, "(", value.items().size() == 1 ? ",)" : ")", indent, allowance, depth);
    }
    return line;
  }

 private:
  std::string Repr(const Value& value) {
    TextBuilder text(&heap_);
    AppendRepr(value, &text);
    return std::string(text.bytes());
  }

  // With sorted keys.
  std::string OneLine(const Value& value, int depth) {
    if (depth > kPrettyDepthMax) Raise("a value is nested too deep to be printed");
    heap_.Step();
    std::string line;
    const auto separate = [&] {
      if (line.size() > 1) line += ", ";
    };
    if (value.is_dict()) {
      line = "{";
      for (const auto& [key, item] : Sorted(value)) {
        separate();
        line += OneLine(key, depth + 1) + ": " + OneLine(item, depth + 1);
      }
      return line + "}";
    }
    if (!value.is_sequence()) return Repr(value);
    line = value.is_list() ? "[" : "(";
    for (const Value& item : value.items()) {
      separate();
      line += OneLine(item, depth + 1);
    }
    if (value.is_list()) return line + "]";
    return line + (value.items().size() == 1 ? ",)" : ")");
  }

  static Members Sorted(const Value& value) {
    Members members = value.dict().items;
    const auto before = [](const auto& a, const auto& b) {
      const bool same =
          a.first.kind() == b.first.kind() || (a.first.is_number() && b.first.is_number());
      if (same && (a.first.is_text() || a.first.is_number())) return Less(a.first, b.first);
      return std::string_view(TypeName(a.first)) < TypeName(b.first);
    };
    std::stable_sort(members.begin(), members.end(), before);
    return members;
  }

  std::string Dict(const Value& value, size_t indent, size_t allowance, int depth) {
    std::string text = "{";
    const Members members = Sorted(value);
    for (size_t i = 0; i < members.size(); ++i) {
      if (i > 0) text += ",\n" + std::string(indent + 1, ' ');
      const std::string key = OneLine(members[i].first, depth + 1);
      const size_t behind = i + 1 < members.size() ? 1 : allowance + 1;
      text += key + ": ";
      text += Print(members[i].second, indent + 1 + CountCharacters(key) + 2, behind, depth + 1);
    }
    return text + "}";
  }

  std::string Items(const Value& value, const char* open, const char* close, size_t indent,
                    size_t allowance, int depth) {
    std::string text = open;
    const auto& items = value.items();
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text += ",\n" + std::string(indent + 1, ' ');
      text += Print(items[i], indent + 1, i + 1 < items.size() ? 1 : allowance + 1, depth + 1);
    }
    return text + close;
  }

  Heap& heap_;
};

Value AbsFilter(Interpreter&, const Value& value, const Bound&) {
  RequireDefined(value);
  if (!value.is_number()) {
    Raise(std::string("bad operand type for abs(): '") + TypeName(value) + "'");
  }
  if (value.is(Kind::kFloat)) return Value::Float(std::fabs(value.floating()));
  if (value.integer() >= 0) return Value::Integer(value.integer());
  return Calculate(Arithmetic::kSub, Value::Integer(0), value);
}

Value AttrFilter(Interpreter& run, const Value& value, const Bound& bound) {
  return OnlyAttributeOf(run, value, TextArgument(*bound[0], "attribute name").bytes());
}

Value DefaultFilter(Interpreter& run, const Value& value, const Bound& bound) {
  if (!value.is_undefined() && !(bound.Flag(1) && !IsTrue(value))) return value;
  return InsteadOf(value, bound[0] == nullptr ? run.Made("") : *bound[0]);
}

Value IntFilter(Interpreter&, const Value& value, const Bound& bound) {
  Value otherwise = bound[0] == nullptr ? Value::Integer(0) : *bound[0];
  RequireDefined(value);
  if (value.is_int()) return Value::Integer(value.integer());
  if (value.is(Kind::kFloat)) {
    return std::isnan(value.floating()) ? otherwise : Value::Integer(ToInt(value.floating()));
  }
  if (!value.is_text()) return otherwise;
  const Int base = bound[1] == nullptr ? 10 : IntegerOf(*bound[1]);
  if (base == 0 || (base >= 2 && base <= 36)) {
    if (const auto number = ParseInt(WithAsciiDigits(value.bytes()), static_cast<unsigned>(base))) {
      return Value::Integer(*number);
    }
  }
  const auto number = ParseFloat(WithAsciiDigits(value.bytes()));
  if (!number || !std::isfinite(*number)) return otherwise;
  return Value::Integer(ToInt(*number));
}

Value FloatFilter(Interpreter& run, const Value& value, const Bound& bound) {
  RequireDefined(value);
  if (value.is_number()) return Value::Float(ToDouble(value));
  if (value.is_text()) {
    if (const auto number = ParseFloat(WithAsciiDigits(value.bytes())))
      return Value::Float(*number);
  }
  static_cast<void>(run);
  return bound[0] == nullptr ? Value::Float(0) : *bound[0];
}

Value RoundFilter(Interpreter& run, const Value& value, const Bound& bound) {
  const std::string method(bound[1] == nullptr ? "common"
                                               : TextArgument(*bound[1], "method").bytes());
  if (method != "common" && method != "ceil" && method != "floor") {
    Raise("method must be common, ceil or floor");
  }
  RequireDefined(value);
  if (!value.is_number()) {
    Raise(std::string("type ") + TypeName(value) + " doesn't define __round__ method");
  }
  const Value digits = bound[0] == nullptr ? Value::Integer(0) : *bound[0];
  if (method == "common") {
    return Rounded(value.is(Kind::kBool) ? Value::Integer(value.integer()) : value,
                   IntegerOf(digits));
  }
  const Value unit = Operate(run, Arithmetic::kPow, Value::Integer(10), digits);
  const Value scaled = Operate(run, Arithmetic::kMul, value, unit);
  const double number = ToDouble(scaled);
  const Value whole =
      scaled.is_int()
          ? scaled
          : Value::Integer(ToInt(method == "ceil" ? std::ceil(number) : std::floor(number)));
  return Operate(run, Arithmetic::kDiv, whole, unit);
}

Value FileSizeFilter(Interpreter& run, const Value& value, const Bound& bound) {
  const bool binary = bound.Flag(0);
  const Value as_float = FloatFilter(run, value, Bound("float", "default=", Arguments()));
  if (!value.is_number() && !(value.is_text() && ParseFloat(WithAsciiDigits(value.bytes())))) {
    Raise("could not convert to float");
  }
  const double bytes = as_float.floating();
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return run.Made("1 Byte");
  if (bytes < base) return run.Made(IntText(ToInt(bytes)) + " Bytes");
  double unit = base;
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  for (const char prefix : kPrefixes) {
    unit *= base;
    if (bytes >= unit && prefix != 'Y') continue;
    const std::string name =
        binary ? std::string(1, prefix == 'k' ? 'K' : prefix) + "iB" : std::string(1, prefix) + "B";
    const FormatSpec one_decimal{.precision = 1, .type = 'f'};
    return run.Made(NumberText(Value::Float(base * bytes / unit), one_decimal) + " " + name);
  }
  return run.Made("");
}

Value PrettyPrintFilter(Interpreter& run, const Value& value, const Bound&) {
  return run.Made(PrettyPrinted(&run.heap(), value));
}

// As apply_chat_template defines it.
Value ToJsonFilter(Interpreter& run, const Value& value, const Bound& bound) {
  JsonStyle style{.ensure_ascii = bound.Flag(0), .sort_keys = bound.Flag(3)};
  if (bound[1] != nullptr && !bound[1]->is_none()) {
    if (bound[1]->is_text()) {
      style.indent = std::string(bound[1]->bytes());
    } else {
      style.indent = std::string(CountOf(*bound[1], 1000), ' ');
    }
  }
  if (bound[2] != nullptr && !bound[2]->is_none()) {
    const std::vector<Value> two = ItemsOf(&run.heap(), *bound[2]);
    if (two.size() != 2) Raise("separators must be two texts");
    style.separators = {std::string(TextArgument(two[0], "a separator").bytes()),
                        std::string(TextArgument(two[1], "a separator").bytes())};
  }
  TextBuilder out(&run.heap());
  AppendJson(value, style, &out);
  return Value::Of(out.Build());
}

// --- Filters that apply filters and tests
// ---------------------------------------------------------

// The arguments behind the first `count`.
Arguments Behind(const Arguments& all, size_t count) {
  Arguments rest;
  for (size_t i = count; i < all.places.size(); ++i) rest.places.push_back(all.places[i]);
  rest.names = all.names;
  return rest;
}

void MapByAttribute(Interpreter& run, const Value& value, const Arguments& all,
                    std::vector<Value>* mapped) {
  const Value* attribute = nullptr;
  const Value* otherwise = nullptr;
  for (const auto& [name, given] : all.names) {
    if (name == "attribute") {
      attribute = &given;
    } else if (name == "default") {
      otherwise = &given;
    } else {
      Raise("Unexpected keyword argument '" + name + "'");
    }
  }
  const AttributePath path(run, attribute);
  for (const Value& item : ItemsOf(&run.heap(), value)) mapped->push_back(path.Of(item, otherwise));
}

bool HasName(const Arguments& all, std::string_view wanted) {
  return std::any_of(all.names.begin(), all.names.end(),
                     [&](const auto& named) { return named.first == wanted; });
}

Value MapFilter(Interpreter& run, const Value& value, const Bound& bound) {
  return MakeIterator(&run.heap(), [all = bound.all(), value, &run](std::vector<Value>* mapped) {
    if (!IsTrue(value)) return;
    if (all.places.empty() && HasName(all, "attribute")) {
      return MapByAttribute(run, value, all, mapped);
    }
    if (all.places.empty()) Raise("map requires a filter argument");
    const Text name = TextArgument(all.places[0], "the name of a filter");
    const Arguments rest = Behind(all, 1);
    for (const Value& item : ItemsOf(&run.heap(), value)) {
      mapped->push_back(run.ApplyFilter(name.bytes(), item, rest));
    }
  });
}

template <bool kKeeps, bool kByAttribute>
Value ChooseFilter(Interpreter& run, const Value& value, const Bound& bound) {
  return MakeIterator(&run.heap(), [all = bound.all(), value, &run](std::vector<Value>* chosen) {
    if (!IsTrue(value)) return;
    constexpr size_t kOff = kByAttribute ? 1 : 0;
    if (all.places.size() < kOff) Raise("Missing parameter for attribute name");
    const AttributePath path(run, kByAttribute ? all.places.data() : nullptr);
    const Arguments rest = Behind(all, kOff + 1);
    for (const Value& item : ItemsOf(&run.heap(), value)) {
      const Value tested = path.Of(item);
      const bool passes =
          all.places.size() > kOff
              ? run.ApplyTest(TextArgument(all.places[kOff], "the name of a test").bytes(), tested,
                              rest)
              : IsTrue(tested);
      if (passes == kKeeps) chosen->push_back(item);
    }
  });
}

}  // namespace

std::string PrettyPrinted(Heap* heap, const Value& value) {
  return PrettyPrinter(heap).Print(value, 0, 0, 0);
}

constexpr FilterDefinition kValueFilters[] = {
    {"tojson", "ensure_ascii=,indent=,separators=,sort_keys=", ToJsonFilter},
    {"default", "default_value=,boolean=", DefaultFilter},
    {"d", "default_value=,boolean=", DefaultFilter},
    {"int", "default=,base=", IntFilter},
    {"float", "default=", FloatFilter},
    {"round", "precision=,method=", RoundFilter},
    {"abs", "", AbsFilter},
    {"attr", "name", AttrFilter},
    {"filesizeformat", "binary=", FileSizeFilter},
    {"pprint", "", PrettyPrintFilter},
    {nullptr, nullptr, nullptr}};

constexpr FilterDefinition kChoiceFilters[] = {{"map", "*", MapFilter},
                                               {"select", "*", ChooseFilter<true, false>},
                                               {"reject", "*", ChooseFilter<false, false>},
                                               {"selectattr", "*", ChooseFilter<true, true>},
                                               {"rejectattr", "*", ChooseFilter<false, true>},
                                               {nullptr, nullptr, nullptr}};

}  // namespace cairn::jinja
