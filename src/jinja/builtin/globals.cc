#include <string>
#include <utility>

#include "jinja/run/builtins.h"

namespace cairn::jinja {
namespace {

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

Value MakeGlobal(Heap* heap, std::string_view name) {
  for (const auto& [known, function] : kGlobals) {
    if (known == name) return MakeFunction(heap, std::string(name), function);
  }
  return {};
}

}  // namespace cairn::jinja
