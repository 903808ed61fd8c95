#include "chat/calls/argument_types.h"

#include <optional>

#include "base/json.h"
#include "chat/calls/calls_json.h"
#include "chat/calls/calls_python.h"
#include "chat/parse/limited_json.h"

namespace cairn {
namespace {

// At most so many schemas, and items of their lists, are read for one argument.
constexpr size_t kLooksMax = 1000;

// Returns the part of the schema that a reference names; null if there is none.
const Json* FindReference(const Json& root, const Json& reference) {
  if (!reference.is_string() || !reference.text().starts_with('#')) return nullptr;
  return FindPointer(root, std::string_view(reference.text()).substr(1));
}

// Finds the types that a schema allows. Schemas come from clients, and a reference may lead back to
// where it stands, so only a part of a large one is looked at.
class TypeFinder {
 public:
  TypeFinder(const Json& root, Types* types) : root_(root), types_(types) {}

  void Add(const Json& schema) {
    if (!schema.is_object() || !Looks()) return;
    if (const auto reference = schema.find("$ref"); reference != schema.end()) {
      const Json* target = FindReference(root_, *reference);
      if (target != nullptr) Add(*target);
    }
    for (const auto& [key, value] : schema.items()) {
      if (key == "type" && value.is_string()) types_->insert(value.text());
      if (!value.is_array()) continue;
      const bool choices = key == "anyOf" || key == "oneOf";
      const bool names = key == "type";
      const bool values = key == "enum" && !schema.contains("type");
      if (!choices && !names && !values) continue;
      for (const Json& item : value) {
        if (!Looks()) return;
        if (choices) Add(item);
        if (names && item.is_string()) types_->insert(item.text());
        if (values && item.is_string()) types_->insert("string");
      }
    }
  }

 private:
  bool Looks() { return ++looks_ <= kLooksMax; }

  const Json& root_;
  Types* const types_;
  size_t looks_ = 0;
};

std::string_view TypeOf(const Json& value) {
  if (value.is_number_integer()) return "integer";
  if (value.is_number()) return "number";
  return value.type_name();  // for the other types JSON values and schemas use the same names
}

bool Allows(const Types& types, const Json& value) {
  if (types.empty()) return !value.is_string();
  return types.contains(std::string(TypeOf(value))) ||
         (value.is_number_integer() && types.contains("number"));
}

}  // namespace

ArgumentTypes::ArgumentTypes(const Json* schema) {
  if (schema == nullptr) return;
  const auto properties = schema->find("properties");
  if (properties == schema->end() || !properties->is_object()) return;
  for (const auto& [name, property] : properties->items()) {
    TypeFinder(*schema, &types_[name]).Add(property);
  }
}

const Types& ArgumentTypes::Of(const std::string& argument) const {
  static const auto* const none = new Types();
  const auto found = types_.find(argument);
  return found == types_.end() ? *none : found->second;
}

bool ArgumentTypes::IsText(const std::string& argument) const {
  const Types& types = Of(argument);
  return types.size() == 1 && types.contains("string");
}

std::string ArgumentTypes::Value(const std::string& argument, const std::string& text) const {
  if (IsText(argument)) return JsonString(text);
  const Types& types = Of(argument);
  for (const auto& json : {std::optional<std::string>(text), JsonOfPython(text)}) {
    if (!json) continue;
    const auto value = ParseLimitedJson(*json, "a value");
    if (!value || !Allows(types, *value)) continue;
    // For a tool that accepts a string or a number, "12" is as good as 12: the model wrote the text
    // without quotes.
    if (types.contains("string") && !value->is_null() && !value->is_structured()) continue;
    return *json;
  }
  return JsonString(text);
}

}  // namespace cairn
