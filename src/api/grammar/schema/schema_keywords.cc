// The keywords of single types, and what their opposites are: parts of SchemaExpansion.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "api/grammar/schema/schema_expansion.h"
#include "api/grammar/schema/shape_maker.h"

namespace cairn {
namespace {

const Json* Found(const Json& schema, std::string_view name) {
  const auto found = schema.find(name);
  return found == schema.end() || found->is_null() ? nullptr : &*found;
}

// All types but these.
Json Others(const Json& types) {
  Json others = Json::array();
  for (const char* name : {"null", "boolean", "number", "string", "array", "object"}) {
    const auto is = [&](const Json& one) {
      return one == name || one == "any" ||
             (one == "integer" && std::string_view(name) == "number");
    };
    const bool named = types.is_array() ? std::any_of(types.begin(), types.end(), is) : is(types);
    if (!named) others.push_back(name);
  }
  return others;
}

Json OfType(const char* type, const char* keyword, Json value) {
  Json made = {{"type", type}};
  made[keyword] = std::move(value);
  return made;
}

}  // namespace

std::optional<size_t> SchemaExpansion::Count(std::string_view name, const Json& value) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (number < 0 || std::floor(number) != number) {
    terms_.Fail(now_.term, name, "a whole number, zero or more");
    return std::nullopt;
  }
  constexpr double kMost = 1e15;
  return static_cast<size_t>(std::min(number, kMost));
}

void SchemaExpansion::Strings(std::string_view name, const Json& value) {
  SchemaDraft& draft = open_->draft;
  if (name == "pattern" || name == "notPattern") {
    if (!value.is_string()) return terms_.Fail(now_.term, name, "a regular expression");
    draft.patterns.push_back({&value, name == "notPattern", now_.term, "pattern"});
    return;
  }
  if (name == "format") {
    if (value.is_string()) draft.patterns.push_back({&value, false, now_.term, "format"});
    return;
  }
  const auto count = Count(name, value);
  if (!count) return;
  draft.length_owner = now_.term;
  if (name == "minLength") draft.length_min = std::max(draft.length_min, *count);
  if (name == "maxLength") draft.length_max = std::min(draft.length_max.value_or(*count), *count);
}

void SchemaExpansion::Numbers(std::string_view name, const Json& value) {
  NumberRange& range = open_->draft.range;
  const Json& schema = *terms_[now_.term].schema;
  // Draft 4 has the exclusive bounds as flags of the others.
  if (value.is_boolean() && name.starts_with("exclusive")) return;
  if (!value.is_number()) return terms_.Fail(now_.term, name, "a number");
  const auto flag = [&](const char* keyword) {
    const Json* found = Found(schema, keyword);
    return found != nullptr && *found == Json(true);
  };
  if (name == "minimum") range.RaiseLeast(Decimal(value), flag("exclusiveMinimum"));
  if (name == "maximum") range.LowerMost(Decimal(value), flag("exclusiveMaximum"));
  if (name == "exclusiveMinimum") range.RaiseLeast(Decimal(value), true);
  if (name == "exclusiveMaximum") range.LowerMost(Decimal(value), true);
  if (name != "multipleOf" && name != "divisibleBy") return;
  const Decimal step = Decimal(value).Magnitude();
  if (step.is_zero() || value < Json(0)) return terms_.Fail(now_.term, name, "a number above 0");
  // Two of them hold at once where one is a multiple of the other; else one is left out.
  open_->draft.multiple_owner = now_.term;
  if (!range.multiple_of || *range.multiple_of == step) {
    range.multiple_of = step;
    return;
  }
  NumberRange by_old;
  by_old.multiple_of = range.multiple_of;
  NumberRange by_new;
  by_new.multiple_of = step;
  const auto first = range.multiple_of->Small();
  const auto second = step.Small();
  if (first && second && *first % *second == 0) return;
  if (first && second && *second % *first == 0) {
    range.multiple_of = step;
    return;
  }
  terms_.Loosen(now_.term, name);
}

void SchemaExpansion::Lists(std::string_view name, const Json& value) {
  SchemaDraft& draft = open_->draft;
  const Json& schema = *terms_[now_.term].schema;
  if (name == "minItems" || name == "maxItems") {
    const auto count = Count(name, value);
    if (!count) return;
    if (name == "minItems") draft.items_min = std::max(draft.items_min, *count);
    if (name == "maxItems") draft.items_max = std::min(draft.items_max.value_or(*count), *count);
    return;
  }
  if (name == "uniqueItems") {
    if (value == Json(true)) draft.unique_owner = now_.term;
    return;
  }
  if (name == "contains") {
    const Json* least = Found(schema, "minContains");
    if (least == nullptr || *least != Json(0))
      draft.items_min = std::max<size_t>(draft.items_min, 1);
    return terms_.Loosen(now_.term, name);
  }
  if (name == "unevaluatedItems") {
    const bool alone = Found(schema, "items") == nullptr && now_.term == only_ && only_one_ &&
                       std::none_of(schema.items().begin(), schema.items().end(), [](auto item) {
                         return item.key.ends_with("Of") || item.key.ends_with("Ref") ||
                                item.key == "$ref" || item.key == "if" || item.key == "contains";
                       });
    if (!alone) return terms_.Loosen(now_.term, name);
    draft.items.push_back(
        {now_.term, Found(schema, "prefixItems"), "prefixItems", &value, "unevaluatedItems"});
    return;
  }
  const bool old_tuple = name == "items" && value.is_array();
  if (name == "prefixItems" && !value.is_array()) {
    return terms_.Fail(now_.term, name, "a list of schemas");
  }
  // Both are read where the first of them stands.
  SchemaDraft::Items items{now_.term, nullptr, "items", nullptr, "items"};
  const Json* first = Found(schema, "prefixItems");
  if (old_tuple) {
    items.first = &value;
    items.rest = Found(schema, "additionalItems");
    items.rest_name = "additionalItems";
  } else {
    if (name == "prefixItems" && Found(schema, "items") != nullptr) return;
    items.first = first;
    items.first_name = "prefixItems";
    items.rest = Found(schema, "items");
  }
  draft.items.push_back(std::move(items));
}

void SchemaExpansion::Required(const Json& value) {
  if (value.is_boolean()) {  // of draft 3, where it is about the schema's own place
    if (value.get<bool>()) terms_.Loosen(now_.term, "required");
    return;
  }
  if (!value.is_array()) return terms_.Fail(now_.term, "required", "a list of names");
  std::vector<std::pair<std::string, TermId>>& required = open_->draft.required;
  std::vector<std::string_view> known;
  for (const auto& [name, owner] : required) known.push_back(name);
  std::sort(known.begin(), known.end());
  for (const Json& name : value) {
    if (!name.is_string()) return terms_.Fail(now_.term, "required", "a list of names");
    if (std::binary_search(known.begin(), known.end(), std::string_view(name.text()))) continue;
    required.emplace_back(name.text(), now_.term);
  }
}

void SchemaExpansion::Objects(std::string_view name, const Json& value) {
  SchemaDraft& draft = open_->draft;
  const Json& schema = *terms_[now_.term].schema;
  if (name == "lacks") {
    for (const Json& one : value) draft.lacking.push_back(one.text());
    return;
  }
  if (name == "notValues") {
    draft.not_values_owner = terms_[now_.term].parent;
    return draft.not_values.push_back({&value, false});
  }
  if (name == "disallow") return terms_.Loosen(now_.term, name);
  if (name == "additionalItems") return;
  if (name == "propertyNames") {
    draft.names.push_back(terms_.In(now_.term, value, "propertyNames"));
    return;
  }
  if (name == "minProperties" || name == "maxProperties") {
    const auto count = Count(name, value);
    if (!count) return;
    draft.members_owner = now_.term;
    if (name == "minProperties") draft.members_min = std::max(draft.members_min, *count);
    if (name == "maxProperties") {
      draft.members_max = std::min(draft.members_max.value_or(*count), *count);
    }
    return;
  }
  if (name == "unevaluatedProperties") {
    const bool own = only_one_ && now_.term == only_;
    // One inside speaks of members for the outer one.
    if (!own) open_->joins = true;
    if (value == Json(true)) return;
    if (!own) return terms_.Loosen(now_.term, name);
    draft.unevaluated = terms_.In(now_.term, value, "unevaluatedProperties");
    draft.unevaluated_owner = now_.term;
    return;
  }
  if (name != "additionalProperties" && !IsObject(name, value)) return;
  // All three are read where the first of them stands.
  SchemaDraft::Members members{now_.term, Found(schema, "properties"),
                               Found(schema, "patternProperties"),
                               Found(schema, "additionalProperties")};
  const bool again =
      std::any_of(draft.members.begin(), draft.members.end(),
                  [&](const SchemaDraft::Members& other) { return other.owner == now_.term; });
  if (!again) draft.members.push_back(members);
}

// --- Opposites
// ------------------------------------------------------------------------------------

void SchemaExpansion::ReadNegated(const Json& schema) {
  const TermId self = now_.term;
  if (terms_.document().ref_stands_alone() && Found(schema, "$ref") != nullptr) {
    const auto way = Negated("$ref", schema["$ref"], schema);
    if (!way) return terms_.Loosen(self, "");
    return AddChoice(*way);
  }
  Choice choice;
  for (const auto& [name, value] : schema.items()) {
    if (value.is_null() && name != "const") continue;
    if (HandlerOf(name) == nullptr) continue;  // it restricts nothing
    // It has no meaning but beside another.
    if (name == "additionalItems" || (value.is_boolean() && name.starts_with("exclusive")))
      continue;
    auto ways = Negated(name, value, schema);
    now_.term = self;
    if (!ways) return terms_.Loosen(self, "");
    choice.insert(choice.end(), ways->begin(), ways->end());
  }
  if (choice.empty()) {
    open_->dead = true;
    return;
  }
  AddChoice(std::move(choice));
}

std::optional<SchemaExpansion::Choice> SchemaExpansion::Negated(std::string_view name,
                                                                const Json& value,
                                                                const Json& schema) {
  const TermId own = now_.term;
  const auto made = [&](Json json) { return terms_.Made(own, std::move(json)); };
  if (name == "type") {
    const auto whole = [](const Json& one) { return one == "integer" || one.is_object(); };
    const bool fractions =
        value.is_array() ? std::any_of(value.begin(), value.end(), whole) : whole(value);
    if (fractions) return std::nullopt;  // numbers that are not whole
    const Json others = Others(value);
    if (others.empty()) return Choice();
    return Choice{{made({{"type", others}})}};
  }
  if (name == "enum" || name == "const") {
    Json values = name == "const" ? Json::array({value}) : value;
    const auto structured = [](const Json& one) { return one.is_structured(); };
    if (!values.is_array() || std::any_of(values.begin(), values.end(), structured)) {
      return std::nullopt;
    }
    return Choice{{made({{"notValues", std::move(values)}})}};
  }
  if (name == "required" && value.is_array()) {
    Choice choice;
    for (const Json& one : value) {
      if (!one.is_string()) return std::nullopt;
      choice.push_back({made({{"type", "object"}, {"lacks", Json::array({one})}})});
    }
    return choice;
  }
  if (name == "properties" && value.is_object()) {
    Choice choice;
    for (const auto& [key, property] : value.items()) {
      Json json = {{"type", "object"}, {"required", Json::array({key})}};
      json["properties"] = Json::object();
      json["properties"][key] = Json::object();
      const TermId has = made(std::move(json));
      terms_.StandFor((*terms_[has].schema)["properties"][key],
                      terms_.In(own, property, "properties." + key, true));
      choice.push_back({has});
    }
    return choice;
  }
  if (name == "not") return Choice{{terms_.In(own, value, "not")}};
  if ((name == "anyOf" || name == "allOf") && value.is_array()) {
    std::vector<TermId> terms;
    for (size_t i = 0; i < value.size(); ++i) {
      terms.push_back(
          terms_.In(own, value[i], std::string(name) + "[" + std::to_string(i) + "]", true));
    }
    if (name == "anyOf") return Choice{terms};
    Choice choice;
    for (const TermId term : terms) choice.push_back({term});
    return choice;
  }
  if (name == "$ref" && value.is_string()) {
    const auto target = terms_.document().Follow(schema, value.text());
    if (target.schema == nullptr || target.elsewhere) return std::nullopt;
    return Choice{{terms_.In(terms_.root(), *target.schema, value.text(), true)}};
  }
  return NegatedBound(name, value, schema);
}

std::optional<SchemaExpansion::Choice> SchemaExpansion::NegatedBound(std::string_view name,
                                                                     const Json& value,
                                                                     const Json& schema) {
  const TermId own = now_.term;
  const auto one = [&](Json json) { return Choice{{terms_.Made(own, std::move(json))}}; };
  if (name == "pattern" && value.is_string()) {
    return one(OfType("string", "notPattern", value));
  }
  if (name == "format") {
    // Whether it makes a value wrong is a matter of the reader.
    if (value.is_string() && PatternOfFormat(value.text())) return std::nullopt;
    return Choice();
  }
  if (!value.is_number()) return std::nullopt;
  const auto exclusive = [&](const char* flag) {
    const Json* found = Found(schema, flag);
    return found != nullptr && *found == Json(true);
  };
  if (name == "minimum") {
    return one(
        OfType("number", exclusive("exclusiveMinimum") ? "maximum" : "exclusiveMaximum", value));
  }
  if (name == "maximum") {
    return one(
        OfType("number", exclusive("exclusiveMaximum") ? "minimum" : "exclusiveMinimum", value));
  }
  if (name == "exclusiveMinimum") return one(OfType("number", "maximum", value));
  if (name == "exclusiveMaximum") return one(OfType("number", "minimum", value));
  const auto count =
      name == "multipleOf" || name == "divisibleBy" ? std::nullopt : Count(name, value);
  if (!count) return std::nullopt;
  struct Pair {
    const char* least;
    const char* most;
    const char* type;
  };
  for (const Pair& pair :
       {Pair{"minLength", "maxLength", "string"}, Pair{"minItems", "maxItems", "array"},
        Pair{"minProperties", "maxProperties", "object"}}) {
    if (name == pair.most) return one(OfType(pair.type, pair.least, *count + 1));
    if (name != pair.least) continue;
    if (*count == 0) return Choice();
    return one(OfType(pair.type, pair.most, *count - 1));
  }
  return std::nullopt;
}

}  // namespace cairn
