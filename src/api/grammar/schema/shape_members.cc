// The members of objects: a part of ShapeMaker.

#include <algorithm>
#include <unordered_set>

#include "api/grammar/schema/schema_expansion.h"
#include "api/grammar/schema/shape_maker.h"

namespace cairn {
namespace {

constexpr size_t kRegionsMax = 64;
constexpr size_t kCountedMembersMax = 40;
constexpr size_t kNamesMax = 20000;
// Bytes of one object's names; a grammar has no room for more.
constexpr size_t kNameBytesMax = 100000;
// The names of an object with so many states are always told from others.
constexpr size_t kFewNameStates = 60;

}  // namespace

std::vector<ShapeMaker::Members> ShapeMaker::ReadMembers(const SchemaDraft& draft) {
  std::vector<Members> all;
  for (const SchemaDraft::Members& members : draft.members) {
    Members read{&members};
    if (members.properties != nullptr && members.properties->is_object()) {
      for (const auto& [name, schema] : members.properties->items()) {
        read.properties.emplace(name, &schema);
      }
      terms_.budget().Take(members.properties->size());
    }
    if (members.patterns != nullptr && members.patterns->is_object()) {
      for (const auto& [pattern, schema] : members.patterns->items()) {
        const Texts texts = PatternTexts(pattern);
        if (!texts) terms_.Loosen(members.owner, "patternProperties");
        if (!texts) read.unclear = true;
        if (texts) read.patterns.push_back({texts, &schema, pattern});
      }
    }
    all.push_back(std::move(read));
  }
  return all;
}

std::vector<TermId> ShapeMaker::MemberTerms(const std::vector<Members>& members,
                                            const std::string& name, bool* listed) {
  std::vector<TermId> all;
  for (const Members& one : members) {
    bool named = false;
    if (const auto found = one.properties.find(name); found != one.properties.end()) {
      all.push_back(TermOf(one, *found->second, "properties." + name));
      named = true;
    }
    for (const Pattern& pattern : one.patterns) {
      terms_.budget().Take(1 + name.size() / 8);
      if (!pattern.texts->Matches(name)) continue;
      all.push_back(TermOf(one, *pattern.schema, "patternProperties." + pattern.text));
      named = true;
    }
    if (!named && one.draft->others != nullptr && !one.unclear) {
      all.push_back(TermOf(one, *one.draft->others, "additionalProperties"));
      named = true;
    }
    *listed = *listed || named || one.unclear;
  }
  return all;
}

ShapeMaker::Texts ShapeMaker::NamesOf(const SchemaDraft& draft) {
  if (draft.names.empty()) return nullptr;
  std::optional<Dfa> all = Dfa::Nothing();
  for (const SchemaDraft& way : SchemaExpansion(&terms_).Ways(draft.names)) {
    if ((way.types & kStringType) == 0) continue;
    SchemaDraft strings = way;
    strings.types = kStringType;
    const SchemaShape shape = Make(strings);
    if ((shape.types & kStringType) == 0) continue;
    std::optional<Dfa> texts = shape.texts ? *shape.texts : Dfa::Everything();
    if (shape.listed) texts = Dfa::OfWords(shape.words);
    if (!texts) {
      all.reset();
      break;
    }
    const bool long_ones =
        shape.length_min > kJoinedLengthMax || shape.length_max.value_or(0) > kJoinedLengthMax;
    if (!shape.listed && !shape.texts && long_ones) {
      terms_.Loosen(way.length_owner, "maxLength");
    } else if (!shape.listed && !shape.texts) {
      texts = Dfa::OfLengths(shape.length_min, shape.length_max);
    }
    if (all) all = all->With(*texts, Dfa::Op::kOr, &terms_.budget());
  }
  if (!all) {
    terms_.Loosen(draft.names[0], "");
    return nullptr;
  }
  if (all->IsEverything()) return nullptr;
  return std::make_shared<const Dfa>(*std::move(all));
}

void ShapeMaker::MakeMembers(const SchemaDraft& draft, SchemaShape* shape) {
  const std::vector<Members> members = ReadMembers(draft);
  const Texts names = NamesOf(draft);
  std::vector<std::string> order;
  std::unordered_set<std::string> known;
  const auto add = [&](const std::string& name) {
    if (known.insert(name).second) order.push_back(name);
  };
  for (const Members& one : members) {
    if (one.draft->properties == nullptr || !one.draft->properties->is_object()) continue;
    for (const auto& [name, schema] : one.draft->properties->items()) add(name);
  }
  std::unordered_set<std::string_view> required;
  for (const auto& [name, owner] : draft.required) required.insert(name);
  for (const auto& [name, owner] : draft.required) add(name);
  const std::unordered_set<std::string_view> lacking(draft.lacking.begin(), draft.lacking.end());
  for (const std::string& name : draft.lacking) add(name);
  const auto impossible = [&] { shape->types &= static_cast<TypeSet>(~kObjectType); };
  if (draft.members_max && *draft.members_max < draft.members_min) return impossible();
  size_t bytes = 0;
  for (const std::string& name : order) bytes += name.size();
  if (order.size() > kNamesMax || bytes > kNameBytesMax) {
    terms_.Loosen(members.empty() ? draft.members_owner : members[0].draft->owner, "properties");
    shape->others.push_back({nullptr, kAnyValue});
    return;
  }
  for (const std::string& name : order) {
    const bool needed = required.contains(name);
    bool listed = false;
    std::vector<TermId> all = MemberTerms(members, name, &listed);
    if (!listed && draft.unevaluated) all.push_back(*draft.unevaluated);
    const bool allowed =
        !lacking.contains(name) && !IsFalse(all) && (!names || names->Matches(name));
    if (!allowed && needed) return impossible();
    if (allowed) shape->properties.push_back({name, node_of_(all), needed});
  }
  shape->members_min = draft.members_min;
  shape->members_max = draft.members_max;
  MakeOthers(draft, members, order, names, shape);
  // A count that the names themselves keep is no count.
  const size_t needed = required.size();
  if (shape->members_min <= needed) shape->members_min = 0;
  if (shape->others.empty() && shape->members_max &&
      *shape->members_max >= shape->properties.size()) {
    shape->members_max.reset();
  }
  if (shape->members_max && *shape->members_max < needed) return impossible();
  if (shape->others.empty() && shape->properties.size() < shape->members_min) return impossible();
  const size_t count = std::max(shape->members_min, shape->members_max.value_or(0));
  const bool costly = count > kCountedMembersMax || count * shape->properties.size() > 4000;
  if (count == 0 || !costly) return;
  if (shape->members_max) terms_.Loosen(draft.members_owner, "maxProperties");
  if (shape->members_min > 0) terms_.Loosen(draft.members_owner, "minProperties");
  shape->members_min = 0;
  shape->members_max.reset();
}

// Splits names by whether they fit the patterns of one schema, and adds what it says of them.
// Returns false if that takes too much.
bool ShapeMaker::SplitRegion(const Members& one, const Region& region, std::vector<Region>* split) {
  WorkBudget* const budget = &terms_.budget();
  // The names that no pattern of this schema has taken yet, and those that some have.
  std::vector<std::pair<Region, bool>> parts = {{region, false}};
  for (const Pattern& pattern : one.patterns) {
    std::vector<std::pair<Region, bool>> next;
    for (auto& [part, taken] : parts) {
      auto in = part.names.With(*pattern.texts, Dfa::Op::kAnd, budget);
      auto out = part.names.With(*pattern.texts, Dfa::Op::kMinus, budget);
      if (!in || !out || next.size() > kRegionsMax) return false;
      if (!out->empty()) next.emplace_back(Region{*out, part.terms, part.listed}, taken);
      if (in->empty()) continue;
      Region held{*std::move(in), part.terms, true};
      held.terms.push_back(TermOf(one, *pattern.schema, "patternProperties." + pattern.text));
      next.emplace_back(std::move(held), true);
    }
    parts = std::move(next);
  }
  for (auto& [part, taken] : parts) {
    if (!taken && one.draft->others != nullptr && !one.unclear) {
      part.terms.push_back(TermOf(one, *one.draft->others, "additionalProperties"));
      part.listed = true;
    }
    part.listed = part.listed || one.unclear;
    split->push_back(std::move(part));
  }
  return split->size() <= kRegionsMax;
}

void ShapeMaker::MakeOthers(const SchemaDraft& draft, const std::vector<Members>& members,
                            const std::vector<std::string>& named, const Texts& names,
                            SchemaShape* shape) {
  if (members.empty() && named.empty() && !names && !draft.unevaluated) {
    shape->others.push_back({nullptr, kAnyValue});
    return;
  }
  const auto loosen = [&](const char* keyword) {
    terms_.Loosen(OwnerOf(draft, members), keyword);
    shape->others.push_back({nullptr, kAnyValue});
  };
  bool many = false;
  Dfa start = names ? *names : Dfa::Everything();
  if (!named.empty()) {
    const auto words = Dfa::OfWords(named);
    auto rest = words ? start.With(*words, Dfa::Op::kMinus, &terms_.budget()) : std::nullopt;
    if (!rest) return loosen("additionalProperties");
    const size_t states = rest->states().size();
    many = states > kFewNameStates && !terms_.TakeNameStates(states, false);
    if (many && !terms_.TakeNameStates(states, true)) return loosen("additionalProperties");
    if (many) terms_.Loosen(OwnerOf(draft, members), "additionalProperties");
    start = *std::move(rest);
  }
  std::vector<Region> regions = {{std::move(start), {}, false}};
  for (const Members& one : members) {
    std::vector<Region> split;
    for (const Region& region : regions) {
      if (!SplitRegion(one, region, &split)) return loosen("patternProperties");
    }
    regions = std::move(split);
  }
  for (Region& region : regions) {
    if (!region.listed && draft.unevaluated) region.terms.push_back(*draft.unevaluated);
    if (IsFalse(region.terms) || region.names.empty()) continue;
    auto texts = std::make_shared<const Dfa>(std::move(region.names));
    const bool all = texts->IsEverything();
    shape->others.push_back({all ? nullptr : std::move(texts), node_of_(region.terms), many});
  }
}

}  // namespace cairn
