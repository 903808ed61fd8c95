#include "base/json.h"

#include <algorithm>
#include <ostream>

#include "base/check.h"

namespace cairn {
namespace {

[[noreturn]] void Refuse(int number, const std::string& why) {
  throw JsonError("[json.exception.type_error." + std::to_string(number) + "] " + why);
}

[[noreturn]] void RefuseUse(int number, const std::string& method, const JsonKind& value) {
  Refuse(number, "cannot use " + method + " with " + value.type_name());
}

bool IsPair(const Json& value) {
  return value.is_array() && value.size() == 2 && value[0].is_string();
}

// The place that a step of a JSON pointer names in an array; its size: none.
size_t PointedIndex(const std::string& step, size_t size) {
  const bool digits =
      !step.empty() && step.size() < 10 &&
      std::all_of(step.begin(), step.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || (step.size() > 1 && step[0] == '0')) return size;
  return std::min<size_t>(std::stoul(step), size);
}

// Without its escapes; false: it has one that there is not.
bool Unescape(std::string* step) {
  std::string plain;
  for (size_t i = 0; i < step->size(); ++i) {
    const char c = (*step)[i];
    if (c != '~') {
      plain += c;
      continue;
    }
    ++i;
    if (i == step->size() || ((*step)[i] != '0' && (*step)[i] != '1')) return false;
    plain += (*step)[i] == '0' ? '~' : '/';
  }
  *step = std::move(plain);
  return true;
}

}  // namespace

const char* JsonKind::type_name() const {
  switch (kind_) {
    case Kind::kNull:
      return "null";
    case Kind::kBoolean:
      return "boolean";
    case Kind::kString:
      return "string";
    case Kind::kArray:
      return "array";
    case Kind::kObject:
      return "object";
    case Kind::kDiscarded:
      return "discarded";
    case Kind::kInteger:
    case Kind::kUnsigned:
    case Kind::kFloat:
      break;
  }
  return "number";
}

void JsonKind::RefuseAs(const char* wanted) const {
  Refuse(302, std::string("type must be ") + wanted + ", but is " + type_name());
}

// --- Making and copying
// ---------------------------------------------------------------------------

Json::Json(std::string text) : JsonKind(Kind::kString) {
  value_.string = new std::string(std::move(text));
}

Json::Json(std::initializer_list<JsonRef> values) : JsonKind(Kind::kNull) {
  const bool is_object = std::all_of(values.begin(), values.end(),
                                     [](const JsonRef& one) { return IsPair(one.value); });
  if (!is_object) {
    *this = array(values);
    return;
  }
  *this = object();
  value_.object->reserve(values.size());
  for (const JsonRef& one : values) {
    std::string& key = *one.value[0].value_.string;
    // The first of two members of one name stays.
    if (!contains(key)) value_.object->push_back({std::move(key), std::move(one.value[1])});
  }
}

Json::Json(const Json& other) : JsonKind(other.kind_), value_(other.value_) {
  if (kind_ == Kind::kString) value_.string = new std::string(*other.value_.string);
  if (kind_ == Kind::kArray) value_.array = new Array(*other.value_.array);
  if (kind_ == Kind::kObject) value_.object = new Object(*other.value_.object);
}

// Destroys nested values in a loop, not recursively: a text can be nested deeper than the stack.
void Json::Destroy() {
  if (kind_ == Kind::kString) delete value_.string;
  std::vector<Json> within;
  const auto release = [&within](Json* json) {
    for (Json& item : *json) {
      if (item.is_structured() && !item.empty()) within.push_back(std::move(item));
    }
    if (json->is_array()) delete json->value_.array;
    if (json->is_object()) delete json->value_.object;
    json->kind_ = Kind::kNull;
  };
  if (is_structured()) release(this);
  while (!within.empty()) {
    Json next = std::move(within.back());
    within.pop_back();
    release(&next);
  }
  kind_ = Kind::kNull;
}

Json Json::array(std::initializer_list<JsonRef> values) {
  Json made;
  made.value_.array = new Array();
  made.kind_ = Kind::kArray;
  made.value_.array->reserve(values.size());
  for (const JsonRef& one : values) made.value_.array->push_back(std::move(one.value));
  return made;
}

Json Json::object() {
  Json made;
  made.value_.object = new Object();
  made.kind_ = Kind::kObject;
  return made;
}

// --- Walking
// --------------------------------------------------------------------------------------

size_t Json::size() const {
  if (is_array()) return value_.array->size();
  if (is_object()) return value_.object->size();
  return is_null() ? 0 : 1;
}

Json::iterator Json::begin() {
  if (is_array()) return {value_.array->data(), nullptr};
  // An empty vector may have no data, by which an iterator over members is known.
  if (is_object() && !value_.object->empty()) return {nullptr, value_.object->data()};
  return {this, nullptr};
}

Json::iterator Json::end() {
  if (is_array()) return {value_.array->data() + value_.array->size(), nullptr};
  if (is_object() && !value_.object->empty()) {
    return {nullptr, value_.object->data() + value_.object->size()};
  }
  return {is_null() || is_object() ? this : this + 1, nullptr};
}

// The iterators that leave are constant.
Json::const_iterator Json::begin() const {
  return const_cast<Json*>(this)->begin();
}
Json::const_iterator Json::end() const {
  return const_cast<Json*>(this)->end();
}

const Json& Json::back() const {
  CHECK(!empty());
  if (is_array()) return value_.array->back();
  return is_object() ? value_.object->back().value : *this;
}

Json::iterator Json::find(std::string_view key) {
  if (!is_object()) return end();
  for (JsonMember& member : *value_.object) {
    if (member.key == key) return {nullptr, &member};
  }
  return end();
}

Json::const_iterator Json::find(std::string_view key) const {
  return const_cast<Json*>(this)->find(key);
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) *this = object();
  if (!is_object()) RefuseUse(305, "operator[] with a string argument", *this);
  const auto found = find(key);
  if (found != end()) return *found;
  value_.object->push_back({std::string(key), Json()});
  return value_.object->back().value;
}

const Json& Json::operator[](std::string_view key) const {
  if (!is_object()) RefuseUse(305, "operator[] with a string argument", *this);
  const auto found = find(key);
  CHECK(found != end());
  return *found;
}

Json& Json::operator[](size_t index) {
  if (is_null()) *this = array();
  if (!is_array()) RefuseUse(305, "operator[] with a numeric argument", *this);
  if (index >= value_.array->size()) value_.array->resize(index + 1);
  return (*value_.array)[index];
}

const Json& Json::operator[](size_t index) const {
  if (!is_array()) RefuseUse(305, "operator[] with a numeric argument", *this);
  CHECK(index < value_.array->size());
  return (*value_.array)[index];
}

const Json& Json::at(std::string_view key) const {
  if (!is_object()) RefuseUse(304, "at()", *this);
  const auto found = find(key);
  if (found != end()) return *found;
  throw JsonError("[json.exception.out_of_range.403] key '" + std::string(key) + "' not found");
}

const Json& Json::at(size_t index) const {
  if (!is_array()) RefuseUse(304, "at()", *this);
  if (index < value_.array->size()) return (*value_.array)[index];
  throw JsonError("[json.exception.out_of_range.401] array index " + std::to_string(index) +
                  " is out of range");
}

// --- Changing
// -------------------------------------------------------------------------------------

void Json::push_back(Json item) {
  if (is_null()) *this = array();
  if (!is_array()) RefuseUse(308, "push_back()", *this);
  value_.array->push_back(std::move(item));
}

size_t Json::erase(std::string_view key) {
  if (!is_object()) RefuseUse(307, "erase()", *this);
  return std::erase_if(*value_.object, [&](const JsonMember& member) { return member.key == key; });
}

void Json::erase(iterator at) {
  CHECK(is_structured());
  if (is_array()) value_.array->erase(value_.array->begin() + (at.item_ - value_.array->data()));
  if (is_object()) {
    value_.object->erase(value_.object->begin() + (at.member_ - value_.object->data()));
  }
}

void Json::update(const Json& members) {
  if (is_null()) *this = object();
  if (!is_object()) RefuseUse(312, "update()", *this);
  if (!members.is_object()) RefuseUse(312, "update()", members);
  for (const JsonMember& member : *members.value_.object) (*this)[member.key] = member.value;
}

// --- Reading
// --------------------------------------------------------------------------------------

const std::string& Json::text() const {
  if (!is_string()) RefuseAs("string");
  return *value_.string;
}

bool operator==(const Json& a, const Json& b) {
  using Kind = Json::Kind;
  if (a.is_number() && b.is_number() && a.kind_ != b.kind_) {
    if (a.is_number_float() || b.is_number_float()) return a.get<double>() == b.get<double>();
    return a.get<int64_t>() == b.get<int64_t>();
  }
  if (a.kind_ != b.kind_) return false;
  switch (a.kind_) {
    case Kind::kNull:
      return true;
    case Kind::kBoolean:
      return a.value_.boolean == b.value_.boolean;
    case Kind::kInteger:
      return a.value_.integer == b.value_.integer;
    case Kind::kUnsigned:
      return a.value_.unsigned_integer == b.value_.unsigned_integer;
    case Kind::kFloat:
      return a.value_.floating == b.value_.floating;
    case Kind::kString:
      return *a.value_.string == *b.value_.string;
    case Kind::kArray:
      return *a.value_.array == *b.value_.array;
    case Kind::kObject:
      return *a.value_.object == *b.value_.object;
    case Kind::kDiscarded:
      break;
  }
  return false;
}

std::partial_ordering operator<=>(const Json& a, const Json& b) {
  if (a.is_string() && b.is_string()) return a.text() <=> b.text();
  if (!a.is_number() || !b.is_number()) return std::partial_ordering::unordered;
  if (a.is_number_float() || b.is_number_float()) return a.get<double>() <=> b.get<double>();
  if (a.is_number_unsigned() && b.is_number_unsigned()) {
    return a.get<uint64_t>() <=> b.get<uint64_t>();
  }
  return a.get<int64_t>() <=> b.get<int64_t>();
}

const Json* FindPointer(const Json& root, std::string_view pointer) {
  const Json* at = &root;
  while (!pointer.empty()) {
    if (pointer[0] != '/') return nullptr;
    const size_t end = std::min(pointer.find('/', 1), pointer.size());
    std::string step(pointer.substr(1, end - 1));
    pointer.remove_prefix(end);
    if (!Unescape(&step)) return nullptr;
    if (at->is_object() && at->contains(step)) {
      at = &(*at)[step];
    } else if (at->is_array() && PointedIndex(step, at->size()) < at->size()) {
      at = &(*at)[PointedIndex(step, at->size())];
    } else {
      return nullptr;
    }
  }
  return at;
}

Json* FindPointer(Json& root, std::string_view pointer) {
  return const_cast<Json*>(FindPointer(std::as_const(root), pointer));
}

std::ostream& operator<<(std::ostream& out, const Json& json) {
  return out << ToText(json);
}

std::string ToText(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace cairn
