#include "jinja/run/lookup.h"

#include <algorithm>
#include <string>
#include <utility>

#include "jinja/run/builtins.h"
#include "jinja/value/print.h"

namespace cairn::jinja {
namespace {

std::string ReprOf(Interpreter& run, const Value& value) {
  TextBuilder text(&run.heap());
  AppendRepr(value, &text);
  return std::string(text.bytes());
}

Value Missing(Interpreter& run, const Value& object, const Value& key) {
  const std::string type = object.is_none() ? "None" : std::string(TypeName(object)) + " object";
  if (!key.is_text()) {
    return run.Undefined(type + " has no element " + ReprOf(run, key));
  }
  return run.Undefined((object.is_none() ? type : "'" + type + "'") + " has no attribute " +
                       ReprOf(run, key));
}

Value LoopAttribute(Interpreter& run, const Value& object, std::string_view name) {
  auto& loop = object.as<LoopObject>();
  const auto number = [](size_t value) { return Value::Integer(static_cast<Int>(value)); };
  const auto length = [&] {
    if (loop.loop->test == nullptr) return loop.source.size();
    while (run.Pull(&loop)) {
    }
    return loop.items.size();
  };
  const auto has_next = [&] { return loop.index + 1 < loop.items.size() || run.Pull(&loop); };
  if (name == "index") return number(loop.index + 1);
  if (name == "index0") return number(loop.index);
  if (name == "first") return Value::Bool(loop.index == 0);
  if (name == "last") return Value::Bool(!has_next());
  if (name == "length") return number(length());
  if (name == "revindex") return number(length() - loop.index);
  if (name == "revindex0") return number(length() - loop.index - 1);
  if (name == "depth") return number(loop.depth + 1);
  if (name == "depth0") return number(loop.depth);
  if (name == "previtem") {
    return loop.index == 0 ? run.Undefined("there is no previous item")
                           : loop.items[loop.index - 1];
  }
  if (name == "nextitem") {
    return has_next() ? loop.items[loop.index + 1] : run.Undefined("there is no next item");
  }
  return {};
}

Value MacroAttribute(Interpreter& run, const Value& object, std::string_view name) {
  const auto& macro = object.as<MacroObject>();
  if (name == "name") {
    return macro.macro->kind == Stmt::Kind::kCallBlock ? Value::None() : run.Made(macro.name);
  }
  const Signature& signature = macro.macro->signature;
  if (name == "catch_varargs") return Value::Bool(signature.takes_rest);
  if (name == "catch_kwargs") return Value::Bool(signature.takes_rest_names);
  if (name == "caller") return Value::Bool(signature.takes_caller);
  if (name == "arguments") {
    std::vector<Value> names;
    for (const int index : signature.names) {
      names.push_back(run.Made((*macro.names)[static_cast<size_t>(index)]));
    }
    return MakeTuple(&run.heap(), std::move(names));
  }
  return {};
}

// An attribute that is no method. Without a reason if there is none.
Value Property(Interpreter& run, const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::kNamespace:
      if (const Value* found = object.as<NamespaceObject>().attributes.Find(name)) return *found;
      return {};
    case Kind::kLoop:
      return LoopAttribute(run, object, name);
    case Kind::kMacro:
      return MacroAttribute(run, object, name);
    case Kind::kCycler: {
      const auto& cycler = object.as<CyclerObject>();
      if (name == "current") return cycler.items[cycler.at];
      if (name == "items") return MakeTuple(&run.heap(), cycler.items);
      return name == "pos" ? Value::Integer(static_cast<Int>(cycler.at)) : Value();
    }
    case Kind::kJoiner:
      if (name == "sep") return object.as<JoinerObject>().separator;
      return name == "used" ? Value::Bool(object.as<JoinerObject>().used) : Value();
    case Kind::kRange: {
      const auto& range = object.as<RangeObject>();
      if (name == "start") return Value::Integer(range.begin);
      if (name == "step") return Value::Integer(range.step);
      return {};
    }
    case Kind::kTuple:
      if (!object.as<ListObject>().is_group) return {};
      if (name == "grouper") return object.items()[0];
      return name == "list" ? object.items()[1] : Value();
    case Kind::kBool:
    case Kind::kInt:
      if (name == "real" || name == "numerator") return Value::Integer(object.integer());
      if (name == "imag") return Value::Integer(0);
      return name == "denominator" ? Value::Integer(1) : Value();
    case Kind::kFloat:
      if (name == "real") return object;
      return name == "imag" ? Value::Float(0) : Value();
    default:
      return {};
  }
}

// Looks for a method too: all that Python's type has. Undefined without a reason if there is none.
Value TypeAttribute(Interpreter& run, const Value& object, std::string_view name) {
  Value property = Property(run, object, name);
  if (!property.is_undefined() || property.object() != nullptr) return property;
  const MethodDefinition* method =
      run.heap().limits().append_to_lists ? FindAppend(object, name) : nullptr;
  const bool internal = name.size() > 4 && name.starts_with("__") && name.ends_with("__");
  if (method == nullptr &&
      ((internal && !object.is(Kind::kNamespace)) || IsForbiddenMethod(object, name))) {
    return run.Undefined("access to attribute '" + std::string(name) + "' of '" + TypeName(object) +
                         "' object is unsafe.");
  }
  if (method == nullptr) method = FindMethod(object, name);
  if (method == nullptr) return {};
  auto* const bound = run.heap().New<MethodObject>();
  bound->self = object;
  bound->definition = method;
  return Value::Of(Kind::kMethod, bound);
}

bool Exists(const Value& value) {
  return !value.is_undefined() || value.object() != nullptr;
}

// The item at a place; without a reason if there is none.
Value ItemAt(const Value& object, Int index) {
  const auto length = static_cast<Int>(LengthOf(object));
  if (index < 0) index += length;
  if (index < 0 || index >= length) return {};
  const auto at = static_cast<size_t>(index);
  if (object.is_text()) return CharacterText(object.text(), at);
  if (object.is(Kind::kRange)) {
    const auto& range = object.as<RangeObject>();
    return Value::Integer(range.begin + index * range.step);
  }
  return object.items()[at];
}

Value PlainItem(Heap* heap, const Value& object, const Value& key) {
  switch (object.kind()) {
    case Kind::kText:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
      return key.is_int() ? ItemAt(object, key.integer()) : Value();
    case Kind::kDict: {
      if (key.is_list() || key.is_dict()) return {};
      HashOf(key, heap);
      const Value* const found = object.dict().Find(key);
      return found == nullptr ? Value() : *found;
    }
    default:
      return {};
  }
}

bool SliceBound(const Value& value, Int length, Int step, bool is_begin, Int* bound) {
  if (value.is_none()) {
    *bound = is_begin ? (step < 0 ? length - 1 : 0) : (step < 0 ? -1 : length);
    return true;
  }
  if (!value.is_int()) return false;
  Int at = value.integer();
  if (at < 0) at += length;
  const Int lowest = step < 0 ? -1 : 0;
  const Int highest = step < 0 ? length - 1 : length;
  *bound = std::clamp(at, lowest, highest < lowest ? lowest : highest);
  return true;
}

[[noreturn]] void RaiseSliceIndex() {
  Raise("slice indices must be integers or None");
}

Value SlicedText(Interpreter& run, const Text& text, Int from, Int step, Int count) {
  if (count == 0) return run.Made("");
  if (step == 1) {
    const size_t begin = text.ByteOf(static_cast<size_t>(from));
    return Value::Of(Part(text, begin, text.ByteOf(static_cast<size_t>(from + count))));
  }
  std::vector<size_t> begins;
  begins.reserve(text.length());
  for (size_t at = 0; at < text.size(); at += CharacterAt(text.bytes(), at).bytes) {
    begins.push_back(at);
  }
  TextBuilder out(&run.heap());
  for (Int i = 0; i < count; ++i) {
    const size_t begin = begins[static_cast<size_t>(from + i * step)];
    out.Append(text, begin, begin + CharacterAt(text.bytes(), begin).bytes);
  }
  out.set_safe(text.safe());
  return Value::Of(out.Build());
}

}  // namespace

Value AttributeOf(Interpreter& run, const Value& object, std::string_view name) {
  RequireDefined(object);
  Value found = TypeAttribute(run, object, name);
  if (Exists(found)) return found;
  if (object.is_dict()) {
    if (const Value* const item = object.dict().Find(name)) return *item;
  }
  return Missing(run, object, run.Made(name));
}

Value OnlyAttributeOf(Interpreter& run, const Value& object, std::string_view name) {
  RequireDefined(object);
  Value found = TypeAttribute(run, object, name);
  return Exists(found) ? found : Missing(run, object, run.Made(name));
}

Value ItemOf(Interpreter& run, const Value& object, const Value& key) {
  RequireDefined(object);
  Value found = PlainItem(&run.heap(), object, key);
  if (Exists(found)) return found;
  if (object.is_dict() && !key.is_list() && !key.is_dict() && object.dict().Find(key) != nullptr) {
    return found;
  }
  if (key.is_text()) {
    found = TypeAttribute(run, object, key.bytes());
    if (Exists(found)) return found;
  }
  return Missing(run, object, key);
}

bool IsSliceable(const Value& object) {
  return object.is_text() || object.is_sequence() || object.is(Kind::kRange);
}

Value SliceOf(Interpreter& run, const Value& object, const Value& begin, const Value& end,
              const Value& step) {
  RequireDefined(object);
  if (!IsSliceable(object))
    Raise(std::string("'") + TypeName(object) + "' object is not subscriptable");
  if (!step.is_none() && !step.is_int()) RaiseSliceIndex();
  const Int by = step.is_none() ? 1 : step.integer();
  if (by == 0) Raise("slice step cannot be zero");
  const auto length = static_cast<Int>(LengthOf(object));
  Int from = 0;
  Int to = 0;
  if (!SliceBound(begin, length, by, true, &from) || !SliceBound(end, length, by, false, &to)) {
    RaiseSliceIndex();
  }
  const Int distance = by > 0 ? to - from : from - to;
  const Int stride = by > 0 ? by : by < -length - 1 ? length + 1 : -by;
  const Int count = distance <= 0 ? 0 : 1 + (distance - 1) / stride;
  run.heap().Step(static_cast<uint64_t>(count) / 64);
  if (object.is_text()) return SlicedText(run, object.text(), from, by, count);
  if (object.is(Kind::kRange)) {
    const auto& range = object.as<RangeObject>();
    auto* const part = run.heap().New<RangeObject>();
    part->begin = range.begin + from * range.step;
    part->end = range.begin + to * range.step;
    part->step = range.step * (by > 0 ? stride : -stride);
    part->count = count;
    return Value::Of(Kind::kRange, part);
  }
  std::vector<Value> items;
  items.reserve(static_cast<size_t>(count));
  for (Int i = 0; i < count; ++i)
    items.push_back(object.items()[static_cast<size_t>(from + i * by)]);
  return object.is_list() ? MakeList(&run.heap(), std::move(items))
                          : MakeTuple(&run.heap(), std::move(items));
}

}  // namespace cairn::jinja
