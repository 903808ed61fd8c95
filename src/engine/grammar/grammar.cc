#include "engine/grammar/grammar.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/grammar/grammar_states.h"
#include "engine/grammar/token_trie.h"

namespace cairn {
namespace {

// Surrogate halves are no characters.
bool IsCharacter(uint32_t code) {
  return code <= GrammarStates::kLastCharacter && (code < 0xD800 || code > 0xDFFF);
}

}  // namespace

bool Grammar::CharClass::Holds(uint32_t character) const {
  return HoldsAnyOf(character, character);
}

// The ranges are sorted, and there is a gap between any two.
bool Grammar::CharClass::HoldsAnyOf(uint32_t low, uint32_t high) const {
  const auto range =
      std::lower_bound(ranges.begin(), ranges.end(), low,
                       [](const Range& one, uint32_t character) { return one.high < character; });
  const bool reaches = range != ranges.end() && range->low <= high;
  if (!negated) return reaches;
  return !reaches || low < range->low || range->high < high;
}

size_t Grammar::bytes() const {
  size_t bytes = elements_.size() * sizeof(Element);
  for (const CharClass& one : classes_) bytes += sizeof one + one.ranges.size() * sizeof(Range);
  for (const Rule& rule : rules_)
    bytes += sizeof rule + rule.alternatives.size() * sizeof(uint32_t);
  return bytes;
}

GrammarMatcher::GrammarMatcher(std::shared_ptr<const Grammar> grammar)
    : GrammarMatcher(std::make_shared<GrammarStates>(std::move(grammar))) {}

GrammarMatcher::GrammarMatcher(std::shared_ptr<GrammarStates> states) : states_(std::move(states)) {
  place_.ways = states_->Root(&steps_);
}

GrammarMatcher::Place GrammarMatcher::Step(Place place, uint8_t byte) {
  if (place.missing > 0) {
    if (byte >> 6 != 2) return {};
    place.bits = place.bits << 6 | (byte & 0x3FU);
    if (--place.missing > 0) return place;
    if (place.bits < place.low || !IsCharacter(place.bits)) return {};
    return {.ways = states_->Next(place.ways, place.bits, &steps_)};
  }
  if (byte < 0x80) return {.ways = states_->Next(place.ways, byte, &steps_)};
  if (byte >> 5 == 6) return {place.ways, byte & 0x1FU, 0x80, 1};
  if (byte >> 4 == 14) return {place.ways, byte & 0x0FU, 0x800, 2};
  if (byte >> 3 == 30) return {place.ways, byte & 0x07U, 0x10000, 3};
  return {};
}

GrammarMatcher::Place GrammarMatcher::Walk(Place place, std::string_view bytes) {
  for (const char c : bytes) {
    if (place.ways == GrammarStates::kNone) return place;
    place = Step(place, static_cast<uint8_t>(c));
  }
  return place;
}

bool GrammarMatcher::MayBegin(const Place& place) const {
  const uint32_t shift = 6U * place.missing;
  const uint32_t low = std::max(place.bits << shift, place.low);
  const uint32_t high =
      std::min((place.bits << shift) | ((1U << shift) - 1), GrammarStates::kLastCharacter);
  if (low > high || (!IsCharacter(low) && !IsCharacter(high))) return false;
  return states_->HoldsAnyOf(place.ways, low, high);
}

bool GrammarMatcher::Allows(std::string_view bytes) {
  if (bytes.empty()) return false;
  MakeRoom();
  if (steps_ > GrammarStates::kStepsMax) return false;
  const Place place = Walk(place_, bytes);
  if (place.ways == GrammarStates::kNone) return false;
  return place.missing == 0 || MayBegin(place);
}

bool GrammarMatcher::Allowed(const TokenTrie& trie, std::vector<bool>* allowed) {
  return FindAllowed<false>(trie, allowed);
}

bool GrammarMatcher::AllowedPlainly(const TokenTrie& trie, std::vector<bool>* allowed) {
  return FindAllowed<true>(trie, allowed);
}

template <bool kPlainly>
bool GrammarMatcher::FindAllowed(const TokenTrie& trie, std::vector<bool>* allowed) {
  MakeRoom();
  bool found = false;
  const std::vector<TokenTrie::Node>& nodes = trie.nodes();
  std::vector<Place> path(trie.depth_max() + 1);
  path[0] = place_;
  for (size_t at = 0; at < nodes.size() && steps_ <= GrammarStates::kStepsMax;) {
    const TokenTrie::Node& node = nodes[at];
    Place before = path[node.depth - 1];
    if (kPlainly && before.missing == 0) before.ways = states_->WithoutOdd(before.ways);
    const Place place = Step(before, node.byte);
    if (place.ways == GrammarStates::kNone || (place.missing > 0 && !MayBegin(place))) {
      at = node.end;
      continue;
    }
    path[node.depth] = place;
    for (const int32_t token : trie.TokensOf(at)) {
      (*allowed)[static_cast<size_t>(token)] = true;
      found = true;
    }
    ++at;
  }
  return found;
}

void GrammarMatcher::Accept(std::string_view bytes) {
  place_ = Walk(place_, bytes);
  CHECK(place_.ways != GrammarStates::kNone);
  steps_ = 0;
}

bool GrammarMatcher::AcceptAfterCut(std::string_view bytes) {
  if (Allows(bytes)) {
    Accept(bytes);
    return true;
  }
  const Place place = Walk({.ways = place_.ways}, bytes);
  if (place.ways == GrammarStates::kNone || (place.missing > 0 && !MayBegin(place))) return false;
  place_ = place;
  steps_ = 0;
  return true;
}

bool GrammarMatcher::MayEnd() const {
  return place_.missing == 0 && states_->MayEnd(place_.ways);
}

// Drops all states except that of the present position. Whoever shares the old ones keeps them.
void GrammarMatcher::MakeRoom() {
  if (!states_->is_full()) return;
  auto fresh = std::make_shared<GrammarStates>(states_->grammar());
  place_.ways = fresh->CopyOf(*states_, place_.ways);
  states_ = std::move(fresh);
}

}  // namespace cairn
