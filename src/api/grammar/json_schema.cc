#include "api/grammar/json_schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "api/grammar/json_grammar.h"

namespace cairn {
namespace {

constexpr size_t kDepthMax = 64;
constexpr size_t kRulesMax = 5000;
constexpr size_t kCountMax = 10000;      // minItems, maxLength …
constexpr size_t kChoicesMax = 1000;     // of anyOf, oneOf and allOf
constexpr size_t kPropertiesMax = 4096;  // of all schemas of an allOf
constexpr size_t kSchemaBytesMax = size_t{256} << 10;

// Keywords that restrict answers and cannot be enforced.
constexpr std::array<std::string_view, 22> kUnsupported = {
    "not",           "if",
    "then",          "else",
    "dependencies",  "dependentRequired",
    "contains",      "dependentSchemas",
    "minContains",   "maxContains",
    "propertyNames", "patternProperties",
    "minProperties", "maxProperties",
    "uniqueItems",   "multipleOf",
    "$dynamicRef",   "$recursiveRef",
    "divisibleBy",   "unevaluatedItems",
    "disallow",      "unevaluatedProperties"};
// Supported keywords. Keywords in neither list do not restrict answers.
constexpr std::array<std::string_view, 24> kSupported = {
    "type",      "enum",        "const",
    "anyOf",     "oneOf",       "allOf",
    "$ref",      "properties",  "required",
    "items",     "prefixItems", "additionalProperties",
    "minItems",  "maxItems",    "additionalItems",
    "minLength", "maxLength",   "pattern",
    "minimum",   "maximum",     "exclusiveMinimum",
    "format",    "extends",     "exclusiveMaximum"};

template <size_t size>
bool IsOneOf(const std::array<std::string_view, size>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsType(const Json& value, std::string_view type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

bool HasAny(const Json& schema, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return schema.contains(name); });
}

// Returns the type that a schema without "type" implies; empty for any.
std::string_view ImpliedType(const Json& schema) {
  if (HasAny(schema, {"properties", "required", "additionalProperties"})) return "object";
  if (HasAny(schema, {"items", "prefixItems", "minItems", "maxItems"})) return "array";
  if (HasAny(schema, {"minLength", "maxLength", "pattern", "format"})) return "string";
  if (HasAny(schema, {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})) {
    return "number";
  }
  return "";
}

std::string Join(const std::vector<std::string>& parts, std::string_view between) {
  std::string all;
  for (const std::string& part : parts) {
    if (!all.empty()) all += between;
    all += part;
  }
  return all;
}

// Returns the name with only letters, digits and '-', as rules require.
std::string RuleName(std::string_view path) {
  std::string name;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  return name.substr(name.size() > 40 ? name.size() - 40 : 0);
}

class SchemaWriter {
 public:
  SchemaWriter(const Json& root, std::string field, std::string prefix)
      : root_(root), field_(std::move(field)), prefix_(std::move(prefix)) {}

  ApiResult<std::string> Write() {
    if (ToText(root_).size() > kSchemaBytesMax) {
      Refuse(field_, "a schema of at most " + std::to_string(kSchemaBytesMax) + " bytes");
    }
    references_["#"] = prefix_ + "root";
    rules_.emplace_back(prefix_ + "root", "");
    const std::string root = error_ ? "" : Visit(root_, field_, 0);
    if (error_) return tl::unexpected(*error_);
    rules_.front().second = root;
    return Text();
  }

 private:
  using Path = std::string;

  void Refuse(const Path& place, const std::string& expected) {
    if (!error_) error_ = FieldError(place, expected);
  }

  std::string Text() const {
    std::string text;
    for (const auto& [name, rule] : rules_) text += name + " ::= " + rule + "\n";
    return text;
  }

  // Adds a rule and returns its name.
  std::string AddRule(std::string_view place, std::string rule) {
    if (rules_.size() >= kRulesMax) {
      Refuse(field_, "a schema that takes at most " + std::to_string(kRulesMax) + " rules");
      return "value";
    }
    const size_t begin = std::min(field_.size(), place.size());
    // A number makes the name unique.
    std::string name =
        prefix_ + "r" + std::to_string(rules_.size()) + "-" + RuleName(place.substr(begin));
    if (name.back() == '-') name.pop_back();
    rules_.emplace_back(name, std::move(rule));
    return name;
  }

  std::optional<size_t> Count(const Json& schema, const char* name, const Path& path) {
    const auto found = schema.find(name);
    if (found == schema.end()) return std::nullopt;
    const bool whole =
        found->is_number_unsigned() || (found->is_number_integer() && found->get<int64_t>() >= 0);
    if (!whole || found->get<uint64_t>() > kCountMax) {
      Refuse(path + "." + name, "a whole number from 0 to " + std::to_string(kCountMax));
      return std::nullopt;
    }
    return found->get<size_t>();
  }

  // Refuses every restricting keyword except the named ones.
  void RefuseOthers(const Json& schema, const Path& path,
                    std::initializer_list<std::string_view> but, std::string_view beside) {
    for (const auto& [name, value] : schema.items()) {
      const bool read = std::find(but.begin(), but.end(), name) != but.end();
      if (!read && IsOneOf(kSupported, name)) {
        Refuse(path + "." + name, "absent beside '" + std::string(beside) + "'");
      }
    }
  }

  void RefuseUnsupported(const Json& schema, const Path& path) {
    for (const auto& [name, value] : schema.items()) {
      if (!IsOneOf(kUnsupported, name) || value == Json(false)) continue;
      Refuse(path + "." + name, "absent: this server cannot enforce that keyword");
    }
    for (const char* name : {"extends", "additionalItems"}) {
      if (schema.contains(name)) Refuse(path + "." + name, "absent: use a newer JSON Schema");
    }
  }

  // Returns an expression of one item: a rule's name, or a group.
  std::string Visit(const Json& schema, const Path& path, size_t depth) {
    if (error_) return "";
    if (depth > kDepthMax) {
      Refuse(path, "nested at most " + std::to_string(kDepthMax) + " deep");
      return "";
    }
    if (schema == Json(true)) return "value";
    if (!schema.is_object()) {
      Refuse(path, "a schema: an object, or true");
      return "";
    }
    RefuseUnsupported(schema, path);
    if (schema.contains("$ref")) return VisitReference(schema, path, depth);
    if (schema.contains("const")) {
      RefuseOthers(schema, path, {"const", "type"}, "const");
      return Values(schema, Json::array({schema["const"]}), path + ".const");
    }
    if (schema.contains("enum")) {
      RefuseOthers(schema, path, {"enum", "type"}, "enum");
      return Values(schema, schema["enum"], path + ".enum");
    }
    if (schema.contains("allOf")) return VisitAll(schema, path, depth);
    for (const char* name : {"anyOf", "oneOf"}) {
      if (schema.contains(name)) return VisitAny(schema, name, path, depth);
    }
    return VisitTypes(schema, path, depth);
  }

  std::string VisitReference(const Json& schema, const Path& path, size_t depth) {
    const Path place = path + ".$ref";
    RefuseOthers(schema, path, {"$ref"}, "$ref");
    const bool local = schema["$ref"].is_string() && schema["$ref"].get<std::string>()[0] == '#';
    if (!local) {
      Refuse(place, "a reference into this schema, such as '#/$defs/name'");
      return "";
    }
    const auto reference = schema["$ref"].get<std::string>();
    if (const auto known = references_.find(reference); known != references_.end()) {
      return known->second;
    }
    const Json* target = FindPointer(root_, std::string_view(reference).substr(1));
    if (target == nullptr) {
      Refuse(place, "a reference to something in this schema; there is no '" + reference + "'");
      return "";
    }
    // The rule is named before its schema is parsed, because the schema may refer to itself.
    const std::string name = AddRule(field_ + reference, "");
    const size_t number = rules_.size() - 1;
    references_[reference] = name;
    std::string rule = Visit(*target, field_ + reference, depth + 1);
    rules_[number].second = std::move(rule);
    return name;
  }

  std::string Values(const Json& schema, const Json& values, const Path& path) {
    std::vector<std::string> choices;
    if (!values.is_array() || values.empty()) {
      Refuse(path, "a list of at least one value");
      return "";
    }
    const std::vector<std::string> types = Types(schema, path);
    for (const Json& value : values) {
      const bool fits = types.empty() || std::any_of(types.begin(), types.end(), [&](auto& type) {
                          return IsType(value, type);
                        });
      if (fits) choices.push_back(GbnfLiteral(ToText(value)));
    }
    if (choices.empty()) Refuse(path, "values of the type beside it");
    return AddRule(path, Join(choices, " | "));
  }

  std::string VisitAny(const Json& schema, const char* keyword, const Path& path, size_t depth) {
    const Path place = path + "." + keyword;
    const Json& list = schema[keyword];
    if (!CheckList(list, place)) return "";
    Json base = schema;
    base.erase(keyword);
    std::vector<std::string> choices;
    for (size_t i = 0; i < list.size() && !error_; ++i) {
      const Path item = place + "[" + std::to_string(i) + "]";
      Json merged = list[i];
      if (Narrows(base)) merged = Merge(base, list[i], item);
      choices.push_back(Visit(merged, item, depth + 1));
    }
    return AddRule(place, Join(choices, " | "));
  }

  // Each of the list's schemas is merged with the keywords beside the list, so they are few.
  bool CheckList(const Json& list, const Path& place) {
    const bool fits = list.is_array() && !list.empty() && list.size() <= kChoicesMax;
    if (!fits) Refuse(place, "a list of 1 to " + std::to_string(kChoicesMax) + " schemas");
    return fits;
  }

  static bool Narrows(const Json& schema) {
    return std::any_of(schema.items().begin(), schema.items().end(),
                       [](const auto& item) { return IsOneOf(kSupported, item.key); });
  }

  std::string VisitAll(const Json& schema, const Path& path, size_t depth) {
    const Json& list = schema["allOf"];
    const Path place = path + ".allOf";
    if (!CheckList(list, place)) return "";
    Json merged = schema;
    merged.erase("allOf");
    for (size_t i = 0; i < list.size() && !error_; ++i) {
      const Json* part = &list[i];
      const Path item = place + "[" + std::to_string(i) + "]";
      if (list.size() == 1 && !Narrows(merged)) return Visit(*part, item, depth + 1);
      RefuseUnsupportedPart(*part, item);
      merged = Merge(merged, *part, item);
      const auto properties = merged.find("properties");
      if (properties != merged.end() && properties->size() > kPropertiesMax) {
        Refuse(place, "schemas of at most " + std::to_string(kPropertiesMax) + " properties");
      }
    }
    return Visit(merged, path, depth + 1);
  }

  void RefuseUnsupportedPart(const Json& part, const Path& path) {
    if (!part.is_object()) return Refuse(path, "a schema: an object");
    if (part.contains("$ref")) {
      Refuse(path + ".$ref", "absent where several schemas hold at once");
    }
  }

  // Returns a schema for values that match both, if the two can be merged simply.
  Json Merge(const Json& left, const Json& right, const Path& path) {
    Json merged = left;
    if (!right.is_object()) {
      if (right != Json(true)) Refuse(path, "a schema: an object");
      return merged;
    }
    const bool both = left.contains("properties") && right.contains("properties");
    for (const auto& [name, value] : right.items()) {
      if (both && name == "properties" && value.is_object() && left[name].is_object()) {
        for (const auto& [key, property] : value.items()) {
          const bool differs = merged[name].contains(key) && merged[name][key] != property;
          if (differs) Refuse(path + ".properties." + key, "defined once");
          merged[name][key] = property;
        }
      } else if (name == "required" && merged.contains(name) && merged[name].is_array() &&
                 value.is_array()) {
        for (const Json& key : value) merged[name].push_back(key);
      } else if (merged.contains(name) && merged[name] != value &&
                 (IsOneOf(kSupported, name) || IsOneOf(kUnsupported, name))) {
        Refuse(path + "." + name, "the same in all schemas that hold at once");
      } else {
        merged[name] = value;
      }
    }
    // A schema with additionalProperties: false excludes the properties of the other one.
    for (const Json* side : {&left, static_cast<const Json*>(&right)}) {
      const bool closes =
          side->contains("additionalProperties") && (*side)["additionalProperties"] != Json(true);
      if (closes && side->value("properties", Json()) != merged.value("properties", Json())) {
        Refuse(path + ".additionalProperties", "absent where several schemas hold at once");
      }
    }
    return merged;
  }

  std::vector<std::string> Types(const Json& schema, const Path& path) {
    std::vector<std::string> types;
    const auto type = schema.find("type");
    if (type == schema.end()) return types;
    const Json list = type->is_array() ? *type : Json::array({*type});
    for (const Json& name : list) {
      const bool known =
          name.is_string() &&
          (name == "object" || name == "array" || name == "string" || name == "integer" ||
           name == "number" || name == "boolean" || name == "null");
      if (known) {
        // A list may name one again.
        const bool again = std::find(types.begin(), types.end(), name.text()) != types.end();
        if (!again) types.push_back(name.text());
      } else {
        Refuse(path + ".type",
               "'object', 'array', 'string', 'integer', 'number', 'boolean' or "
               "'null', or a list of them");
      }
    }
    if (types.empty()) Refuse(path + ".type", "at least one type");
    return types;
  }

  std::string VisitTypes(const Json& schema, const Path& path, size_t depth) {
    const std::vector<std::string> types = Types(schema, path);
    if (error_) return "";
    if (types.empty()) return VisitType(ImpliedType(schema), schema, path, depth);
    if (types.size() == 1) return VisitType(types.front(), schema, path, depth);
    std::vector<std::string> choices;
    for (const std::string& type : types) {
      choices.push_back(VisitType(type, schema, path, depth));
    }
    return AddRule(path, Join(choices, " | "));
  }

  std::string VisitType(std::string_view type, const Json& schema, const Path& path, size_t depth) {
    if (type == "object") return VisitObject(schema, path, depth);
    if (type == "array") return VisitArray(schema, path, depth);
    if (type == "string") return VisitString(schema, path);
    if (type == "integer") return VisitInteger(schema, path);
    if (type == "number") return VisitNumber(schema, path);
    return type.empty() ? "value" : std::string(type);
  }

  std::string VisitString(const Json& schema, const Path& path) {
    const auto least = Count(schema, "minLength", path);
    const auto most = Count(schema, "maxLength", path);
    if (least && most && *least > *most) Refuse(path + ".maxLength", "at least minLength");
    if (const auto pattern = schema.find("pattern"); pattern != schema.end()) {
      RefuseOthers(schema, path, {"pattern", "type", "format"}, "pattern");
      const auto inside = pattern->is_string() ? GbnfOfPattern(pattern->get<std::string>())
                                               : Fail(ErrorCode::kInvalidArgument, "a string");
      if (!inside) {
        Refuse(path + ".pattern", inside.error().message);
        return "";
      }
      return AddRule(path, R"("\"" )" + *inside + R"( "\"")");
    }
    if (least || most) {
      return AddRule(path, R"("\"" char)" + GbnfTimes(least.value_or(0), most) + R"( "\"")");
    }
    const auto format = schema.find("format");
    const auto known = format != schema.end() && format->is_string()
                           ? GbnfOfFormat(format->get<std::string>())
                           : std::nullopt;
    return known ? AddRule(path, R"("\"" )" + *known + R"( "\"")") : "string";
  }

  // Returns a bound of integers; `add` corrects an exclusive bound.
  std::optional<int64_t> Bound(const Json& schema, const char* name, const Path& path,
                               int64_t add) {
    const auto found = schema.find(name);
    if (found == schema.end()) return std::nullopt;
    constexpr int64_t kMost = int64_t{1} << 53;
    const double value = found->is_number() ? found->get<double>() : std::nan("");
    if (!(std::abs(value) <= static_cast<double>(kMost))) {
      Refuse(path + "." + name, "a number from -2^53 to 2^53");
      return std::nullopt;
    }
    const bool lower = std::string_view(name).ends_with("inimum");
    const double whole = lower ? std::ceil(value) : std::floor(value);
    return static_cast<int64_t>(whole) + (whole == value ? add : 0);
  }

  std::string VisitInteger(const Json& schema, const Path& path) {
    auto least = Bound(schema, "minimum", path, 0);
    auto most = Bound(schema, "maximum", path, 0);
    const auto above = Bound(schema, "exclusiveMinimum", path, 1);
    const auto below = Bound(schema, "exclusiveMaximum", path, -1);
    if (above) least = std::max(least.value_or(*above), *above);
    if (below) most = std::min(most.value_or(*below), *below);
    if (!least && !most) return "integer";
    if (least && most && *least > *most) {
      Refuse(path + ".maximum", "such that an integer lies between the bounds");
      return "";
    }
    return AddRule(path, GbnfIntegers(least, most));
  }

  std::string VisitNumber(const Json& schema, const Path& path) {
    for (const char* name : {"maximum", "exclusiveMinimum", "exclusiveMaximum"}) {
      if (schema.contains(name)) {
        Refuse(path + "." + name, "absent: this server bounds integers only");
      }
    }
    const auto least = schema.find("minimum");
    if (least == schema.end()) return "number";
    if (*least != 0) Refuse(path + ".minimum", "0 or absent: this server bounds integers only");
    return "positive";
  }

  std::string VisitArray(const Json& schema, const Path& path, size_t depth) {
    const size_t least = Count(schema, "minItems", path).value_or(0);
    const auto most = Count(schema, "maxItems", path);
    if (most && *most < least) Refuse(path + ".maxItems", "at least minItems");
    const bool old_tuple = schema.contains("items") && schema["items"].is_array();
    const char* prefix_name = old_tuple ? "items" : "prefixItems";
    const Json prefix = schema.value(prefix_name, Json::array());
    if (!prefix.is_array()) Refuse(path + ".prefixItems", "a list of schemas");
    std::string all;
    const size_t first = std::min(prefix.size(), most.value_or(prefix.size()));
    for (size_t i = 0; i < first && !error_; ++i) {
      const Path place = path + "." + prefix_name + "[" + std::to_string(i) + "]";
      all += (i == 0 ? "" : R"( "," ws )") + Visit(prefix[i], place, depth + 1);
    }
    const Json items = old_tuple ? Json(true) : schema.value("items", Json(true));
    const bool more = items != Json(false) && (!most || *most > first) && !error_;
    if (!more && least > first) Refuse(path + ".minItems", "no more than there can be");
    if (more) {
      const std::string item = Visit(items, path + ".items", depth + 1);
      all += first > 0 ? Rest(item, least, most, first) : Items(item, least, most);
    }
    return AddRule(path, all.empty() ? R"("[" ws "]")" : R"("[" ws )" + all + R"( "]")");
  }

  // Returns rules for the items after `first` others.
  static std::string Rest(const std::string& item, size_t least, std::optional<size_t> most,
                          size_t first) {
    const size_t from = least > first ? least - first : 0;
    const auto to = most ? std::optional<size_t>(*most - first) : std::nullopt;
    return R"( ("," ws )" + item + ")" + GbnfTimes(from, to) + " ws";
  }

  static std::string Items(const std::string& item, size_t least, std::optional<size_t> most) {
    const std::string some = item + Rest(item, least, most, 1);
    return least == 0 ? "(" + some + ")?" : some;
  }

  struct Member {
    std::string text;  // `"\"name\"" ":" sp rule`
    bool required = false;
  };

  std::string VisitObject(const Json& schema, const Path& path, size_t depth) {
    const Json properties = schema.value("properties", Json::object());
    const Json required = schema.value("required", Json::array());
    if (!properties.is_object()) Refuse(path + ".properties", "an object");
    if (!required.is_array()) Refuse(path + ".required", "a list of names");
    for (const Json& name : required) {
      if (!name.is_string()) Refuse(path + ".required", "a list of names");
    }
    if (error_) return "";
    const auto more = schema.find("additionalProperties");
    const bool open = more != schema.end() ? *more != Json(false) : properties.empty();
    const Json any = more != schema.end() && open ? *more : Json(true);
    std::vector<Member> members;
    std::vector<std::string> names;
    std::unordered_set<std::string_view> needed_names;
    for (const Json& name : required) needed_names.insert(name.text());
    std::unordered_set<std::string_view> known_names;
    const auto add = [&](const std::string& name, const Json& property, const Path& place) {
      const bool needed = needed_names.contains(name);
      known_names.insert(name);
      const std::string rule = Visit(property, place, depth + 1);
      members.push_back({GbnfLiteral(ToText(Json(name))) + R"( ":" sp )" + rule, needed});
      names.push_back(name);
    };
    for (const auto& [name, property] : properties.items()) {
      add(name, property, path + ".properties." + name);
    }
    for (const Json& name : required) {
      if (known_names.contains(name.text())) continue;
      if (!open && more != schema.end()) {
        Refuse(path + ".required", "names of properties where no others are allowed");
      }
      add(name.text(), any, path + ".additionalProperties");
    }
    if (!open) return WriteMembers(members, "", path);
    if (names.empty() && any == Json(true)) return "object";
    const auto others = GbnfOfOtherNames(names);
    if (!others) Refuse(path + ".additionalProperties", "false beside names that long");
    if (!others) return "";
    const std::string key = AddRule(path, R"("\"" )" + *others + R"( "\"")");
    const std::string value = Visit(any, path + ".additionalProperties", depth + 1);
    return WriteMembers(members, key + R"( ":" sp )" + value, path);
  }

  // Returns the members in order, where optional ones may be missing, then any number of `other`.
  std::string WriteMembers(const std::vector<Member>& members, const std::string& other,
                           const Path& path) {
    // The rules of a member's successors, from the last to the first.
    std::string tail = other.empty() ? "" : R"(("," ws )" + other + ")*";
    std::vector<std::string> firsts;
    bool may_be_empty = true;
    if (!other.empty()) firsts.push_back(other + " " + tail);
    for (auto member = members.rbegin(); member != members.rend() && !error_; ++member) {
      if (!tail.empty()) tail = AddRule(path, tail);
      if (member->required) firsts.clear();
      if (member->required) may_be_empty = false;
      firsts.push_back(member->text + " " + tail);
      const std::string next = R"("," ws )" + member->text;
      tail = (member->required ? next : "(" + next + ")?") + " " + tail;
    }
    std::reverse(firsts.begin(), firsts.end());
    if (firsts.empty()) return AddRule(path, R"("{" ws "}")");
    const std::string inside = "(" + Join(firsts, " | ") + ") ws";
    return AddRule(path, R"("{" ws )" + (may_be_empty ? "(" + inside + ")?" : inside) + R"( "}")");
  }

  const Json& root_;
  const std::string field_;
  const std::string prefix_;
  std::vector<std::pair<std::string, std::string>> rules_;  // a rule's name and its definition
  // references such as "#/$defs/x", and their rules
  std::map<std::string, std::string> references_;
  std::optional<ApiError> error_;
};

}  // namespace

ApiResult<std::string> GrammarOfSchema(const Json& schema, const std::string& field) {
  auto text = RulesOfSchema(schema, field, "");
  if (text) *text += JsonRulesText();
  return text;
}

ApiResult<std::string> RulesOfSchema(const Json& schema, const std::string& field,
                                     const std::string& prefix) {
  return SchemaWriter(schema, field, prefix).Write();
}

std::string GrammarOfAnyObject() {
  return "root ::= object\n" + JsonRulesText();
}

}  // namespace cairn
