// Qwen3-Coder and Qwen 3.5. Some answers leave out the outer tags, or one of them.
//
//   <tool_call>
//   <function=weather>
//   <parameter=city>
//   Rome
//   </parameter>
//   </function>
//   </tool_call>
//
// Values are bare text; what they are in JSON is said by the tool's schema.

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "chat/calls_json.h"
#include "chat/calls_python.h"
#include "chat/calls_syntax.h"
#include "chat/limited_json.h"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;
using Types = std::set<std::string>;

constexpr std::array<CallBegin, 2> kQwenBegins = {{{"<tool_call>"}, {"<function="}}};
constexpr std::string_view kFunctionEnd = "</function>";
constexpr std::string_view kParameter = "<parameter=";
constexpr std::string_view kParameterEnd = "</parameter>";

constexpr size_t kReferencesMax = 50;

// What a reference names in the schema that it stands in; null: nothing.
const Json* FindReference(const Json& root, const Json& reference) {
  const auto* text = reference.get_ptr<const std::string*>();
  if (text == nullptr || !text->starts_with('#')) return nullptr;
  try {
    const Json::json_pointer pointer(text->substr(1));
    return root.contains(pointer) ? &root.at(pointer) : nullptr;
  } catch (const Json::exception&) {
    return nullptr;
  }
}

// The types that a schema allows, a part of `root`; none when it does not say. Schemas come from
// clients: limited in depth where they are parsed, and here in the references that are `left`.
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
  return value.type_name();  // JSON's and the schemas' words for the others are the same
}

bool Allows(const Types& types, const Json& value) {
  if (types.empty()) return !value.is_string();
  return types.contains(std::string(TypeOf(value))) ||
         (value.is_number_integer() && types.contains("number"));
}

// The value as JSON text. What fits none of the types stays a string: the tool will say so better.
std::string TypedValue(const std::string& text, const Types& types) {
  const bool only_text = types.size() == 1 && types.contains("string");
  if (only_text) return JsonString(text);
  for (const auto& json : {std::optional<std::string>(text), JsonOfPython(text)}) {
    if (!json) continue;
    const auto value = ParseLimitedJson(*json, "a value");
    if (!value || !Allows(types, *value)) continue;
    // Of a tool that takes text or a number, "12" is as good as 12; the text was written bare.
    if (types.contains("string") && !value->is_null() && !value->is_structured()) continue;
    return *json;
  }
  return JsonString(text);
}

struct Parameter {
  std::string name;
  std::string value;
};

// The line breaks that stand between the tags and the value are not the value's.
std::string WithoutTagLines(std::string_view value) {
  if (value.starts_with('\n')) value.remove_prefix(1);
  if (value.ends_with('\n')) value.remove_suffix(1);
  return std::string(value);
}

Scan TakeNameUntilBracket(std::string_view text, size_t* at, std::string* name) {
  const size_t end = text.find_first_of("<>\r\n", *at);
  if (end == std::string_view::npos) return Scan::kMore;
  if (text[end] != '>' || end == *at) return Scan::kNotHere;
  *name = text.substr(*at, end - *at);
  *at = end + 1;
  return Scan::kFound;
}

// Where a value ends: at a closing tag with the next parameter or the function's end behind it.
// Any other closing tag is a part of the value, which may be a page of markup itself.
Scan FindValueEnd(std::string_view text, size_t at, size_t* end) {
  for (size_t tag = text.find(kParameterEnd, at); tag != std::string_view::npos;
       tag = text.find(kParameterEnd, tag + 1)) {
    size_t next = SkipWhiteSpace(text, tag + kParameterEnd.size());
    const Scan function = TakeWord(text, kFunctionEnd, &next);
    const Scan parameter = TakeWord(text, kParameter, &next);
    if (function == Scan::kFound || parameter == Scan::kFound) {
      *end = tag;
      return Scan::kFound;
    }
    if (function == Scan::kMore || parameter == Scan::kMore) return Scan::kMore;
  }
  return Scan::kMore;
}

Scan TakeParameter(std::string_view text, size_t* at, Parameter* parameter) {
  *at = SkipWhiteSpace(text, *at);
  Scan scan = TakeWord(text, kParameter, at);
  if (scan == Scan::kFound) scan = TakeNameUntilBracket(text, at, &parameter->name);
  size_t end = 0;
  if (scan == Scan::kFound) scan = FindValueEnd(text, *at, &end);
  if (scan != Scan::kFound) return scan;
  parameter->value = WithoutTagLines(text.substr(*at, end - *at));
  *at = end + kParameterEnd.size();
  return Scan::kFound;
}

// Steps over <function=…>…</function>.
Scan TakeFunction(std::string_view text, size_t* at, std::string* name,
                  std::vector<Parameter>* parameters) {
  Scan scan = TakeWord(text, kQwenBegins[1].text, at);
  if (scan == Scan::kFound) scan = TakeNameUntilBracket(text, at, name);
  while (scan == Scan::kFound) {
    *at = SkipWhiteSpace(text, *at);
    const Scan end = TakeWord(text, kFunctionEnd, at);
    if (end == Scan::kFound) return end;
    Parameter parameter;
    scan = TakeParameter(text, at, &parameter);
    if (end == Scan::kMore && scan == Scan::kNotHere) return Scan::kMore;
    if (scan == Scan::kFound) parameters->push_back(std::move(parameter));
  }
  return scan;
}

class QwenXmlCalls final : public CallSyntax {
 public:
  explicit QwenXmlCalls(const OfferedTools* tools) : tools_(tools) {}

  std::span<const CallBegin> begins() const override { return kQwenBegins; }
  std::string_view last_bytes() const override { return ">"; }

  CallRead Read(std::string_view text, bool finished) const override {
    const bool tagged = text.starts_with(kQwenBegins[0].text);
    CallRead no_call = CallRead::Text(kQwenBegins[tagged ? 0 : 1].text.size());
    size_t at = tagged ? SkipWhiteSpace(text, kQwenBegins[0].text.size()) : 0;
    std::string name;
    std::vector<Parameter> parameters;
    const Scan scan = TakeFunction(text, &at, &name, &parameters);
    if (scan == Scan::kMore) return CallRead::More();
    if (scan == Scan::kNotHere) return no_call;
    size_t close = at;
    const Scan closed = tagged ? TakeClose(text, "</tool_call>", finished, &close) : Scan::kFound;
    if (closed == Scan::kMore) return CallRead::More();
    if (closed == Scan::kFound) at = close;
    return CallRead::Calls(at, {{name, Arguments(name, parameters)}});
  }

 private:
  std::string Arguments(const std::string& name, const std::vector<Parameter>& parameters) const {
    const Json schema = Schema(name);
    const Json properties = schema.value("properties", Json::object());
    std::string json = "{";
    for (const Parameter& parameter : parameters) {
      // Written twice, the last one counts.
      const auto same = [&](const Parameter& other) { return other.name == parameter.name; };
      if (std::any_of(&parameter + 1, parameters.data() + parameters.size(), same)) continue;
      Types types;
      if (properties.contains(parameter.name)) {
        size_t left = kReferencesMax;
        AddTypes(properties[parameter.name], schema, &left, &types);
      }
      if (json.size() > 1) json += ", ";
      json += JsonString(parameter.name) + ": " + TypedValue(parameter.value, types);
    }
    return json + "}";
  }

  Json Schema(const std::string& name) const {
    const auto schema = tools_->schemas.find(name);
    if (schema == tools_->schemas.end() || schema->second.empty()) return Json::object();
    const auto json = ParseLimitedJson(schema->second, "tools");
    return json && json->is_object() ? *json : Json::object();
  }

  const OfferedTools* const tools_;
};

}  // namespace

std::unique_ptr<CallSyntax> MakeQwenXmlCalls(const OfferedTools* tools) {
  return std::make_unique<QwenXmlCalls>(tools);
}

}  // namespace cairn
