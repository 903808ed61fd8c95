// A JSON value, compiled once: null, a boolean, a number, a string, an array or an object whose
// members stay in the order in which they came. It has the interface of nlohmann's ordered_json as
// far as this program uses it, and its texts are the same byte for byte; but it is no template, so
// a file that handles JSON compiles in a fraction of the time (docs/decisions/0026-json-value.md).
// Unlike nlohmann's parser, it reads the escape of half a surrogate pair, as U+FFFD.

#ifndef CAIRN_BASE_JSON_H_
#define CAIRN_BASE_JSON_H_

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cairn {

class Json;
struct JsonMember;
struct JsonRef;

// A text that is not JSON, or a value of another type than the one asked for. Thrown only where
// nlohmann's would have thrown; its text is the same.
class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The kind of a JSON value.
class JsonKind {
 public:
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_boolean() const { return kind_ == Kind::kBoolean; }
  bool is_number() const { return is_number_integer() || is_number_float(); }
  bool is_number_integer() const { return kind_ == Kind::kInteger || is_number_unsigned(); }
  bool is_number_unsigned() const { return kind_ == Kind::kUnsigned; }
  bool is_number_float() const { return kind_ == Kind::kFloat; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_object() const { return kind_ == Kind::kObject; }
  bool is_structured() const { return is_array() || is_object(); }
  // A text that Json::parse could not read.
  bool is_discarded() const { return kind_ == Kind::kDiscarded; }
  // As JSON Schema calls it; "number" for all numbers.
  const char* type_name() const;

 protected:
  enum class Kind : uint8_t {
    kNull,
    kBoolean,
    kInteger,
    kUnsigned,
    kFloat,
    kString,
    kArray,
    kObject,
    kDiscarded
  };

  explicit JsonKind(Kind kind) : kind_(kind) {}
  [[noreturn]] void RefuseAs(const char* wanted) const;

  Kind kind_;
};

// Walks the items of an array or the values of an object, and stands on any other value once.
// `J` is Json or const Json.
template <typename J>
class JsonIterator {
 public:
  using Member = std::conditional_t<std::is_const_v<J>, const JsonMember, JsonMember>;
  using iterator_category = std::forward_iterator_tag;
  using value_type = Json;
  using difference_type = std::ptrdiff_t;
  using pointer = J*;
  using reference = J&;

  JsonIterator() = default;
  JsonIterator(J* item, Member* member) : item_(item), member_(member) {}
  // NOLINTNEXTLINE(google-explicit-constructor): every iterator can be read through
  operator JsonIterator<const Json>() const { return {item_, member_}; }

  J& operator*() const { return member_ != nullptr ? member_->value : *item_; }
  J* operator->() const { return &**this; }
  JsonIterator& operator++() {
    member_ != nullptr ? static_cast<void>(++member_) : static_cast<void>(++item_);
    return *this;
  }
  JsonIterator operator++(int) {
    const JsonIterator before = *this;
    ++*this;
    return before;
  }
  const std::string& key() const { return member_->key; }  // only in an object
  J& value() const { return **this; }
  bool operator==(const JsonIterator&) const = default;

 private:
  friend class Json;

  J* item_ = nullptr;
  Member* member_ = nullptr;
};

// One of Json::items(). In an array the key is empty.
template <typename J>
struct JsonItem {
  const std::string& key;
  J& value;
};

template <typename J>
class JsonItems {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = JsonItem<J>;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = JsonItem<J>;

    Iterator(JsonIterator<J> at, bool keyed) : at_(at), keyed_(keyed) {}
    JsonItem<J> operator*() const { return {keyed_ ? at_.key() : NoKey(), *at_}; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    static const std::string& NoKey();

    JsonIterator<J> at_;
    bool keyed_;
  };

  explicit JsonItems(J& of) : json_(of) {}
  Iterator begin() const { return {json_.begin(), json_.is_object()}; }
  Iterator end() const { return {json_.end(), json_.is_object()}; }

 private:
  J& json_;
};

template <typename T>
concept JsonNumber = std::is_arithmetic_v<T>;

// A text that has to be copied.
template <typename T>
concept JsonText = std::convertible_to<const T&, std::string_view> && !std::same_as<T, std::string>;

// A container of values, such as a vector of texts or numbers.
template <typename T>
concept JsonSequence = !std::convertible_to<T, std::string_view> &&
                       !std::derived_from<T, JsonKind> && requires(const T& items) {
                         items.begin();
                         items.end();
                         typename T::value_type;
                       };

// The type that get<T> returns for a default of type T.
template <typename T>
using JsonHeld = std::conditional_t<JsonText<T>, std::string, T>;

// The names of the methods are nlohmann's, so that the code reads the same with either.
class Json : public JsonKind {
 public:
  using iterator = JsonIterator<Json>;
  using const_iterator = JsonIterator<const Json>;
  using exception = JsonError;
  // How dump treats bytes that are not UTF-8: it throws, or writes U+FFFD.
  enum class error_handler_t : uint8_t { strict, replace };  // NOLINT

  // NOLINTBEGIN(google-explicit-constructor): a value is written where JSON is wanted
  Json(std::nullptr_t = nullptr) : JsonKind(Kind::kNull) {}
  template <JsonNumber T>
  Json(T number);
  template <JsonText T>
  Json(const T& text) : Json(std::string(std::string_view(text))) {}
  Json(std::string text);
  template <JsonSequence T>
  Json(const T& items) : Json(array()) {
    for (const auto& item : items) push_back(Json(item));
  }
  // An object when each value is an array of two of which the first is a string; else an array.
  Json(std::initializer_list<JsonRef> values);
  // NOLINTEND(google-explicit-constructor)
  Json(const Json& other);
  Json(Json&& other) noexcept : JsonKind(other.kind_), value_(other.value_) {
    other.kind_ = Kind::kNull;
  }
  Json& operator=(Json other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(value_, other.value_);
    return *this;
  }
  ~Json() {
    if (kind_ >= Kind::kString) Destroy();
  }

  static Json array(std::initializer_list<JsonRef> values = {});
  static Json object();

  // A repeated member keeps its first place and takes the last value. Throws JsonError, or
  // returns a discarded value.
  static Json parse(std::string_view text, std::nullptr_t = nullptr, bool allow_exceptions = true);
  // In one line, or in lines with `indent` times `indent_char` for each level.
  std::string dump(int indent = -1, char indent_char = ' ', bool ensure_ascii = false,
                   error_handler_t handler = error_handler_t::strict) const;

  // The items of an array or object; other values count as one, null as none.
  size_t size() const;
  bool empty() const { return size() == 0; }
  const_iterator begin() const;
  const_iterator end() const;
  iterator begin();
  iterator end();
  JsonItems<const Json> items() const { return JsonItems<const Json>(*this); }
  JsonItems<Json> items() { return JsonItems<Json>(*this); }
  const Json& back() const;

  // The member, made when it is not there; null becomes an object.
  Json& operator[](std::string_view key);
  const Json& operator[](std::string_view key) const;  // which must be there
  Json& operator[](size_t index);
  const Json& operator[](size_t index) const;
  // Throws JsonError when it is not there.
  const Json& at(std::string_view key) const;
  const Json& at(size_t index) const;
  const_iterator find(std::string_view key) const;
  iterator find(std::string_view key);
  bool contains(std::string_view key) const { return find(key) != end(); }
  // The member of an object, or `otherwise` when it has none of the name.
  template <typename T>
  JsonHeld<T> value(std::string_view key, const T& otherwise) const;

  // null becomes an array.
  void push_back(Json item);
  size_t erase(std::string_view key);
  void erase(iterator at);
  // Takes over the members of an object.
  void update(const Json& members);

  // A boolean, a number, a string, a vector of these, or Json. Throws JsonError when the value is
  // of another type; numbers are converted as by a cast.
  template <typename T>
  T get() const;
  const std::string& text() const;  // of a string

  friend bool operator==(const Json& a, const Json& b);

 private:
  friend class JsonBuilder;
  using Array = std::vector<Json>;
  using Object = std::vector<JsonMember>;
  union Value {
    bool boolean;
    int64_t integer;
    uint64_t unsigned_integer;
    double floating;
    std::string* string;
    Array* array;
    Object* object;
  };

  void Destroy();

  Value value_{};
};

struct JsonMember {
  std::string key;
  Json value;

  bool operator==(const JsonMember&) const = default;
};

// A value in a braced list, which an initializer_list alone would not let anybody move from.
struct JsonRef {
  // NOLINTBEGIN(google-explicit-constructor, bugprone-forwarding-reference-overload)
  template <typename T>
    requires(std::constructible_from<Json, T> && !std::same_as<std::remove_cvref_t<T>, JsonRef>)
  JsonRef(T&& given) : value(std::forward<T>(given)) {}
  JsonRef(std::initializer_list<JsonRef> values) : value(values) {}
  // NOLINTEND(google-explicit-constructor, bugprone-forwarding-reference-overload)

  mutable Json value;
};

// Limits of a text. Templates recurse over a tool's schema, so depth costs stack; objects keep
// their order in a list, so keys cost time by their square.
struct JsonLimits {
  size_t depth_max = 64;
  size_t object_keys_max = 1024;
  size_t values_max = 200'000;
};

// kInvalidArgument: not JSON, or beyond a limit; the message is a predicate, "is not valid JSON:
// it goes wrong at byte 7".
Result<Json> ParseJson(std::string_view text, const JsonLimits& limits);

// Follows a JSON pointer ("/properties/name"). Returns nullptr if it leads nowhere.
const Json* FindPointer(const Json& root, std::string_view pointer);
Json* FindPointer(Json& root, std::string_view pointer);

// Numbers by value and texts by bytes; everything else is in no order.
std::partial_ordering operator<=>(const Json& a, const Json& b);

std::ostream& operator<<(std::ostream& out, const Json& json);

// Returns the JSON as text, in one line unless `indent` says by how much to indent. Invalid UTF-8
// becomes U+FFFD instead of an exception.
std::string ToText(const Json& json, int indent = -1);

// --- Templates
// ------------------------------------------------------------------------------------

template <JsonNumber T>
Json::Json(T number) : JsonKind(Kind::kNull) {
  if constexpr (std::same_as<T, bool>) {
    kind_ = Kind::kBoolean;
    value_.boolean = number;
  } else if constexpr (std::floating_point<T>) {
    kind_ = Kind::kFloat;
    value_.floating = static_cast<double>(number);
  } else if constexpr (std::is_signed_v<T>) {
    kind_ = Kind::kInteger;
    value_.integer = number;
  } else {
    kind_ = Kind::kUnsigned;
    value_.unsigned_integer = number;
  }
}

template <typename T>
T Json::get() const {
  if constexpr (std::same_as<T, Json>) {
    return *this;
  } else if constexpr (std::same_as<T, std::string>) {
    return text();
  } else if constexpr (std::same_as<T, bool>) {
    if (kind_ != Kind::kBoolean) RefuseAs("boolean");
    return value_.boolean;
  } else if constexpr (JsonNumber<T>) {
    if (kind_ == Kind::kUnsigned) return static_cast<T>(value_.unsigned_integer);
    if (kind_ == Kind::kInteger) return static_cast<T>(value_.integer);
    if (kind_ != Kind::kFloat) RefuseAs("number");
    return static_cast<T>(value_.floating);
  } else {
    if (!is_array()) RefuseAs("array");
    T items;
    for (const Json& item : *this) items.push_back(item.get<typename T::value_type>());
    return items;
  }
}

template <typename T>
JsonHeld<T> Json::value(std::string_view key, const T& otherwise) const {
  if (!is_object()) RefuseAs("object");
  const auto found = find(key);
  return found == end() ? JsonHeld<T>(otherwise) : found->get<JsonHeld<T>>();
}

template <typename J>
const std::string& JsonItems<J>::Iterator::NoKey() {
  static const auto* const none = new std::string();
  return *none;
}

}  // namespace cairn

#endif  // CAIRN_BASE_JSON_H_
