#include "chat/calls/argument_types.h"

#include <cmath>
#include <optional>

#include "base/json.h"
#include "chat/calls/calls_json.h"
#include "chat/calls/calls_python.h"
#include "chat/text/limited_json.h"

namespace cairn {
namespace {

// At most so many schemas, and items of their lists, are read for one argument.
constexpr size_t kLooksMax = 1000;

// Returns the part of the schema that a reference names; null if there is none.
const Json* FindReference(const Json& root, const Json& reference) {
  if (!reference.is_string() || !reference.text().starts_with('#')) return nullptr;
  return FindPointer(root, std::string_view(reference.text()).substr(1));
}

std::string_view TypeOf(const Json& value) {
  if (value.is_number_integer()) return "integer";
  if (value.is_number()) return "number";
  return value.type_name();  // for the other types JSON values and schemas use the same names
}

// Finds what a schema allows. Schemas come from clients, and a reference may lead back to where it
// stands, so only a part of a large one is looked at.
class TypeFinder {
 public:
  explicit TypeFinder(const Json& root) : root_(root) {}

  void Add(const Json& schema, ArgumentSchema* found) {
    if (!schema.is_object() || !Looks()) return;
    for (const auto& [key, value] : schema.items()) {
      if (key == "$ref") {
        const Json* target = FindReference(root_, value);
        if (target != nullptr) Add(*target, found);
      }
      const bool choices = key == "anyOf" || key == "oneOf" || key == "allOf";
      for (size_t i = 0; choices && value.is_array() && i < value.size() && Looks(); ++i) {
        Add(value[i], found);
      }
    }
    AddTypes(schema, found);
  }

  // The properties of an object may stand in what it refers to, and in its choices.
  void AddProperties(const Json& schema,
                     std::map<std::string, ArgumentSchema, std::less<>>* found) {
    if (!schema.is_object() || !Looks()) return;
    for (const auto& [key, value] : schema.items()) {
      if (key == "$ref") {
        const Json* target = FindReference(root_, value);
        if (target != nullptr) AddProperties(*target, found);
      }
      const bool choices = key == "anyOf" || key == "oneOf" || key == "allOf";
      for (size_t i = 0; choices && value.is_array() && i < value.size() && Looks(); ++i) {
        AddProperties(value[i], found);
      }
      if (key != "properties" || !value.is_object()) continue;
      for (const auto& [name, property] : value.items()) {
        TypeFinder(root_).Add(property, &(*found)[name]);
      }
    }
  }

 private:
  bool Looks() { return ++looks_ <= kLooksMax; }

  void AddTypes(const Json& schema, ArgumentSchema* found) {
    const auto type = schema.find("type");
    const auto values = schema.find("enum");
    const auto constant = schema.find("const");
    const bool listed = (values != schema.end() && values->is_array()) || constant != schema.end();
    const bool typed = type != schema.end();
    const auto add_type = [&](const Json& name) {
      if (!name.is_string()) return;
      found->types.insert(name.text());
      // A text that looks like a number is hardly one that a pattern or a format allows.
      const bool free = !listed && !schema.contains("pattern") && !schema.contains("format");
      if (name == "string" && free) found->any_text = true;
    };
    const auto add_value = [&](const Json& value) {
      if (value.is_string()) found->words.insert(value.text());
      if (!typed) found->types.insert(std::string(TypeOf(value)));
    };
    if (typed && type->is_array()) {
      for (const Json& name : *type) add_type(name);
    } else if (typed) {
      add_type(*type);
    }
    if (constant != schema.end()) return add_value(*constant);
    if (!listed) return;
    for (const Json& value : *values) {
      if (!Looks()) break;
      add_value(value);
    }
    // Words that were not looked at may be others.
    if (looks_ > kLooksMax) found->any_text = true;
  }

  const Json& root_;
  size_t looks_ = 0;
};

bool Allows(const Types& types, const Json& value) {
  if (types.empty()) return !value.is_string();
  // 2.0 is an integer too.
  const bool whole =
      value.is_number_float() && std::floor(value.get<double>()) == value.get<double>();
  return types.contains(std::string(TypeOf(value))) || (whole && types.contains("integer")) ||
         (value.is_number_integer() && types.contains("number"));
}

}  // namespace

ArgumentTypes::ArgumentTypes(const Json* schema) {
  if (schema == nullptr) return;
  TypeFinder(*schema).AddProperties(*schema, &schemas_);
}

const ArgumentSchema& ArgumentTypes::SchemaOf(const std::string& argument) const {
  static const auto* const none = new ArgumentSchema();
  const auto found = schemas_.find(argument);
  return found == schemas_.end() ? *none : found->second;
}

const Types& ArgumentTypes::Of(const std::string& argument) const {
  return SchemaOf(argument).types;
}

bool ArgumentTypes::IsText(const std::string& argument) const {
  const Types& types = Of(argument);
  return types.size() == 1 && types.contains("string");
}

std::string ArgumentTypes::Value(const std::string& argument, const std::string& text) const {
  if (IsText(argument)) return JsonString(text);
  const ArgumentSchema& schema = SchemaOf(argument);
  const Types& types = schema.types;
  for (const auto& json : {std::optional<std::string>(text), JsonOfPython(text)}) {
    if (!json) continue;
    const auto value = ParseLimitedJson(*json, "a value");
    if (!value || !Allows(types, *value)) continue;
    // For a tool that accepts a string or a number, "12" is as good as 12: the model wrote the text
    // without quotes. Where only some strings are accepted, it has to be one of them.
    const bool text_fits =
        types.contains("string") && (schema.any_text || schema.words.contains(text));
    if (text_fits && !value->is_null() && !value->is_structured()) continue;
    return *json;
  }
  return JsonString(text);
}

}  // namespace cairn
