#include "api/call_values.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "api/json_grammar.h"
#include "api/json_schema.h"

namespace cairn {
namespace {

constexpr std::string_view kClose = "</parameter>";
constexpr size_t kReferencesMax = 8;

// Beside these a tool's schema of an object says nothing that a list of its properties does not.
constexpr std::array<std::string_view, 10> kNarrowing = {
    "anyOf", "oneOf", "allOf", "$ref",          "enum",
    "const", "not",   "if",    "minProperties", "patternProperties"};

// What a reference leads to; null: to nothing that can be used.
const Json* Follow(const Json& schema, const Json& root) {
  const Json* at = &schema;
  for (size_t i = 0; i < kReferencesMax; ++i) {
    if (!at->is_object() || !at->contains("$ref")) return at;
    const Json& reference = (*at)["$ref"];
    if (!reference.is_string() || !reference.get<std::string>().starts_with('#')) return nullptr;
    try {
      const Json::json_pointer pointer(reference.get<std::string>().substr(1));
      if (!root.contains(pointer)) return nullptr;
      at = &root.at(pointer);
    } catch (const Json::exception&) {
      return nullptr;
    }
  }
  return nullptr;
}

// One value's rules.
class BareValue {
 public:
  explicit BareValue(const CallMember& member) : member_(member) {}

  ApiResult<std::string> Write() {
    const std::string value = Visit(member_.schema, member_.place, 0);
    if (!error_ && has_text_ && has_structure_) {
      Refuse(member_.place, "either text or an object or list, not both");
    }
    if (error_) return tl::unexpected(*error_);
    return member_.prefix + "bare ::= " + value + "\n" + rules_;
  }

 private:
  void Refuse(const std::string& place, const std::string& expected) {
    if (!error_) error_ = FieldError(place, expected);
  }

  static std::string Closed(const std::string& value) {
    return value + " " + GbnfLiteral("\n" + std::string(kClose) + "\n");
  }

  std::string Visit(const Json& given, const std::string& place, size_t depth) {
    const Json* schema = depth > kReferencesMax ? nullptr : Follow(given, member_.schema);
    if (schema == nullptr) {
      Refuse(place + ".$ref", "a reference that this server can follow");
      return "";
    }
    for (const char* name : {"anyOf", "oneOf"}) {
      if (schema->is_object() && schema->contains(name)) {
        return VisitAny(*schema, name, place, depth);
      }
    }
    if (schema->is_object() && (schema->contains("enum") || schema->contains("const"))) {
      return VisitValues(*schema, place);
    }
    const Json type = schema->is_object() ? schema->value("type", Json()) : Json();
    if (type == Json("string")) return VisitText(*schema, place);
    if (!type.is_array()) return VisitJson(*schema, place);
    std::string choices;
    for (const Json& one : type) {
      Json alone = *schema;
      alone["type"] = one;
      choices += choices.empty() ? "" : " | ";
      choices += one == Json("string") ? VisitText(alone, place) : VisitJson(alone, place);
    }
    return "(" + choices + ")";
  }

  std::string VisitAny(const Json& schema, const char* name, const std::string& place,
                       size_t depth) {
    const Json& list = schema[name];
    if (!list.is_array() || list.empty()) {
      Refuse(place + "." + name, "a list of at least one schema");
      return "";
    }
    for (const char* beside : {"type", "enum", "const", "properties", "items", "allOf"}) {
      if (schema.contains(beside)) {
        Refuse(place + "." + beside, "absent beside '" + std::string(name) + "'");
      }
    }
    std::string choices;
    for (size_t i = 0; i < list.size(); ++i) {
      choices += i == 0 ? "" : " | ";
      choices += Visit(list[i], place + "." + name + "[" + std::to_string(i) + "]", depth + 1);
    }
    return "(" + choices + ")";
  }

  std::string VisitValues(const Json& schema, const std::string& place) {
    const Json values = schema.contains("const") ? Json::array({schema["const"]}) : schema["enum"];
    if (!values.is_array() || values.empty()) {
      Refuse(place + ".enum", "a list of at least one value");
      return "";
    }
    const bool text = std::all_of(values.begin(), values.end(),
                                  [](const Json& value) { return value.is_string(); });
    if (!text) return VisitJson(schema, place);
    std::string choices;
    for (const Json& value : values) {
      const auto word = value.get<std::string>();
      // Without a type it is taken for what it looks like.
      const bool other = schema.value("type", Json()) != Json("string") && Json::accept(word);
      if (other || word.find(kClose) != std::string::npos) {
        Refuse(place, "values that this model can write as text, not '" + word + "'");
      }
      choices += (choices.empty() ? "" : " | ") + Closed(GbnfLiteral(word));
    }
    return "(" + choices + ")";
  }

  std::string VisitText(const Json& schema, const std::string& place) {
    if (schema.contains("pattern")) {
      Refuse(place + ".pattern", "absent: this model writes arguments as bare text");
    }
    const auto format = schema.find("format");
    const auto known = format != schema.end() && format->is_string()
                           ? GbnfOfFormat(format->get<std::string>())
                           : std::nullopt;
    if (known) return "(" + Closed("(" + *known + ")") + ")";
    has_text_ = true;
    if (!schema.contains("minLength") && !schema.contains("maxLength")) return "bare-text";
    constexpr size_t kLengthMax = 10000;
    const Json least = schema.value("minLength", Json(0U));
    const Json most = schema.value("maxLength", Json(kLengthMax));
    const auto fits = [](const Json& length) {
      return length.is_number_unsigned() && length <= kLengthMax;
    };
    if (!fits(least) || !fits(most) || least > most) {
      Refuse(place + ".maxLength", "a whole number from minLength to 10000");
      return "";
    }
    return "(" + Closed("[^<]" + GbnfTimes(least.get<size_t>(), most.get<size_t>())) + ")";
  }

  std::string VisitJson(const Json& schema, const std::string& place) {
    const Json type = schema.is_object() ? schema.value("type", Json()) : Json();
    if (type == Json("object") || type == Json("array")) has_structure_ = true;
    Json alone = schema;
    for (const char* definitions : {"$defs", "definitions"}) {
      if (!member_.schema.contains(definitions)) continue;
      if (alone.is_object()) alone[definitions] = member_.schema[definitions];
    }
    // Any value at all: text is one too, and all text is some value.
    const bool any = type.is_null() && (!schema.is_object() || !IsNarrow(schema));
    if (any) return "bare-text";
    const std::string prefix = member_.prefix + "j" + std::to_string(jsons_++) + "-";
    const auto rules = RulesOfSchema(alone, place, prefix);
    if (!rules && !error_) error_ = rules.error();
    if (rules) rules_ += *rules;
    return Closed(prefix + "root");
  }

  // Whether it says anything beside what it is for.
  static bool IsNarrow(const Json& schema) {
    constexpr std::array<std::string_view, 7> kNotes = {
        "description", "title", "default", "examples", "$defs", "definitions", "$comment"};
    return std::any_of(schema.items().begin(), schema.items().end(), [&](const auto& item) {
      return std::find(kNotes.begin(), kNotes.end(), item.key()) == kNotes.end();
    });
  }

  const CallMember& member_;
  std::string rules_;
  size_t jsons_ = 0;
  bool has_text_ = false;       // it may be any text
  bool has_structure_ = false;  // it may be an object or a list
  std::optional<ApiError> error_;
};

}  // namespace

ApiResult<std::vector<CallMember>> MembersOf(const Json& schema, const std::string& place,
                                             const std::string& prefix) {
  for (const std::string_view name : kNarrowing) {
    if (schema.contains(name)) {
      return tl::unexpected(
          FieldError(place + "." + std::string(name),
                     "absent where a call is forced: this model writes arguments one by one"));
    }
  }
  const Json properties = schema.value("properties", Json::object());
  const Json required = schema.value("required", Json::array());
  if (!properties.is_object()) {
    return tl::unexpected(FieldError(place + ".properties", "an object"));
  }
  if (!required.is_array()) {
    return tl::unexpected(FieldError(place + ".required", "a list of names"));
  }
  for (const Json& name : required) {
    if (name.is_string() && properties.contains(name.get<std::string>())) continue;
    return tl::unexpected(FieldError(place + ".required", "a list of names of properties"));
  }
  std::vector<CallMember> members;
  for (const auto& [name, property] : properties.items()) {
    CallMember member;
    member.name = name;
    member.schema = property;
    for (const char* definitions : {"$defs", "definitions"}) {
      if (schema.contains(definitions) && member.schema.is_object()) {
        member.schema[definitions] = schema[definitions];
      }
    }
    member.required = std::find(required.begin(), required.end(), Json(name)) != required.end();
    member.place = place + ".properties." + name;
    member.prefix = prefix + "p" + std::to_string(members.size()) + "-";
    members.push_back(std::move(member));
  }
  return members;
}

ApiResult<std::string> RulesOfBareValue(const CallMember& member) {
  return BareValue(member).Write();
}

std::string BareTextRules() {
  return "bare-text ::= bare-inside \"\\n\"\n" + GbnfUntil("bare-inside", kClose);
}

std::string GbnfUntil(const std::string& name, std::string_view end) {
  const std::string first = GbnfLiteral(end.substr(0, 1));
  const std::string first_class(1, end[0]);
  const auto rule = [&](size_t at) { return at == 0 ? name : name + "-" + std::to_string(at); };
  std::string text =
      rule(0) + " ::= [^" + first_class + "] " + rule(0) + " | " + first + " " + rule(1) + "\n";
  for (size_t at = 1; at < end.size(); ++at) {
    const std::string letter(1, end[at]);
    text += rule(at) + " ::= " + GbnfLiteral(letter) + " " + rule(at + 1) + " | " + first + " " +
            rule(1) + " | [^" + first_class + letter + "] " + rule(0) + "\n";
  }
  return text + rule(end.size()) + " ::= \"\"\n";
}

}  // namespace cairn
