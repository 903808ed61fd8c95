#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "jinja/run/builtins.h"

namespace cairn::jinja {
namespace {

template <DictViewObject::Of kOf>
Value View(Interpreter& run, const Value& self, const Bound&) {
  auto* const view = run.heap().New<DictViewObject>();
  view->of = kOf;
  view->dict = self;
  return Value::Of(Kind::kDictView, view);
}

Value Get(Interpreter& run, const Value& self, const Bound& bound) {
  HashOf(*bound[0], &run.heap());
  const Value* const found = self.dict().Find(*bound[0]);
  if (found != nullptr) return *found;
  return bound[1] != nullptr ? *bound[1] : Value::None();
}

Value Copy(Interpreter& run, const Value& self, const Bound&) {
  if (self.is_list()) return MakeList(&run.heap(), self.items());
  auto* const dict = run.heap().New<DictObject>();
  for (const auto& [key, value] : self.dict().items) dict->Set(key, value);
  run.heap().Charge(dict->items.size() * 2 * sizeof(Value));
  run.heap().Step(dict->items.size());
  return Value::Of(Kind::kDict, dict);
}

// As list.append; returns None.
Value Append(Interpreter& run, const Value& self, const Bound& bound) {
  run.heap().Charge(sizeof(Value));
  self.as<ListObject>().items.push_back(*bound[0]);
  return Value::None();
}

constexpr MethodDefinition kAppend = {"append", "/object", Append};

Value CountItems(Interpreter& run, const Value& self, const Bound& bound) {
  const std::vector<Value> items = ItemsOf(&run.heap(), self);
  return Value::Integer(std::count_if(items.begin(), items.end(), [&](const Value& item) {
    return Equal(item, *bound[0], &run.heap());
  }));
}

Value IndexOf(Interpreter& run, const Value& self, const Bound& bound) {
  const std::vector<Value> items = ItemsOf(&run.heap(), self);
  const auto length = static_cast<Int>(items.size());
  const auto place = [&](const Value* value, Int otherwise) {
    if (value == nullptr) return otherwise;
    const Int at = IntegerOf(*value);
    return std::clamp<Int>(at < 0 ? at + length : at, 0, length);
  };
  for (Int i = place(bound[1], 0); i < place(bound[2], length); ++i) {
    if (Equal(items[static_cast<size_t>(i)], *bound[0], &run.heap())) return Value::Integer(i);
  }
  Raise("the value is not in the list");
}

Value IsWhole(Interpreter&, const Value& self, const Bound&) {
  return Value::Bool(std::isfinite(self.floating()) &&
                     std::floor(self.floating()) == self.floating());
}

Value BitLength(Interpreter&, const Value& self, const Bound&) {
  Int bits = 0;
  // Halving towards zero, which the smallest number survives too.
  for (Int rest = self.integer(); rest != 0; rest /= 2) ++bits;
  return Value::Integer(bits);
}

Value Itself(Interpreter&, const Value& self, const Bound&) {
  return self;
}

Value CyclerNext(Interpreter&, const Value& self, const Bound&) {
  auto& cycler = self.as<CyclerObject>();
  const size_t at = std::exchange(cycler.at, (cycler.at + 1) % cycler.items.size());
  return cycler.items[at];
}

Value CyclerReset(Interpreter&, const Value& self, const Bound&) {
  self.as<CyclerObject>().at = 0;
  return Value::None();
}

Value LoopCycle(Interpreter&, const Value& self, const Bound& bound) {
  const auto& places = bound.all().places;
  if (places.empty() || !bound.all().names.empty()) Raise("no items for cycling given");
  return places[self.as<LoopObject>().index % places.size()];
}

Value LoopChanged(Interpreter& run, const Value& self, const Bound& bound) {
  auto& loop = self.as<LoopObject>();
  if (!bound.all().names.empty()) Raise("changed() takes no keyword arguments");
  const Value values = MakeTuple(&run.heap(), bound.all().places);
  if (loop.has_changed && Equal(loop.changed, values, &run.heap())) return Value::Bool(false);
  loop.changed = values;
  loop.has_changed = true;
  return Value::Bool(true);
}

struct Method {
  Kind kind;
  MethodDefinition definition;
};

constexpr Method kMethodTable[] = {{Kind::kDict, {"items", "", View<DictViewObject::Of::kItems>}},
                                   {Kind::kDict, {"keys", "", View<DictViewObject::Of::kKeys>}},
                                   {Kind::kDict, {"values", "", View<DictViewObject::Of::kValues>}},
                                   {Kind::kDict, {"get", "/key,default=", Get}},
                                   {Kind::kDict, {"copy", "", Copy}},
                                   {Kind::kList, {"copy", "", Copy}},
                                   {Kind::kList, {"count", "/value", CountItems}},
                                   {Kind::kList, {"index", "/value,start=,stop=", IndexOf}},
                                   {Kind::kTuple, {"count", "/value", CountItems}},
                                   {Kind::kTuple, {"index", "/value,start=,stop=", IndexOf}},
                                   {Kind::kRange, {"count", "/value", CountItems}},
                                   {Kind::kRange, {"index", "/value,start=,stop=", IndexOf}},
                                   {Kind::kFloat, {"is_integer", "", IsWhole}},
                                   {Kind::kFloat, {"conjugate", "", Itself}},
                                   {Kind::kInt, {"bit_length", "", BitLength}},
                                   {Kind::kInt, {"conjugate", "", Itself}},
                                   {Kind::kCycler, {"next", "", CyclerNext}},
                                   {Kind::kCycler, {"reset", "", CyclerReset}},
                                   {Kind::kLoop, {"cycle", "*", LoopCycle}},
                                   {Kind::kLoop, {"changed", "*", LoopChanged}}};

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const MethodDefinition* FindAppend(const Value& self, std::string_view name) {
  return self.is_list() && name == kAppend.name ? &kAppend : nullptr;
}

const MethodDefinition* FindMethod(const Value& self, std::string_view name) {
  if (self.is_text()) return FindTextMethod(name);
  const Kind kind = self.is(Kind::kBool) ? Kind::kInt : self.kind();
  for (const Method& method : kMethodTable) {
    if (method.kind == kind && name == method.definition.name) return &method.definition;
  }
  return nullptr;
}

bool IsForbiddenMethod(const Value& self, std::string_view name) {
  if (self.is_list()) {
    return IsOneOf(name,
                   {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"});
  }
  if (self.is_dict()) {
    return IsOneOf(name, {"clear", "pop", "popitem", "setdefault", "update"});
  }
  return false;
}

}  // namespace cairn::jinja
