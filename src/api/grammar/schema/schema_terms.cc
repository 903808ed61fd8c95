#include "api/grammar/schema/schema_terms.h"

#include <algorithm>

namespace cairn {
namespace {

constexpr size_t kPlaceBytesMax = 300;

}  // namespace

SchemaTerms::SchemaTerms(const Json& root, std::string field)
    : field_(std::move(field)), document_(root), budget_(kSchemaStepsMax) {
  terms_.push_back({&root, false, false, 0, ""});
  known_[{&root, false}] = 0;
}

TermId SchemaTerms::In(TermId parent, const Json& schema, std::string segment, bool negated) {
  if (const auto stand_in = stand_ins_.find(&schema); stand_in != stand_ins_.end()) {
    return negated ? Not(stand_in->second) : stand_in->second;
  }
  const auto [known, is_new] =
      known_.emplace(std::make_pair(&schema, negated), static_cast<TermId>(terms_.size()));
  if (is_new) terms_.push_back({&schema, negated, false, parent, std::move(segment)});
  return known->second;
}

TermId SchemaTerms::Not(TermId id) {
  const Term term = terms_[id];
  const auto [known, is_new] = known_.emplace(std::make_pair(term.schema, !term.negated),
                                              static_cast<TermId>(terms_.size()));
  if (is_new) terms_.push_back({term.schema, !term.negated, term.made, term.parent, term.segment});
  return known->second;
}

TermId SchemaTerms::Made(TermId parent, Json schema) {
  made_.push_back(std::move(schema));
  const auto id = static_cast<TermId>(terms_.size());
  terms_.push_back({&made_.back(), false, true, parent, ""});
  known_[{&made_.back(), false}] = id;
  return id;
}

std::string SchemaTerms::PlaceOf(TermId id) const {
  std::vector<const std::string*> segments;
  size_t bytes = field_.size();
  while (id != 0) {
    if (!terms_[id].segment.empty()) segments.push_back(&terms_[id].segment);
    bytes += terms_[id].segment.size() + 1;
    id = terms_[id].parent;
  }
  std::string place = field_;
  for (size_t i = segments.size(); i-- > 0;) {
    // The middle of a long one says least.
    if (bytes > kPlaceBytesMax && i > 0) {
      bytes -= segments[i]->size() + 1;
      if (!place.ends_with("…")) place += ".…";
      continue;
    }
    place += "." + *segments[i];
  }
  return place;
}

void SchemaTerms::Loosen(TermId id, std::string_view keyword) {
  if (quiet_ || loosened_.size() >= kLoosenedMax) return;
  loosened_.insert(PlaceOf(id) + (keyword.empty() ? "" : ".") + std::string(keyword));
}

bool SchemaTerms::TakeCount(size_t count) {
  if (count > counts_left_) return false;
  counts_left_ -= count;
  return true;
}

bool SchemaTerms::TakeNameStates(size_t count, bool many) {
  size_t* const left = many ? &many_name_states_left_ : &name_states_left_;
  if (count > *left) return false;
  *left -= count;
  return true;
}

void SchemaTerms::Fail(TermId id, std::string_view keyword, const std::string& expected) {
  if (error_) return;
  const std::string place = PlaceOf(id);
  error_ = FieldError(keyword.empty() ? place : place + "." + std::string(keyword), expected);
}

}  // namespace cairn
