#include "api/grammar/schema/schema_expansion.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace cairn {
namespace {

// Lists of schemas with more than these are compared by what tells them apart, not one by one.
constexpr size_t kComparedMax = 24;
// So many schemas of a oneOf may be negated.
constexpr size_t kNegatedMax = 5;
constexpr size_t kExpansionDepthMax = 3;
// So many choices are made one after another.
constexpr size_t kChoicesMax = 400;

const Json& Absent() {
  static const auto* const absent = new Json();
  return *absent;
}

const Json& At(const Json& schema, std::string_view name) {
  const auto found = schema.find(name);
  return found == schema.end() ? Absent() : *found;
}

std::string At(std::string_view keyword, size_t i) {
  return std::string(keyword) + "[" + std::to_string(i) + "]";
}

}  // namespace

std::vector<SchemaDraft> SchemaExpansion::Ways(const std::vector<TermId>& all) {
  Open open;
  for (const TermId term : all) open.pending.push_back({term, -1});
  std::reverse(open.pending.begin(), open.pending.end());
  only_one_ = all.size() == 1;
  only_ = all.empty() ? 0 : all[0];
  ways_left_ = kWaysMax;
  overflow_ = false;
  chains_.clear();
  std::vector<SchemaDraft> ways;
  Settle(open, 0, &ways);
  if (!overflow_) return ways;
  // Without the choices.
  ways.clear();
  ReadPending(&open);
  for (const auto& [choice, from] : open.choices) terms_.Loosen(from.term, "anyOf");
  if (!open.dead) ways.push_back(std::move(open.draft));
  return ways;
}

void SchemaExpansion::Settle(Open open, size_t depth, std::vector<SchemaDraft>* ways) {
  if (depth > kChoicesMax) overflow_ = true;
  if (overflow_ || terms_.error()) return;
  ReadPending(&open);
  if (open.dead) return;
  if (open.choices.empty()) {
    if (ways_left_ == 0 || !terms_.budget().Take(1 + open.draft.members.size())) {
      overflow_ = true;
      return;
    }
    --ways_left_;
    if (open.joins && open.draft.unevaluated) {
      terms_.Loosen(open.draft.unevaluated_owner, "unevaluatedProperties");
      open.draft.unevaluated.reset();
    }
    ways->push_back(std::move(open.draft));
    return;
  }
  // The shortest choice first: dead ways end early.
  const auto least = std::min_element(
      open.choices.begin(), open.choices.end(),
      [](const auto& a, const auto& b) { return a.first.size() < b.first.size(); });
  const auto [choice, from] = std::move(*least);
  open.choices.erase(least);
  for (const std::vector<TermId>& terms : choice) {
    const size_t size =
        10 + open.seen.size() + open.draft.required.size() + 4 * open.choices.size();
    if (!terms_.budget().Take(size)) overflow_ = true;
    if (overflow_) return;
    Open next = open;
    for (size_t i = terms.size(); i-- > 0;) next.pending.push_back({terms[i], from.chain});
    Settle(std::move(next), depth + 1, ways);
  }
}

void SchemaExpansion::ReadPending(Open* open) {
  while (!open->pending.empty() && !open->dead && !terms_.error()) {
    const Pending next = open->pending.back();
    open->pending.pop_back();
    // A search among so many takes time too.
    if (!terms_.budget().Take(open->seen.size() / 64)) {
      terms_.Loosen(next.term, "");
      continue;
    }
    if (std::find(open->seen.begin(), open->seen.end(), next.term) != open->seen.end()) continue;
    open->seen.push_back(next.term);
    Read(next, open);
    if (open->draft.types == 0) open->dead = true;
  }
}

void SchemaExpansion::Read(const Pending& pending, Open* open) {
  const Term term = terms_[pending.term];
  const Json& schema = *term.schema;
  if (!terms_.budget().Take(1 + schema.size())) {
    terms_.Loosen(pending.term, "");
    return;
  }
  if (schema.is_boolean()) {
    if (schema.get<bool>() == term.negated) open->dead = true;
    return;
  }
  if (!schema.is_object()) {
    terms_.Fail(pending.term, "", "a schema: an object, or true");
    return;
  }
  open_ = open;
  now_ = pending;
  // The added schemas are read in their order.
  const size_t before = open->pending.size();
  term.negated ? ReadNegated(schema) : ReadPositive(schema);
  std::reverse(open->pending.begin() + static_cast<ptrdiff_t>(before), open->pending.end());
}

SchemaExpansion::Handler SchemaExpansion::HandlerOf(std::string_view name) {
  using Self = SchemaExpansion*;
  using Name = std::string_view;
  static const auto* const handlers = new std::map<std::string_view, Handler>{
      {"$ref", [](Self self, Name, const Json& value) { self->Ref(value); }},
      {"$dynamicRef", [](Self self, Name, const Json& value) { self->DynamicRef(value); }},
      {"$recursiveRef", [](Self self, Name, const Json& value) { self->DynamicRef(value); }},
      {"type", [](Self self, Name, const Json& value) { self->Type(value); }},
      {"enum", [](Self self, Name, const Json& value) { self->Enum(value); }},
      {"const", [](Self self, Name, const Json& value) { self->Const(value); }},
      {"allOf", [](Self self, Name, const Json& value) { self->AllOf(value); }},
      {"extends",
       [](Self self, Name keyword, const Json& value) {
         if (value.is_structured()) return self->AllOf(value);
         self->terms_.Loosen(self->now_.term, keyword);
       }},
      {"anyOf", [](Self self, Name, const Json& value) { self->AnyOf(value); }},
      {"oneOf", [](Self self, Name, const Json& value) { self->OneOf(value); }},
      {"not", [](Self self, Name, const Json& value) { self->NotOf(value); }},
      {"if", [](Self self, Name, const Json& value) { self->If(value); }},
      {"dependencies", [](Self self, Name, const Json& v) { self->DependentSchemas(v); }},
      {"dependentSchemas", [](Self self, Name, const Json& v) { self->DependentSchemas(v); }},
      {"dependentRequired", [](Self self, Name, const Json& v) { self->DependentRequired(v); }},
      {"required", [](Self self, Name, const Json& value) { self->Required(value); }},
  };
  static const auto* const groups = [] {
    auto* all = new std::map<std::string_view, Handler>();
    for (const char* key : {"minLength", "maxLength", "pattern", "format", "notPattern"}) {
      (*all)[key] = [](Self self, Name n, const Json& value) { self->Strings(n, value); };
    }
    for (const char* key : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
                            "multipleOf", "divisibleBy"}) {
      (*all)[key] = [](Self self, Name n, const Json& value) { self->Numbers(n, value); };
    }
    for (const char* key : {"items", "prefixItems", "minItems", "maxItems", "uniqueItems",
                            "contains", "unevaluatedItems"}) {
      (*all)[key] = [](Self self, Name n, const Json& value) { self->Lists(n, value); };
    }
    for (const char* key : {"properties", "patternProperties", "additionalProperties", "lacks",
                            "propertyNames", "minProperties", "maxProperties", "notValues",
                            "unevaluatedProperties", "disallow", "additionalItems"}) {
      (*all)[key] = [](Self self, Name n, const Json& value) { self->Objects(n, value); };
    }
    return all;
  }();
  if (const auto found = handlers->find(name); found != handlers->end()) return found->second;
  const auto found = groups->find(name);
  return found == groups->end() ? nullptr : found->second;
}

void SchemaExpansion::ReadPositive(const Json& schema) {
  const bool made = terms_[now_.term].made;
  if (!made && terms_.document().ref_stands_alone() && At(schema, "$ref").is_string()) {
    return Ref(schema["$ref"]);
  }
  for (const auto& [name, value] : schema.items()) {
    if (open_->dead || terms_.error()) return;
    // Some clients write null for what is not there.
    if (value.is_null() && name != "const") continue;
    const bool own = name == "lacks" || name == "notPattern" || name == "notValues";
    if (own && !made) continue;
    if (const Handler handler = HandlerOf(name); handler != nullptr) handler(this, name, value);
  }
}

// --- Keywords of any value
// ------------------------------------------------------------------------

void SchemaExpansion::Reference(std::string_view keyword, const SchemaDocument::Target& target,
                                const Json& value) {
  if (target.elsewhere) {
    open_->joins = true;  // it may speak of any member
    return terms_.Loosen(now_.term, keyword);
  }
  if (target.schema == nullptr) {
    return terms_.Fail(
        now_.term, keyword,
        "a reference to something in this schema; there is no '" + value.text() + "'");
  }
  const size_t length = now_.chain < 0 ? 0 : chains_[static_cast<size_t>(now_.chain)].length + 1;
  if (!terms_.budget().Take(length / 8)) return terms_.Loosen(now_.term, keyword);
  const TermId term = terms_.In(terms_.root(), *target.schema, value.text());
  // A schema that refers to itself, without anything between, is fitted by nothing.
  for (int at = now_.chain; at >= 0; at = chains_[static_cast<size_t>(at)].before) {
    if (chains_[static_cast<size_t>(at)].target == term) {
      open_->dead = true;
      return;
    }
  }
  chains_.push_back({term, now_.chain, length});
  open_->pending.push_back({term, static_cast<int>(chains_.size()) - 1});
}

void SchemaExpansion::Ref(const Json& value) {
  if (!value.is_string()) return terms_.Fail(now_.term, "$ref", "a reference, as a string");
  if (value.text().empty())
    return terms_.Fail(now_.term, "$ref", "a reference such as '#/$defs/a'");
  Reference("$ref", terms_.document().Follow(*terms_[now_.term].schema, value.text()), value);
}

void SchemaExpansion::DynamicRef(const Json& value) {
  if (!value.is_string()) return terms_.Fail(now_.term, "$dynamicRef", "a reference, as a string");
  open_->joins = true;
  Reference("$dynamicRef", terms_.document().FollowDynamic(*terms_[now_.term].schema, value.text()),
            value);
}

void SchemaExpansion::Type(const Json& value) {
  static const auto* const known = new std::map<std::string_view, TypeSet>{
      {"null", kNullType},      {"boolean", kFalseType | kTrueType},
      {"number", kNumberType},  {"string", kStringType},
      {"array", kArrayType},    {"object", kObjectType},
      {"integer", kNumberType}, {"any", kAllTypes}};
  TypeSet types = 0;
  bool fractions = false;
  const size_t count = value.is_array() ? value.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    const Json& name = value.is_array() ? value[i] : value;
    if (name.is_object()) return terms_.Loosen(now_.term, "type");  // draft 3 has schemas here
    const auto one = known->find(name.is_string() ? std::string_view(name.text()) : "");
    if (one == known->end()) {
      return terms_.Fail(now_.term, "type",
                         "'object', 'array', 'string', 'integer', 'number', 'boolean' or 'null', "
                         "or a list of them");
    }
    types |= one->second;
    fractions = fractions || name == "number" || name == "any";
  }
  if (types == 0) return terms_.Fail(now_.term, "type", "at least one type");
  open_->draft.types &= types;
  if ((types & kNumberType) != 0 && !fractions) open_->draft.range.integer = true;
}

TermId SchemaExpansion::ValueTerm(const Json& value) {
  Json made = Json::object();
  if (value.is_array()) {
    made["type"] = "array";
    Json items = Json::array();
    for (const Json& item : value) items.push_back({{"const", item}});
    made["prefixItems"] = std::move(items);
    made["minItems"] = value.size();
    made["maxItems"] = value.size();
  } else {
    made["type"] = "object";
    Json properties = Json::object();
    Json required = Json::array();
    for (const auto& [name, item] : value.items()) {
      properties[name] = {{"const", item}};
      required.push_back(name);
    }
    made["properties"] = std::move(properties);
    made["required"] = std::move(required);
    made["additionalProperties"] = false;
  }
  return terms_.Made(now_.term, std::move(made));
}

void SchemaExpansion::Enum(const Json& value) {
  if (!value.is_array() || value.empty()) {
    return terms_.Fail(now_.term, "enum", "a list of at least one value");
  }
  const auto structured = [](const Json& one) { return one.is_structured(); };
  if (std::none_of(value.begin(), value.end(), structured)) {
    open_->draft.values.push_back({&value, false});
    return;
  }
  Choice choice;
  Json scalars = Json::array();
  for (const Json& one : value) {
    if (!terms_.budget().Take(one.size() + 1)) return terms_.Loosen(now_.term, "enum");
    if (one.is_structured()) choice.push_back({ValueTerm(one)});
    if (!one.is_structured()) scalars.push_back(one);
  }
  if (!scalars.empty()) {
    Json made = {{"enum", nullptr}};
    made["enum"] = std::move(scalars);
    choice.push_back({terms_.Made(now_.term, std::move(made))});
  }
  AddChoice(std::move(choice));
}

void SchemaExpansion::Const(const Json& value) {
  if (value.is_structured()) return Add(ValueTerm(value));
  open_->draft.values.push_back({&value, true});
}

bool SchemaExpansion::IsList(std::string_view name, const Json& value) {
  // Drafts ask for one, but who writes none under "allOf" asks for nothing.
  if (value.is_array() && (!value.empty() || name == "allOf")) return true;
  terms_.Fail(now_.term, name, "a list of at least one schema");
  return false;
}

bool SchemaExpansion::IsObject(std::string_view name, const Json& value) {
  if (value.is_object()) return true;
  terms_.Fail(now_.term, name, "an object");
  return false;
}

void SchemaExpansion::AllOf(const Json& value) {
  if (value.is_object()) return Add(terms_.In(now_.term, value, "extends"));
  if (!IsList("allOf", value)) return;
  for (size_t i = 0; i < value.size(); ++i) Add(terms_.In(now_.term, value[i], At("allOf", i)));
}

void SchemaExpansion::AnyOf(const Json& value) {
  if (!IsList("anyOf", value)) return;
  Choice choice;
  for (size_t i = 0; i < value.size(); ++i) {
    choice.push_back({terms_.In(now_.term, value[i], At("anyOf", i))});
  }
  if (choice.size() > 1) open_->joins = true;
  AddChoice(std::move(choice));
}

void SchemaExpansion::OneOf(const Json& value) {
  if (!IsList("oneOf", value)) return;
  std::vector<TermId> terms;
  for (size_t i = 0; i < value.size(); ++i) {
    terms.push_back(terms_.In(now_.term, value[i], At("oneOf", i)));
  }
  Choice choice;
  for (const TermId term : terms) choice.push_back({term});
  if (terms.size() > 1 && !AreApart(terms)) {
    // Each one, and none of the others. What cannot be negated is loosened there.
    const bool few = terms.size() <= kNegatedMax;
    if (!few) terms_.Loosen(now_.term, "oneOf");
    for (size_t i = 0; i < terms.size() && few; ++i) {
      for (size_t j = 0; j < terms.size(); ++j) {
        if (j != i) choice[i].push_back(terms_.Not(terms[j]));
      }
    }
  }
  AddChoice(std::move(choice));
}

void SchemaExpansion::NotOf(const Json& value) {
  open_->joins = true;
  Add(terms_.In(now_.term, value, "not", true));
}

void SchemaExpansion::If(const Json& value) {
  if (!terms_.document().has_conditions()) return;
  const Json& schema = *terms_[now_.term].schema;
  const Json& then = At(schema, "then");
  const Json& otherwise = At(schema, "else");
  // The members that "if" names count only where it holds.
  open_->joins = true;
  if (then.is_null() && otherwise.is_null()) return;
  Choice choice = {{terms_.In(now_.term, value, "if")}, {terms_.In(now_.term, value, "if", true)}};
  if (!then.is_null()) choice[0].push_back(terms_.In(now_.term, then, "then"));
  if (!otherwise.is_null()) choice[1].push_back(terms_.In(now_.term, otherwise, "else"));
  AddChoice(std::move(choice));
}

// The member is not there, or the terms hold.
void SchemaExpansion::Depends(const std::string& name, std::vector<TermId> then) {
  Json lacks = {{"lacks", Json::array({name})}};
  Json has = {{"type", "object"}, {"required", Json::array({name})}};
  then.insert(then.begin(), terms_.Made(now_.term, std::move(has)));
  AddChoice({{terms_.Made(now_.term, std::move(lacks))}, std::move(then)});
}

void SchemaExpansion::DependentRequired(const Json& value) {
  if (!IsObject("dependentRequired", value)) return;
  for (const auto& [name, names] : value.items()) {
    Depends(name, {terms_.Made(now_.term, {{"required", names}})});
  }
}

void SchemaExpansion::DependentSchemas(const Json& value) {
  if (!IsObject("dependentSchemas", value)) return;
  open_->joins = true;
  for (const auto& [name, then] : value.items()) {
    if (then.is_object() || then.is_boolean()) {
      Depends(name, {terms_.In(now_.term, then, "dependencies." + name)});
      continue;
    }
    Json names = then.is_array() ? then : Json::array({then});
    Depends(name, {terms_.Made(now_.term, {{"required", std::move(names)}})});
  }
}

// --- oneOf
// ----------------------------------------------------------------------------------------

bool SchemaExpansion::NothingFits(const std::vector<TermId>& all, size_t depth) {
  const std::vector<SchemaDraft> ways = Ways(all);
  const auto empty = [&](SchemaDraft& way) {
    // Values of some types, of which each is shown to be impossible.
    const auto drop = [&](TypeSet type) { way.types &= static_cast<TypeSet>(~type); };
    if (way.range.empty()) drop(kNumberType);
    if (way.length_max && *way.length_max < way.length_min) drop(kStringType);
    if (way.items_max && *way.items_max < way.items_min) drop(kArrayType);
    if (way.members_max && *way.members_max < way.members_min) drop(kObjectType);
    for (const SchemaDraft::Values& values : way.values) {
      TypeSet held = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        const Json& one = values.at(i);
        const auto in = [&](const SchemaDraft::Values& other) {
          for (size_t j = 0; j < other.size(); ++j) {
            if (other.at(j) == one) return true;
          }
          return false;
        };
        if (!terms_.budget().Take(way.values.size() * 4)) return false;
        if (!std::all_of(way.values.begin(), way.values.end(), in)) continue;
        if (std::any_of(way.not_values.begin(), way.not_values.end(), in)) continue;
        if (one.is_null()) held |= kNullType;
        if (one.is_boolean()) held |= one.get<bool>() ? kTrueType : kFalseType;
        if (one.is_number() && way.range.Holds(one)) held |= kNumberType;
        if (one.is_string()) held |= kStringType;
      }
      way.types &= held;
    }
    if (way.types == 0) return true;
    if (way.types != kObjectType) return false;
    for (const auto& [name, owner] : way.required) {
      if (std::find(way.lacking.begin(), way.lacking.end(), name) != way.lacking.end()) return true;
      if (depth == 0) continue;
      std::vector<TermId> value;
      for (const SchemaDraft::Members& members : way.members) {
        const Json& listed =
            members.properties == nullptr ? Absent() : At(*members.properties, name);
        if (!listed.is_null()) value.push_back(terms_.In(members.owner, listed, name));
        const bool closed = listed.is_null() && members.others != nullptr &&
                            *members.others == Json(false) && members.patterns == nullptr;
        if (closed) return true;
      }
      if (value.size() > 1 && SchemaExpansion(&terms_).NothingFits(value, depth - 1)) return true;
    }
    return false;
  };
  std::vector<SchemaDraft> copies = ways;
  return std::all_of(copies.begin(), copies.end(), empty);
}

// Whether no value fits two of the terms. May be false although none does.
bool SchemaExpansion::AreApart(const std::vector<TermId>& terms) {
  if (MembersAreApart(terms)) return true;
  if (terms.size() > kComparedMax) return false;
  terms_.set_quiet(true);
  bool apart = true;
  for (size_t i = 0; i < terms.size() && apart; ++i) {
    for (size_t j = 0; j < i && apart; ++j) {
      apart = SchemaExpansion(&terms_).NothingFits({terms[i], terms[j]}, kExpansionDepthMax);
    }
  }
  terms_.set_quiet(false);
  return apart;
}

// Whether all are objects with a required member whose constant tells them apart.
bool SchemaExpansion::MembersAreApart(const std::vector<TermId>& terms) {
  std::map<std::string, std::set<std::string>> seen;
  std::map<std::string, size_t> counts;
  for (const TermId term : terms) {
    const Json* schema = terms_[term].schema;
    for (size_t i = 0; i < 8 && schema->is_object() && At(*schema, "$ref").is_string(); ++i) {
      const Json* target = terms_.document().Follow(*schema, At(*schema, "$ref").text()).schema;
      if (target == nullptr) return false;
      schema = target;
    }
    if (!schema->is_object() || At(*schema, "type") != Json("object")) return false;
    const Json& properties = At(*schema, "properties");
    const Json& required = At(*schema, "required");
    if (!properties.is_object() || !required.is_array()) return false;
    for (const Json& name : required) {
      if (!name.is_string() || !terms_.budget().Take(1 + properties.size() / 4)) return false;
      const Json& property = At(properties, name.text());
      if (!property.is_object()) continue;
      Json values = At(property, "enum");
      if (property.contains("const")) values = Json::array({property["const"]});
      if (!values.is_array() || values.size() > 50) continue;
      bool fresh = true;
      for (const Json& value : values) {
        fresh = !value.is_number() && seen[name.text()].insert(value.dump()).second && fresh;
      }
      if (fresh) ++counts[name.text()];
    }
  }
  return std::any_of(counts.begin(), counts.end(),
                     [&](const auto& count) { return count.second == terms.size(); });
}

}  // namespace cairn
