#include "jinja/value/value.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "jinja/value/number.h"

namespace cairn::jinja {
namespace {

constexpr int kDepthMax = 400;
constexpr size_t kIndexedFrom = 12;

[[noreturn]] void RaiseTooDeep() {
  Raise("a value is nested too deep");
}

// Compares and hashes. A value may hold another one many times, and that a third one: the work may
// be exponential in the number of values, so it is counted.
class Comparer {
 public:
  uint64_t work() const { return kWorkMax - left_; }

  bool Equal(const Value& a, const Value& b, int depth) {
    Count(1, depth);
    if (a.is_number() && b.is_number()) return CompareNumbers(a, b) == 0;
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
      case Kind::kUndefined:
      case Kind::kNone:
        return true;
      case Kind::kText:
        if (a.bytes().size() != b.bytes().size()) return false;
        Count(a.bytes().size() / 64, depth);
        return a.bytes() == b.bytes();
      case Kind::kList:
      case Kind::kTuple:
        return a.object() == b.object() || EqualItems(a.items(), b.items(), depth + 1);
      case Kind::kDict:
        return a.object() == b.object() || EqualDicts(a.dict(), b.dict(), depth + 1);
      case Kind::kRange:
        return EqualRanges(a.as<RangeObject>(), b.as<RangeObject>());
      default:
        return a.object() == b.object();
    }
  }

  bool Less(const Value& a, const Value& b, const char* operation, int depth) {
    Count(1, depth);
    if (a.is_number() && b.is_number()) return CompareNumbers(a, b) == -1;
    RequireDefined(a);
    RequireDefined(b);
    if (a.is_text() && b.is_text()) {
      Count(std::min(a.bytes().size(), b.bytes().size()) / 64, depth);
      return a.bytes() < b.bytes();
    }
    if (a.kind() != b.kind() || !a.is_sequence()) {
      Raise(std::string("'") + operation + "' not supported between instances of '" + TypeName(a) +
            "' and '" + TypeName(b) + "'");
    }
    const auto& x = a.items();
    const auto& y = b.items();
    for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
      if (!Equal(x[i], y[i], depth + 1)) return Less(x[i], y[i], operation, depth + 1);
    }
    return x.size() < y.size();
  }

  size_t Hash(const Value& value, int depth) {
    Count(1, depth);
    switch (value.kind()) {
      case Kind::kUndefined:
        return 1;
      case Kind::kNone:
        return 2;
      case Kind::kBool:
      case Kind::kInt:
        return std::hash<int64_t>()(static_cast<int64_t>(value.integer()));
      case Kind::kFloat:
        return HashOfFloat(value.floating());
      case Kind::kText:
        Count(value.bytes().size() / 64, depth);
        return std::hash<std::string_view>()(value.bytes());
      case Kind::kTuple: {
        size_t hash = 3;
        for (const Value& item : value.items()) hash = hash * 31 + Hash(item, depth + 1);
        return hash;
      }
      case Kind::kList:
      case Kind::kDict:
        Raise(std::string("unhashable type: '") + TypeName(value) + "'");
      default:
        return std::hash<const void*>()(value.object());
    }
  }

 private:
  static constexpr uint64_t kWorkMax = 2'000'000;

  void Count(uint64_t work, int depth) {
    if (depth > kDepthMax) RaiseTooDeep();
    if (work > left_) Raise("a comparison takes too many steps");
    left_ -= work;
  }

  static size_t HashOfFloat(double number) {
    if (number == std::floor(number) && std::fabs(number) < 0x1p62) {
      return std::hash<int64_t>()(static_cast<int64_t>(number));
    }
    return std::hash<double>()(number);
  }

  bool EqualItems(const std::vector<Value>& a, const std::vector<Value>& b, int depth) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!Equal(a[i], b[i], depth)) return false;
    }
    return true;
  }

  bool EqualDicts(const DictObject& a, const DictObject& b, int depth) {
    if (a.items.size() != b.items.size()) return false;
    for (const auto& [key, value] : a.items) {
      const Value* const other = b.Find(key);
      if (other == nullptr || !Equal(value, *other, depth)) return false;
    }
    return true;
  }

  static bool EqualRanges(const RangeObject& a, const RangeObject& b) {
    if (a.count != b.count) return false;
    return a.count == 0 || (a.begin == b.begin && (a.count == 1 || a.step == b.step));
  }

  uint64_t left_ = kWorkMax;
};

std::vector<Value> ViewItems(Heap* heap, const DictViewObject& view) {
  std::vector<Value> items;
  for (const auto& [key, value] : view.dict.dict().items) {
    switch (view.of) {
      case DictViewObject::Of::kKeys:
        items.push_back(key);
        break;
      case DictViewObject::Of::kValues:
        items.push_back(value);
        break;
      case DictViewObject::Of::kItems:
        items.push_back(MakeTuple(heap, {key, value}));
        break;
    }
  }
  return items;
}

// Python's iterator over markup yields plain texts.
Text WithoutSafety(Heap* heap, const Text& text) {
  if (!text.safe()) return text;
  TextBuilder plain(heap);
  plain.Append(text);
  return plain.Build();
}

void Prepare(IteratorObject* iterator) {
  if (!iterator->make) return;
  const auto make = std::move(iterator->make);
  iterator->make = nullptr;
  make(&iterator->items);
}

}  // namespace

const std::vector<Value>& Value::items() const {
  return as<ListObject>().items;
}

const DictObject& Value::dict() const {
  return as<DictObject>();
}

size_t ValueHash::operator()(const Value& value) const {
  return HashOf(value);
}

bool ValueEqual::operator()(const Value& a, const Value& b) const {
  return Equal(a, b);
}

const Value* DictObject::Find(const Value& key) const {
  if (!index.empty()) {
    const auto found = index.find(key);
    return found == index.end() ? nullptr : &items[found->second].second;
  }
  if (key.is_list() || key.is_dict()) HashOf(key);  // raises
  for (const auto& item : items) {
    if (Equal(item.first, key)) return &item.second;
  }
  return nullptr;
}

const Value* DictObject::Find(std::string_view key) const {
  if (items.size() >= kIndexedFrom && !index.empty()) {
    // Without a heap there is no text to look up.
    TextData data;
    data.references = 2;
    data.bytes = key;
    return Find(Value::Of(Text(&data)));
  }
  for (const auto& item : items) {
    if (item.first.is_text() && item.first.bytes() == key) return &item.second;
  }
  return nullptr;
}

void DictObject::Set(const Value& key, const Value& value) {
  if (const Value* const found = Find(key)) {
    *const_cast<Value*>(found) = value;
    return;
  }
  if (index.empty()) HashOf(key);
  items.emplace_back(key, value);
  if (!index.empty()) {
    index.emplace(key, items.size() - 1);
  } else if (items.size() >= kIndexedFrom) {
    for (size_t i = 0; i < items.size(); ++i) index.emplace(items[i].first, i);
  }
}

Value MakeList(Heap* heap, std::vector<Value> items) {
  heap->Charge(items.size() * sizeof(Value));
  auto* const list = heap->New<ListObject>();
  list->items = std::move(items);
  return Value::Of(Kind::kList, list);
}

Value MakeTuple(Heap* heap, std::vector<Value> items) {
  heap->Charge(items.size() * sizeof(Value));
  auto* const list = heap->New<ListObject>();
  list->items = std::move(items);
  return Value::Of(Kind::kTuple, list);
}

Value MakeText(Heap* heap, std::string_view bytes) {
  return Value::Of(heap->MakeText(bytes));
}

Value MakeIterator(Heap* heap, std::function<void(std::vector<Value>*)> make) {
  auto* const iterator = heap->New<IteratorObject>();
  iterator->make = std::move(make);
  return Value::Of(Kind::kIterator, iterator);
}

Value MakeFunction(Heap* heap, std::string name, Function function) {
  auto* const made = heap->New<FunctionObject>();
  made->name = std::move(name);
  made->function = std::move(function);
  return Value::Of(Kind::kFunction, made);
}

Value MakeUndefined(Heap* heap, std::string message) {
  auto* const made = heap->New<UndefinedObject>();
  made->message = std::move(message);
  return Value::Of(Kind::kUndefined, made);
}

const char* TypeName(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kText:
      return "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kDictView:
      return "dict view";
    case Kind::kRange:
      return "range";
    case Kind::kIterator:
      return value.as<IteratorObject>().type;
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kMacro:
      return "Macro";
    case Kind::kMethod:
    case Kind::kFunction:
      return "function";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kCycler:
      return "Cycler";
    case Kind::kJoiner:
      return "Joiner";
  }
  return "object";
}

bool IsTrue(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.integer() != 0;
    case Kind::kFloat:
      return value.floating() != 0;
    case Kind::kText:
      return !value.bytes().empty();
    case Kind::kList:
    case Kind::kTuple:
      return !value.items().empty();
    case Kind::kDict:
      return !value.dict().items.empty();
    case Kind::kDictView:
      return !value.as<DictViewObject>().dict.dict().items.empty();
    case Kind::kRange:
      return value.as<RangeObject>().count != 0;
    default:
      return true;
  }
}

bool Equal(const Value& a, const Value& b, Heap* heap) {
  Comparer comparer;
  const bool equal = comparer.Equal(a, b, 0);
  if (heap != nullptr) heap->Step(comparer.work());
  return equal;
}

bool Less(const Value& a, const Value& b, const char* operation, Heap* heap) {
  Comparer comparer;
  const bool less = comparer.Less(a, b, operation, 0);
  if (heap != nullptr) heap->Step(comparer.work());
  return less;
}

size_t HashOf(const Value& value, Heap* heap) {
  Comparer comparer;
  const size_t hash = comparer.Hash(value, 0);
  if (heap != nullptr) heap->Step(comparer.work());
  return hash;
}

size_t LengthOf(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kText:
      return value.text().length();
    case Kind::kList:
    case Kind::kTuple:
      return value.items().size();
    case Kind::kDict:
      return value.dict().items.size();
    case Kind::kDictView:
      return value.as<DictViewObject>().dict.dict().items.size();
    case Kind::kRange:
      return static_cast<size_t>(value.as<RangeObject>().count);
    default:
      Raise(std::string("object of type '") + TypeName(value) + "' has no len()");
  }
}

bool IsIterable(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kText:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange:
    case Kind::kIterator:
    case Kind::kLoop:
      return true;
    default:
      return false;
  }
}

bool IsCallable(const Value& value) {
  switch (value.kind()) {
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kLoop:
    case Kind::kJoiner:
    case Kind::kUndefined:
      return true;
    default:
      return false;
  }
}

bool NextItem(IteratorObject* iterator, Value* item) {
  Prepare(iterator);
  if (iterator->next >= iterator->items.size()) return false;
  *item = iterator->items[iterator->next++];
  return true;
}

Value InsteadOf(const Value& value, const Value& instead) {
  const bool same = value.is_text() && instead.is_text() && value.bytes().empty() &&
                    instead.bytes().empty() && value.text().safe() == instead.text().safe();
  return same ? value : instead;
}

Value CharacterText(const Text& text, size_t character) {
  const size_t begin = text.ByteOf(character);
  return Value::Of(Part(text, begin, begin + CharacterAt(text.bytes(), begin).bytes));
}

std::vector<Value> ItemsOf(Heap* heap, const Value& value) {
  std::vector<Value> items;
  switch (value.kind()) {
    case Kind::kUndefined:
      break;
    case Kind::kList:
    case Kind::kTuple:
      items = value.items();
      break;
    case Kind::kDict:
      for (const auto& item : value.dict().items) items.push_back(item.first);
      break;
    case Kind::kDictView:
      items = ViewItems(heap, value.as<DictViewObject>());
      break;
    case Kind::kText: {
      const Text text = WithoutSafety(heap, value.text());
      const size_t length = text.length();
      items.reserve(length);
      for (size_t i = 0; i < length; ++i) items.push_back(CharacterText(text, i));
      break;
    }
    case Kind::kRange: {
      const auto& range = value.as<RangeObject>();
      for (Int i = 0; i < range.count; ++i) {
        items.push_back(Value::Integer(range.begin + i * range.step));
      }
      break;
    }
    case Kind::kIterator: {
      auto& iterator = value.as<IteratorObject>();
      for (Value item; NextItem(&iterator, &item);) items.push_back(item);
      break;
    }
    default:
      Raise(std::string("'") + TypeName(value) + "' object is not iterable");
  }
  heap->Step(items.size());
  return items;
}

bool IsIn(Heap* heap, const Value& item, const Value& container) {
  switch (container.kind()) {
    case Kind::kText:
      if (!item.is_text()) {
        RequireDefined(item);
        Raise(std::string("'in <string>' requires string as left operand, not ") + TypeName(item));
      }
      heap->StepOverBytes(container.bytes().size());
      return item.bytes().empty() || memmem(container.bytes().data(), container.bytes().size(),
                                            item.bytes().data(), item.bytes().size()) != nullptr;
    case Kind::kDict:
      return container.dict().Find(item) != nullptr;
    case Kind::kIterator: {
      for (Value next; NextItem(&container.as<IteratorObject>(), &next);) {
        if (Equal(next, item, heap)) return true;
      }
      return false;
    }
    default: {
      if (!IsIterable(container) || container.is(Kind::kLoop)) {
        Raise(std::string("argument of type '") + TypeName(container) + "' is not iterable");
      }
      const std::vector<Value> items = ItemsOf(heap, container);
      return std::any_of(items.begin(), items.end(),
                         [&](const Value& candidate) { return Equal(candidate, item, heap); });
    }
  }
}

void RequireDefined(const Value& value) {
  if (!value.is_undefined()) return;
  Raise(value.object() == nullptr ? "a value is undefined" : value.as<UndefinedObject>().message);
}

}  // namespace cairn::jinja
