// Value: what a template's expressions are made of, with the behaviour of Python's types.
//
// Numbers and texts are held by value; the rest are objects of the rendering's Heap, which nothing
// changes once they are made (the sandbox forbids it), except a namespace's attributes, the items
// left in an iterator, and lists where Limits::append_to_lists says so. One thread.

#ifndef CAIRN_JINJA_VALUE_VALUE_H_
#define CAIRN_JINJA_VALUE_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jinja/value/heap.h"
#include "jinja/value/text.h"

namespace cairn::jinja {

// Python's integers have no end; these have 128 bits, and what does not fit is an error.
__extension__ using Int = __int128;

enum class Kind : uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kText,
  kList,
  kTuple,
  kDict,
  kDictView,
  kRange,
  kIterator,
  kNamespace,
  kMacro,
  kMethod,
  kFunction,
  kLoop,
  kCycler,
  kJoiner
};

struct ListObject;
struct DictObject;
struct UndefinedObject;

class Value {
 public:
  Value() = default;  // undefined, without a reason
  Value(const Value& other) : kind_(other.kind_), held_(other.held_) {
    if (kind_ == Kind::kText && held_.text != nullptr) ++held_.text->references;
  }
  Value(Value&& other) noexcept : kind_(other.kind_), held_(other.held_) {
    other.kind_ = Kind::kUndefined;
    other.held_.object = nullptr;
  }
  Value& operator=(Value other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(held_, other.held_);
    return *this;
  }
  ~Value() {
    if (kind_ == Kind::kText && held_.text != nullptr && --held_.text->references == 0) {
      Text::Free(held_.text);
    }
  }

  static Value None() { return Value(Kind::kNone); }
  static Value Bool(bool value) {
    Value made(Kind::kBool);
    made.held_.integer = value ? 1 : 0;
    return made;
  }
  static Value Integer(Int value) {
    Value made(Kind::kInt);
    made.held_.integer = value;
    return made;
  }
  static Value Float(double value) {
    Value made(Kind::kFloat);
    made.held_.floating = value;
    return made;
  }
  static Value Of(const Text& text) {
    Value made(Kind::kText);
    made.held_.text = text.data_;
    if (text.data_ != nullptr) ++text.data_->references;
    return made;
  }
  static Value Of(Kind kind, Object* object) {
    Value made(kind);
    made.held_.object = object;
    return made;
  }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_text() const { return kind_ == Kind::kText; }
  bool is_dict() const { return kind_ == Kind::kDict; }
  bool is_list() const { return kind_ == Kind::kList; }
  bool is_sequence() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }
  // Python's bool is an int.
  bool is_int() const { return kind_ == Kind::kInt || kind_ == Kind::kBool; }
  bool is_number() const { return is_int() || kind_ == Kind::kFloat; }

  bool boolean() const { return held_.integer != 0; }
  Int integer() const { return held_.integer; }
  double floating() const { return held_.floating; }
  Text text() const { return held_.text == nullptr ? Text() : Text(held_.text); }
  std::string_view bytes() const {
    return held_.text == nullptr ? std::string_view() : std::string_view(held_.text->bytes);
  }
  // A text that nothing else refers to; null if it is none.
  TextData* only_text() const {
    const bool only = kind_ == Kind::kText && held_.text != nullptr && held_.text->references == 1;
    return only ? held_.text : nullptr;
  }
  Object* object() const { return held_.object; }
  template <typename T>
  T& as() const {
    return *static_cast<T*>(held_.object);
  }
  const std::vector<Value>& items() const;  // of a list or tuple
  const DictObject& dict() const;

 private:
  explicit Value(Kind kind) : kind_(kind) {}

  union Held {
    Int integer = 0;
    double floating;
    TextData* text;
    Object* object;
  };

  Kind kind_ = Kind::kUndefined;
  Held held_;
};

struct ListObject final : Object {
  bool is_group = false;  // of groupby: (grouper, list)
  std::vector<Value> items;
};

struct ValueHash {
  size_t operator()(const Value& value) const;
};
struct ValueEqual {
  bool operator()(const Value& a, const Value& b) const;
};

// In the order in which keys first came.
struct DictObject final : Object {
  std::vector<std::pair<Value, Value>> items;
  std::unordered_map<Value, size_t, ValueHash, ValueEqual> index;  // once there are many

  const Value* Find(const Value& key) const;
  const Value* Find(std::string_view key) const;
  void Set(const Value& key, const Value& value);
};

// Why a value is undefined.
struct UndefinedObject final : Object {
  std::string message;  // "'x' is undefined"
};

struct DictViewObject final : Object {
  enum class Of : uint8_t { kKeys, kValues, kItems } of = Of::kKeys;
  Value dict;
};

struct RangeObject final : Object {
  Int begin = 0;
  Int end = 0;
  Int step = 1;
  Int count = 0;
};

// Yields its items once.
struct IteratorObject final : Object {
  // Makes the items when the first is asked for; errors come then.
  std::function<void(std::vector<Value>*)> make;
  std::vector<Value> items;
  size_t next = 0;
  const char* type = "generator";
};

struct NamespaceObject final : Object {
  DictObject attributes;
};

struct CyclerObject final : Object {
  std::vector<Value> items;
  size_t at = 0;
};

struct JoinerObject final : Object {
  Value separator;
  bool used = false;
};

// The arguments of a call.
struct Arguments {
  std::vector<Value> places;
  std::vector<std::pair<std::string, Value>> names;
};

class Interpreter;

// A function of the library or of the caller. It raises Failures.
using Function = std::function<Value(Interpreter&, const Arguments&)>;
struct FunctionObject final : Object {
  std::string name;
  Function function;
};

struct MethodDefinition;
struct MethodObject final : Object {
  Value self;
  const MethodDefinition* definition = nullptr;
};

// --- Making values ------------------------------------------------------------------------------

Value MakeList(Heap* heap, std::vector<Value> items);
Value MakeTuple(Heap* heap, std::vector<Value> items);
Value MakeText(Heap* heap, std::string_view bytes);
Value MakeIterator(Heap* heap, std::function<void(std::vector<Value>*)> make);
Value MakeFunction(Heap* heap, std::string name, Function function);
Value MakeUndefined(Heap* heap, std::string message);

// --- What Python's types do ----------------------------------------------------------------------

// As Python names the type: "str".
const char* TypeName(const Value& value);
bool IsTrue(const Value& value);
// These count their work with a heap, and raise a Failure beyond two million steps without one.
bool Equal(const Value& a, const Value& b, Heap* heap = nullptr);
// `a` < `b`. Raises a Failure where the types have no order.
bool Less(const Value& a, const Value& b, const char* operation = "<", Heap* heap = nullptr);
// Raises a Failure for lists and dicts.
size_t HashOf(const Value& value, Heap* heap = nullptr);
// The number of items. Raises a Failure for what has none.
size_t LengthOf(const Value& value);
bool IsIterable(const Value& value);
bool IsCallable(const Value& value);
// The items in a new vector; those of an iterator are used up. Raises a Failure for what has none.
std::vector<Value> ItemsOf(Heap* heap, const Value& value);
// `item` in `container`.
bool IsIn(Heap* heap, const Value& item, const Value& container);
// Raises a Failure for an undefined value, with its reason.
void RequireDefined(const Value& value);
// The next item of an iterator; false at its end.
bool NextItem(IteratorObject* iterator, Value* item);
// Returns the value of `value or instead` where `value` is not true: `instead`, or `value` if both
// are empty texts. They are the same to a template, and `value` may know where it came from.
Value InsteadOf(const Value& value, const Value& instead);
// A character of a text as a text.
Value CharacterText(const Text& text, size_t character);

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_VALUE_VALUE_H_
