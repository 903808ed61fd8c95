#include "api/grammar/schema/shape_maker.h"

#include <algorithm>
#include <unordered_set>

#include "api/grammar/pattern/regex.h"
#include "api/grammar/schema/schema_expansion.h"

namespace cairn {
namespace {

// Lengths that are counted at all.
constexpr size_t kPlacesMax = 5000;
constexpr size_t kPatternsMax = 200;

// Equal values have equal keys: 1 and 1.0 are the same number.
std::string ValueKey(const Json& value) {
  if (!value.is_number()) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  const Decimal number(value);
  return (number.negative() ? "-" : "+") + number.Whole() + "." + number.Fraction();
}

}  // namespace

std::optional<std::string> PatternOfFormat(std::string_view format) {
  const std::string leap = R"((\d\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00))";
  const std::string date = R"((\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|)"
                           R"((0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))|)" +
                           leap + "-02-29)";
  const std::string time =
      R"((([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60))(\.\d+)?([zZ]|[+-]([01]\d|2[0-3]):[0-5]\d))";
  if (format == "date") return "^" + date + "$";
  if (format == "time") return "^" + time + "$";
  if (format == "date-time") return "^" + date + "[tT]" + time + "$";
  if (format == "uuid") return "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";
  return std::nullopt;
}

SchemaShape ShapeMaker::Make(const SchemaDraft& draft) {
  SchemaShape shape;
  shape.types = draft.types;
  if (!draft.values.empty()) {
    // Lists and objects among them are schemas of their own.
    shape.types &= static_cast<TypeSet>(~(kArrayType | kObjectType));
  }
  for (const SchemaDraft::Values& values : draft.not_values) {
    for (size_t i = 0; i < values.size(); ++i) {
      const Json& one = values.at(i);
      if (one.is_null()) shape.types &= static_cast<TypeSet>(~kNullType);
      if (one.is_boolean()) {
        shape.types &= static_cast<TypeSet>(~(one.get<bool>() ? kTrueType : kFalseType));
      }
    }
  }
  if ((shape.types & kStringType) != 0) MakeStrings(draft, &shape);
  if ((shape.types & kNumberType) != 0) MakeNumbers(draft, &shape);
  if (!draft.values.empty()) ListValues(draft, &shape);
  if ((shape.types & kArrayType) != 0) MakeItems(draft, &shape);
  if ((shape.types & kObjectType) != 0) MakeMembers(draft, &shape);
  return shape;
}

ShapeMaker::Texts ShapeMaker::PatternTexts(const std::string& pattern) {
  const auto [known, is_new] = known_.try_emplace("p" + pattern);
  if (is_new && known_.size() < kPatternsMax) {
    auto made = DfaOfPattern(pattern, &terms_.budget());
    if (made) known->second = std::make_shared<const Dfa>(*std::move(made));
  }
  return known->second;
}

ShapeMaker::Texts ShapeMaker::FormatTexts(const std::string& format) {
  const auto pattern = PatternOfFormat(format);
  return pattern ? PatternTexts(*pattern) : nullptr;
}

void ShapeMaker::MakeStrings(const SchemaDraft& draft, SchemaShape* shape) {
  std::optional<Dfa> all;
  const auto join = [&](const Dfa& other, Dfa::Op op) {
    auto joined = (all ? *all : Dfa::Everything()).With(other, op, &terms_.budget());
    if (joined) all = *std::move(joined);
    return joined.has_value();
  };
  for (const SchemaDraft::Pattern& pattern : draft.patterns) {
    const bool format = pattern.keyword[0] == 'f';
    // Other formats say what a text is for.
    if (format && !PatternOfFormat(pattern.text->text())) continue;
    const Texts texts =
        format ? FormatTexts(pattern.text->text()) : PatternTexts(pattern.text->text());
    const bool held = texts && join(*texts, pattern.negated ? Dfa::Op::kMinus : Dfa::Op::kAnd);
    if (!held) terms_.Loosen(pattern.owner, pattern.keyword);
  }
  std::vector<std::string> without;
  for (const SchemaDraft::Values& values : draft.not_values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (values.at(i).is_string()) without.push_back(values.at(i).text());
    }
  }
  const auto words = Dfa::OfWords(without);
  if (!without.empty() && !(words && join(*words, Dfa::Op::kMinus))) {
    terms_.Loosen(draft.not_values_owner, "not");
  }
  if (all && all->IsEverything()) all.reset();
  if (all) shape->texts = std::make_shared<const Dfa>(*std::move(all));
  BoundLengths(draft, shape);
  if (shape->texts && shape->texts->empty()) shape->types &= static_cast<TypeSet>(~kStringType);
}

void ShapeMaker::BoundLengths(const SchemaDraft& draft, SchemaShape* shape) {
  size_t least = draft.length_min;
  std::optional<size_t> most = draft.length_max;
  if (most && *most < least) {
    shape->types &= static_cast<TypeSet>(~kStringType);
    return;
  }
  if (least == 0 && !most) return;
  if (shape->texts && !shape->texts->empty()) {
    const Dfa::Lengths own = shape->texts->TextLengths();
    if (own.least >= least) least = 0;
    if (most && own.most && *own.most <= *most) most.reset();
  }
  const auto fits = [&](size_t length) {
    return shape->texts ? length <= kJoinedLengthMax : terms_.TakeCount(length);
  };
  if (most && !fits(*most)) {
    terms_.Loosen(draft.length_owner, "maxLength");
    most.reset();
  }
  if (!most && least > 0 && !fits(least)) {
    terms_.Loosen(draft.length_owner, "minLength");
    least = 0;
  }
  if (!shape->texts) {
    shape->length_min = least;
    shape->length_max = most;
    return;
  }
  if (least == 0 && !most) return;
  auto bounded = shape->texts->With(Dfa::OfLengths(least, most), Dfa::Op::kAnd, &terms_.budget());
  if (bounded) {
    shape->texts = std::make_shared<const Dfa>(*std::move(bounded));
  } else {
    terms_.Loosen(draft.length_owner, most ? "maxLength" : "minLength");
  }
}

void ShapeMaker::MakeNumbers(const SchemaDraft& draft, SchemaShape* shape) {
  shape->range = draft.range;
  if (draft.multiple_owner && !MultiplesFit(draft.range)) {
    terms_.Loosen(*draft.multiple_owner, "multipleOf");
    shape->range.multiple_of.reset();
  }
  if (!AnyNumber(draft.range, &terms_.budget())) {
    shape->types &= static_cast<TypeSet>(~kNumberType);
  }
  for (const SchemaDraft::Values& values : draft.not_values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values.at(i).is_number() || !draft.range.Holds(values.at(i))) continue;
      // Numbers around one are not written yet.
      terms_.Loosen(draft.not_values_owner, "not");
      return;
    }
  }
}

void ShapeMaker::ListValues(const SchemaDraft& draft, SchemaShape* shape) {
  std::unordered_map<std::string, size_t> counts;
  std::unordered_set<std::string> excluded;
  for (const SchemaDraft::Values& values : draft.values) {
    std::unordered_set<std::string> once;
    for (size_t i = 0; i < values.size(); ++i) {
      std::string key = ValueKey(values.at(i));
      if (once.insert(key).second) ++counts[key];
    }
  }
  for (const SchemaDraft::Values& values : draft.not_values) {
    for (size_t i = 0; i < values.size(); ++i) excluded.insert(ValueKey(values.at(i)));
  }
  const TypeSet allowed = shape->types;
  shape->types = 0;
  shape->listed = true;
  std::unordered_set<std::string> written;
  for (size_t i = 0; i < draft.values[0].size(); ++i) {
    const Json& one = draft.values[0].at(i);
    const std::string key = ValueKey(one);
    if (counts[key] < draft.values.size() || excluded.contains(key)) continue;
    if (!written.insert(key).second) continue;
    const TypeSet type = one.is_null()      ? kNullType
                         : one.is_boolean() ? (one.get<bool>() ? kTrueType : kFalseType)
                         : one.is_number()  ? kNumberType
                                            : kStringType;
    if ((allowed & type) == 0) continue;
    if (type == kNumberType && !shape->range.Holds(one)) continue;
    if (type == kStringType) {
      const bool counted = !shape->texts && (shape->length_min > 0 || shape->length_max);
      const size_t length = counted ? CodePointsOf(one.text()).size() : 0;
      const bool fits = shape->texts ? shape->texts->Matches(one.text())
                                     : length >= shape->length_min &&
                                           (!shape->length_max || length <= *shape->length_max);
      if (!fits) continue;
      shape->words.push_back(one.text());
    }
    if (type == kNumberType) shape->numbers.push_back(one);
    shape->types |= type;
  }
}

bool ShapeMaker::IsFalse(const std::vector<TermId>& all) const {
  return std::any_of(all.begin(), all.end(), [&](TermId id) {
    const Term& term = terms_[id];
    return term.schema->is_boolean() && term.schema->get<bool>() == term.negated;
  });
}

std::vector<TermId> ShapeMaker::ItemTerms(const SchemaDraft& draft, size_t place) {
  std::vector<TermId> all;
  for (const SchemaDraft::Items& items : draft.items) {
    if (items.first != nullptr && place < items.first->size()) {
      all.push_back(terms_.In(items.owner, (*items.first)[place],
                              items.first_name + "[" + std::to_string(place) + "]"));
    } else if (items.rest != nullptr) {
      all.push_back(terms_.In(items.owner, *items.rest, items.rest_name));
    }
  }
  return all;
}

void ShapeMaker::MakeItems(const SchemaDraft& draft, SchemaShape* shape) {
  shape->items_min = draft.items_min;
  shape->items_max = draft.items_max;
  size_t first = 0;
  for (const SchemaDraft::Items& items : draft.items) {
    if (items.first != nullptr) first = std::max(first, items.first->size());
  }
  if (shape->items_max) first = std::min(first, *shape->items_max);
  if (first > kPlacesMax) {
    terms_.Loosen(draft.items[0].owner, draft.items[0].first_name);
    return;
  }
  for (size_t i = 0; i < first; ++i) {
    const std::vector<TermId> all = ItemTerms(draft, i);
    if (IsFalse(all)) {
      shape->items_max = std::min(shape->items_max.value_or(i), i);
      break;
    }
    shape->first_items.push_back(node_of_(all));
  }
  const std::vector<TermId> rest = ItemTerms(draft, ~size_t{0});
  const bool more = !shape->items_max || *shape->items_max > shape->first_items.size();
  if (more && IsFalse(rest)) shape->items_max = shape->first_items.size();
  if (more && !IsFalse(rest)) shape->item = node_of_(rest);
  const TermId owner = draft.items.empty() ? draft.length_owner : draft.items[0].owner;
  if (shape->items_max && !terms_.TakeCount(*shape->items_max)) {
    terms_.Loosen(owner, "maxItems");
    shape->items_max.reset();
  }
  if (!shape->items_max && shape->items_min > 0 && !terms_.TakeCount(shape->items_min)) {
    terms_.Loosen(owner, "minItems");
    shape->items_min = 0;
  }
  const bool several = !shape->items_max || *shape->items_max > 1;
  if (draft.unique_owner && several) terms_.Loosen(*draft.unique_owner, "uniqueItems");
}

}  // namespace cairn
