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

constexpr Int kRangeMax = 100'000;
constexpr Int kNumberMax = Int{1} << 96;

Value Range(Interpreter& run, const Arguments& arguments) {
  const auto& places = arguments.places;
  if (places.empty() || places.size() > 3 || !arguments.names.empty()) {
    Raise("range expected 1 to 3 arguments");
  }
  auto* const range = run.heap().New<RangeObject>();
  const Int end = IntegerOf(places[places.size() == 1 ? 0 : 1]);
  range->end = end;
  if (places.size() > 1) range->begin = IntegerOf(places[0]);
  if (places.size() > 2) range->step = IntegerOf(places[2]);
  if (range->step == 0) Raise("range() arg 3 must not be zero");
  for (const Int number : {range->begin, range->step, end}) {
    if (number > kNumberMax || number < -kNumberMax) Raise("range() of a number that is too large");
  }
  const bool up = range->step > 0;
  const Int distance = up ? end - range->begin : range->begin - end;
  if (distance > 0) range->count = (distance - 1) / (up ? range->step : -range->step) + 1;
  if (range->count > kRangeMax) {
    Raise("Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
  }
  return Value::Of(Kind::kRange, range);
}

// As dict(...) does.
void FillDict(Interpreter& run, const Arguments& arguments, DictObject* dict) {
  if (arguments.places.size() > 1) Raise("dict expected at most 1 argument");
  if (!arguments.places.empty()) {
    const Value& from = arguments.places[0];
    if (from.is_dict()) {
      for (const auto& [key, value] : from.dict().items) dict->Set(key, value);
    } else {
      RequireDefined(from);
      for (const Value& pair : ItemsOf(&run.heap(), from)) {
        const std::vector<Value> items = ItemsOf(&run.heap(), pair);
        if (items.size() != 2) Raise("dictionary update sequence element has not length 2");
        dict->Set(items[0], items[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.names) dict->Set(run.Made(name), value);
  run.heap().Charge(dict->items.size() * 2 * sizeof(Value));
}

Value Dict(Interpreter& run, const Arguments& arguments) {
  auto* const dict = run.heap().New<DictObject>();
  FillDict(run, arguments, dict);
  return Value::Of(Kind::kDict, dict);
}

Value Namespace(Interpreter& run, const Arguments& arguments) {
  auto* const space = run.heap().New<NamespaceObject>();
  FillDict(run, arguments, &space->attributes);
  return Value::Of(Kind::kNamespace, space);
}

Value Cycler(Interpreter& run, const Arguments& arguments) {
  if (arguments.places.empty()) Raise("at least one item has to be provided");
  if (!arguments.names.empty()) Raise("cycler takes no keyword arguments");
  auto* const cycler = run.heap().New<CyclerObject>();
  cycler->items = arguments.places;
  return Value::Of(Kind::kCycler, cycler);
}

Value Joiner(Interpreter& run, const Arguments& arguments) {
  const Bound bound("joiner", "sep=", arguments);
  auto* const joiner = run.heap().New<JoinerObject>();
  joiner->separator = bound[0] == nullptr ? run.Made(", ") : *bound[0];
  return Value::Of(Kind::kJoiner, joiner);
}

Value Lipsum(Interpreter&, const Arguments&) {
  Raise("lipsum() is not supported");
}

using GlobalFunction = Value (*)(Interpreter&, const Arguments&);

constexpr std::pair<std::string_view, GlobalFunction> kGlobals[] = {
    {"range", Range},   {"dict", Dict},     {"namespace", Namespace},
    {"cycler", Cycler}, {"joiner", Joiner}, {"lipsum", Lipsum}};

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

Value MakeGlobal(Heap* heap, std::string_view name) {
  for (const auto& [known, function] : kGlobals) {
    if (known == name) return MakeFunction(heap, std::string(name), function);
  }
  return {};
}

}  // namespace cairn::jinja
