#include "chat/calls/argument_types.h"

#include <optional>

#include "base/json.h"
#include "chat/calls/calls_json.h"
#include "chat/calls/calls_python.h"
#include "chat/parse/limited_json.h"

namespace cairn {
namespace {

constexpr size_t kReferencesMax = 50;

// Returns the part of the schema that a reference names; null if there is none.
const Json* FindReference(const Json& root, const Json& reference) {
  if (!reference.is_string() || !reference.text().starts_with('#')) return nullptr;
  return FindPointer(root, std::string_view(reference.text()).substr(1));
}

// Adds the types that a schema, a part of `root`, allows; none if it does not say. Schemas come
// from clients: their depth is limited where they are parsed, and the number of references is
// limited by `left`.
void AddTypes(const Json& schema, const Json& root, size_t* left, Types* types) {
  if (!schema.is_object()) return;
  if (const auto reference = schema.find("$ref"); reference != schema.end()) {
    const Json* target = FindReference(root, *reference);
    if (target != nullptr && *left > 0) {
      --*left;
      AddTypes(*target, root, left, types);
    }
  }
  for (const auto& [key, value] : schema.items()) {
    if (key == "type" && value.is_string()) types->insert(value.get<std::string>());
    if (key == "type" && value.is_array()) {
      for (const Json& type : value) {
        if (type.is_string()) types->insert(type.get<std::string>());
      }
    }
    if ((key == "anyOf" || key == "oneOf") && value.is_array()) {
      for (const Json& choice : value) AddTypes(choice, root, left, types);
    }
    if (key == "enum" && value.is_array() && !schema.contains("type")) {
      for (const Json& choice : value) {
        if (choice.is_string()) types->insert("string");
      }
    }
  }
}

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
    size_t left = kReferencesMax;
    AddTypes(property, *schema, &left, &types_[name]);
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
