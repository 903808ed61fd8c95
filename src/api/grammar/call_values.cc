#include "api/grammar/call_values.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "api/grammar/json_grammar.h"
#include "api/grammar/json_schema.h"

namespace cairn {
namespace {

constexpr size_t kReferencesMax = 8;

// Keywords of an object's schema that add nothing to the list of its properties.
constexpr std::array<std::string_view, 10> kNarrowing = {
    "anyOf", "oneOf", "allOf", "$ref",          "enum",
    "const", "not",   "if",    "minProperties", "patternProperties"};

// Resolves a reference. Null if it cannot be resolved.
const Json* Follow(const Json& schema, const Json& root) {
  const Json* at = &schema;
  for (size_t i = 0; i < kReferencesMax; ++i) {
    if (!at->is_object() || !at->contains("$ref")) return at;
    const Json& reference = (*at)["$ref"];
    if (!reference.is_string() || !reference.get<std::string>().starts_with('#')) return nullptr;
    at = FindPointer(root, std::string_view(reference.text()).substr(1));
    if (at == nullptr) return nullptr;
  }
  return nullptr;
}

std::vector<std::string> CharactersOf(std::string_view text) {
  std::vector<std::string> characters;
  for (const char c : text) {
    const bool goes_on = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    if (goes_on && !characters.empty()) {
      characters.back() += c;
    } else {
      characters.emplace_back(1, c);
    }
  }
  return characters;
}

// Returns a character escaped for a GBNF class.
std::string InClass(const std::string& character) {
  const bool special = character.find_first_of("]\\^-") != std::string::npos;
  return (special ? "\\" : "") + character;
}

// The tag that ends a text; JSON's quote where strings are JSON.
std::string CloseOf(const LearnedCalls& syntax) {
  const std::vector<std::string> parts = SyntaxParts(syntax.string_close);
  return parts.empty() ? "\"" : parts[0];
}

// Writes the rules of one value.
class BareValue {
 public:
  BareValue(const CallMember& member, const LearnedCalls& syntax)
      : member_(member),
        syntax_(syntax),
        told_apart_(syntax.string_open != syntax.other_open),
        quoted_(syntax.strings == LearnedCalls::Strings::kQuoted) {}

  ApiResult<std::string> Write() {
    const std::string value = Visit(member_.schema, member_.place, 0);
    if (!error_ && !told_apart_ && has_text_ && has_structure_) {
      Refuse(member_.place, "either text or an object or list, not both");
    }
    if (error_) return tl::unexpected(*error_);
    return member_.prefix + "bare ::= " + value + "\n" + rules_;
  }

 private:
  void Refuse(const std::string& place, const std::string& expected) {
    if (!error_) error_ = FieldError(place, expected);
  }

  // A value that is not a string.
  std::string Other(const std::string& value, const std::string& type) const {
    const bool typed = !syntax_.other_type_end.empty();
    return GbnfLiteral(syntax_.other_open + (typed ? type : "") + syntax_.other_type_end) + " " +
           value + " " + GbnfLiteral(syntax_.other_close);
  }
  std::string Text(const std::string& value) const {
    return GbnfLiteral(syntax_.string_open) + " " + value + " " + GbnfLiteral(syntax_.string_close);
  }
  std::string AnyText() const { return GbnfLiteral(syntax_.string_open) + " bare-text"; }

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
    if (quoted_ && (type == Json("array") || type == Json("object"))) {
      return Other(Quoted(*schema, place, depth), type.get<std::string>());
    }
    if (!type.is_array()) return VisitJson(*schema, place);
    std::string choices;
    for (const Json& one : type) {
      Json alone = *schema;
      alone["type"] = one;
      choices += choices.empty() ? "" : " | ";
      choices += Visit(alone, place, depth + 1);
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
    if (!text || syntax_.strings == LearnedCalls::Strings::kJson) return VisitJson(schema, place);
    std::string choices;
    for (const Json& value : values) {
      const auto word = value.get<std::string>();
      // Without a type, the parser infers it from the text.
      const bool typed = told_apart_ || schema.value("type", Json()) == Json("string");
      const bool other = !typed && !Json::parse(word, nullptr, false).is_discarded();
      if (other || word.find(CloseOf(syntax_)) != std::string::npos) {
        Refuse(place, "values that this model can write as text, not '" + word + "'");
      }
      choices += (choices.empty() ? "" : " | ") + Text(GbnfLiteral(word));
    }
    return "(" + choices + ")";
  }

  std::string VisitText(const Json& schema, const std::string& place) {
    if (syntax_.strings == LearnedCalls::Strings::kJson) return VisitJson(schema, place);
    if (schema.contains("pattern")) {
      Refuse(place + ".pattern", "absent: this model writes arguments as bare text");
    }
    const auto format = schema.find("format");
    const auto known = format != schema.end() && format->is_string()
                           ? GbnfOfFormat(format->get<std::string>())
                           : std::nullopt;
    if (known) return "(" + Text("(" + *known + ")") + ")";
    has_text_ = true;
    if (!schema.contains("minLength") && !schema.contains("maxLength")) {
      return "(" + AnyText() + ")";
    }
    constexpr size_t kLengthMax = 10000;
    const Json least = schema.value("minLength", Json(0U));
    const Json most = schema.value("maxLength", Json(kLengthMax));
    const auto fits = [](const Json& length) {
      return length.is_number_unsigned() && length.get<uint64_t>() <= kLengthMax;
    };
    if (!fits(least) || !fits(most) || least.get<size_t>() > most.get<size_t>()) {
      Refuse(place + ".maxLength", "a whole number from minLength to 10000");
      return "";
    }
    const std::string first(CharactersOf(CloseOf(syntax_)).front());
    return "(" +
           Text("[^" + InClass(first) + "]" + GbnfTimes(least.get<size_t>(), most.get<size_t>())) +
           ")";
  }

  std::string VisitJson(const Json& schema, const std::string& place) {
    const Json type = schema.is_object() ? schema.value("type", Json()) : Json();
    if (type == Json("object") || type == Json("array")) has_structure_ = true;
    Json alone = schema;
    for (const char* definitions : {"$defs", "definitions"}) {
      if (!member_.schema.contains(definitions)) continue;
      if (alone.is_object()) alone[definitions] = member_.schema[definitions];
    }
    // Any value, including text; every text is some value.
    const bool any = type.is_null() && (!schema.is_object() || !IsNarrow(schema));
    if (any && syntax_.strings != LearnedCalls::Strings::kJson) {
      if (!told_apart_) return "(" + AnyText() + ")";
      std::string choices = "(" + AnyText();
      if (quoted_) return choices + " | " + Other("quoted-value", "") + ")";
      for (const char* one : {"number", "boolean", "null", "object", "array"}) {
        choices += " | " + Other(one, one);
      }
      return choices + ")";
    }
    std::string word = type.is_string() ? type.get<std::string>() : "";
    if (word == "integer") word = "number";
    if (word.empty() && !syntax_.other_type_end.empty()) {
      Refuse(place, "of one type: this model writes it before the value");
    }
    return "(" + Other(JsonRoot(alone, place), word) + ")";
  }

  std::string QuotedObject(const Json& schema, const std::string& place, size_t depth) {
    const std::string prefix = member_.prefix + "q" + std::to_string(jsons_++) + "-";
    const auto members = MembersOf(schema, place, prefix);
    if (!members) {
      if (!error_) error_ = members.error();
      return "";
    }
    if (members->empty()) return "quoted-object";
    std::vector<GbnfMember> written;
    for (const CallMember& member : *members) {
      if (member.name.find_first_of(":,{}[]<>\n") != std::string::npos) {
        Refuse(member.place, "named without brackets, colons, commas and line breaks");
      }
      const std::string value = Quoted(member.schema, member.place, depth + 1);
      written.push_back({GbnfLiteral(member.name + ":") + " " + value, member.required});
    }
    return "(\"{\" (" + GbnfMembers(written, ",", prefix, &rules_) + ") \"}\")";
  }

  // Returns the name of the rule for a value as JSON.
  std::string JsonRoot(const Json& schema, const std::string& place) {
    const std::string prefix = member_.prefix + "j" + std::to_string(jsons_++) + "-";
    const auto rules = RulesOfSchema(schema, place, prefix);
    if (!rules && !error_) error_ = rules.error();
    if (rules) rules_ += *rules;
    return prefix + "root";
  }

  // A value in the notation of a syntax with its own quotes.
  std::string Quoted(const Json& given, const std::string& place, size_t depth) {
    const Json* schema = depth > kReferencesMax ? nullptr : Follow(given, member_.schema);
    if (schema == nullptr || !schema->is_object()) return "quoted-value";
    const Json type = schema->value("type", Json());
    const auto only = [&](const std::vector<std::string_view>& known) {
      for (const auto& [key, value] : schema->items()) {
        if (key == "type" || key == "description" || key == "title" || key == "default") continue;
        if (key == "$defs" || key == "definitions" || key == "additionalProperties") continue;
        if (std::find(known.begin(), known.end(), key) != known.end()) continue;
        Refuse(place + "." + key,
               "absent: this model writes lists and objects in its own notation");
      }
    };
    if (type == Json("array")) {
      only({"items"});
      const std::string item =
          Quoted(schema->value("items", Json::object()), place + ".items", depth + 1);
      return "(\"[\" (" + item + " (\",\" " + item + ")*)? \"]\")";
    }
    if (type == Json("object")) {
      only({"properties", "required"});
      return QuotedObject(*schema, place, depth);
    }
    if (type.is_null() && !IsNarrow(*schema)) return "quoted-value";
    if (type == Json("string")) {
      only({"enum"});
      if (!schema->contains("enum")) return "quoted-string";
      std::string choices;
      for (const Json& word : (*schema)["enum"]) {
        choices += choices.empty() ? "" : " | ";
        choices += GbnfLiteral(syntax_.quote + (word.is_string() ? word.get<std::string>() : "") +
                               syntax_.quote);
      }
      return "(" + choices + ")";
    }
    for (const char* scalar : {"integer", "number", "boolean", "null"}) {
      if (type == Json(scalar)) return JsonRoot(*schema, place);
    }
    Refuse(place, "of one type: this model writes lists and objects in its own notation");
    return "";
  }

  // Returns whether the schema has other keywords than annotations.
  static bool IsNarrow(const Json& schema) {
    constexpr std::array<std::string_view, 7> kNotes = {
        "description", "title", "default", "examples", "$defs", "definitions", "$comment"};
    return std::any_of(schema.items().begin(), schema.items().end(), [&](const auto& item) {
      return std::find(kNotes.begin(), kNotes.end(), item.key) == kNotes.end();
    });
  }

  const CallMember& member_;
  const LearnedCalls& syntax_;
  const bool told_apart_;  // strings have another form than other values
  const bool quoted_;
  std::string rules_;
  size_t jsons_ = 0;
  bool has_text_ = false;       // it may be any text
  bool has_structure_ = false;  // it may be an object or a list
  std::optional<ApiError> error_;
};

// Each member has a copy of the definitions that its schema may refer to.
ApiResult<void> CheckDefinitions(const Json& schema, const std::string& place, size_t copies) {
  constexpr size_t kBytesMax = size_t{8} << 20;
  for (const char* definitions : {"$defs", "definitions"}) {
    const auto found = schema.find(definitions);
    if (found == schema.end() || ToText(*found).size() * copies <= kBytesMax) continue;
    return tl::unexpected(FieldError(
        place + "." + definitions, "of at most " + std::to_string(kBytesMax / copies) +
                                       " bytes beside so many properties, where a call is forced"));
  }
  return {};
}

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
  std::unordered_set<std::string_view> known;
  for (const auto& [name, property] : properties.items()) known.insert(name);
  std::unordered_set<std::string_view> needed;
  for (const Json& name : required) {
    if (!name.is_string() || !known.contains(name.text())) {
      return tl::unexpected(FieldError(place + ".required", "a list of names of properties"));
    }
    needed.insert(name.text());
  }
  if (auto fits = CheckDefinitions(schema, place, properties.size()); !fits) {
    return tl::unexpected(fits.error());
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
    member.required = needed.contains(name);
    member.place = place + ".properties." + name;
    member.prefix = prefix + "p" + std::to_string(members.size()) + "-";
    members.push_back(std::move(member));
  }
  return members;
}

std::string GbnfMembers(const std::vector<GbnfMember>& members, const std::string& separator,
                        const std::string& prefix, std::string* rules) {
  // From the last to the first, because each rule contains the rules of its successors.
  std::string tail;
  std::vector<std::string> firsts = {"\"\""};
  for (size_t i = members.size(); i > 0; --i) {
    const auto& [text, required] = members[i - 1];
    if (required) firsts.clear();
    firsts.push_back(text + (tail.empty() ? "" : " " + tail));
    const std::string next = (separator.empty() ? "" : GbnfLiteral(separator) + " ") + text;
    const std::string name = prefix + "tail" + std::to_string(i);
    *rules += name + " ::= " + (required ? next : "(" + next + ")?") +
              (tail.empty() ? "" : " " + tail) + "\n";
    tail = name;
  }
  std::string all;
  for (const std::string& first : firsts) all += (all.empty() ? "" : " | ") + first;
  return all;
}

ApiResult<std::string> RulesOfBareValue(const CallMember& member, const LearnedCalls& syntax) {
  return BareValue(member, syntax).Write();
}

std::string BareTextRules(const LearnedCalls& syntax) {
  const std::vector<std::string> close = SyntaxParts(syntax.string_close);
  const std::string end = CloseOf(syntax);
  std::string rules = "bare-text ::= bare-inside";
  for (size_t i = 1; i < close.size(); ++i) rules += " " + GbnfLiteral(close[i]);
  rules += "\n" + GbnfUntil("bare-inside", end);
  if (syntax.strings != LearnedCalls::Strings::kQuoted) return rules;
  return rules + "quoted-string ::= " + GbnfLiteral(syntax.quote) + " quoted-inside\n" +
         GbnfUntil("quoted-inside", syntax.quote) +
         "quoted-value ::= quoted-object | quoted-array | quoted-string | number | boolean | null\n"
         "quoted-array ::= \"[\" (quoted-value (\",\" quoted-value)*)? \"]\"\n"
         "quoted-object ::= \"{\" (quoted-member (\",\" quoted-member)*)? \"}\"\n"
         "quoted-member ::= [a-zA-Z_] [a-zA-Z0-9_]{0,63} \":\" quoted-value\n";
}

std::string GbnfUntil(const std::string& name, std::string_view end) {
  const std::vector<std::string> characters = CharactersOf(end);
  const std::string& first = characters[0];
  const auto rule = [&](size_t at) { return at == 0 ? name : name + "-" + std::to_string(at); };
  std::string text = rule(0) + " ::= [^" + InClass(first) + "] " + rule(0) + " | " +
                     GbnfLiteral(first) + " " + rule(1) + "\n";
  for (size_t at = 1; at < characters.size(); ++at) {
    const std::string& letter = characters[at];
    if (letter == first) return "";
    text += rule(at) + " ::= " + GbnfLiteral(letter) + " " + rule(at + 1) + " | " +
            GbnfLiteral(first) + " " + rule(1) + " | [^" + InClass(first) + InClass(letter) + "] " +
            rule(0) + "\n";
  }
  return text + rule(characters.size()) + " ::= \"\"\n";
}

}  // namespace cairn
