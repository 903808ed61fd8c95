#include "engine/grammar/grammar.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

// Limits of one matcher; beyond them it drops everything except the present position. The number of
// stacks may stay above its limit.
constexpr size_t kStacksMax = 100000;
constexpr size_t kNextMax = 500000;
constexpr size_t kHeldMax = 2000000;
// The most stacks that may be open at once while one character is matched.
constexpr size_t kOpenMax = 20000;

constexpr uint32_t kLastCharacter = 0x10FFFF;

// Surrogate halves are no characters.
bool IsCharacter(uint32_t code) {
  return code <= kLastCharacter && (code < 0xD800 || code > 0xDFFF);
}

uint64_t Pair(uint32_t high, uint32_t low) {
  return uint64_t{high} << 32 | low;
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
    : grammar_(std::move(grammar)), stacks_limit_(kStacksMax) {
  stacks_.push_back({});  // kBottom
  Intern({});             // kNone
  place_.ways = CloseRule(grammar_->root_);
}

GrammarMatcher::StackId GrammarMatcher::Push(uint32_t element, StackId below) {
  // A rule's last element needs no return address, so the stack of a loop does not grow.
  if (grammar_->elements_[element].kind == Grammar::Element::Kind::kEnd) return below;
  const auto [found, is_new] =
      stack_ids_.emplace(Pair(element, below), static_cast<StackId>(stacks_.size()));
  if (is_new) stacks_.push_back({element, below});
  return found->second;
}

GrammarMatcher::WaysId GrammarMatcher::Intern(std::vector<StackId> ways) {
  std::sort(ways.begin(), ways.end());
  ways.erase(std::unique(ways.begin(), ways.end()), ways.end());
  const auto [found, is_new] = ways_ids_.emplace(ways, static_cast<WaysId>(ways_.size()));
  if (is_new) held_ += ways.size();
  if (is_new) ways_.push_back(std::move(ways));
  return found->second;
}

GrammarMatcher::WaysId GrammarMatcher::Close(std::vector<StackId> open) {
  std::vector<StackId> ways;
  std::unordered_set<StackId> seen(open.begin(), open.end());
  while (!open.empty()) {
    const StackId id = open.back();
    open.pop_back();
    ++opened_;
    const Stack stack = stacks_[id];
    const Grammar::Element element = grammar_->elements_[stack.element];
    if (id == kBottom || element.kind == Grammar::Element::Kind::kClass) {
      ways.push_back(id);
      if (ways.size() > kWaysMax) return kNone;
      continue;
    }
    const StackId after = Push(stack.element + 1, stack.below);
    // A rule may have a hundred thousand alternatives, all the same.
    opened_ += grammar_->rules_[element.index].alternatives.size();
    for (const uint32_t first : grammar_->rules_[element.index].alternatives) {
      const StackId next = Push(first, after);
      if (seen.insert(next).second) open.push_back(next);
    }
    if (seen.size() > kOpenMax || opened_ > kStepsMax) return kNone;
  }
  return Intern(std::move(ways));
}

GrammarMatcher::WaysId GrammarMatcher::CloseRule(uint32_t rule) {
  std::vector<StackId> open;
  for (const uint32_t first : grammar_->rules_[rule].alternatives) {
    open.push_back(Push(first, kBottom));
  }
  return Close(std::move(open));
}

GrammarMatcher::WaysId GrammarMatcher::Next(WaysId ways, uint32_t character) {
  const uint64_t key = Pair(ways, character);
  if (const auto known = next_.find(key); known != next_.end()) return known->second;
  std::vector<StackId> open;
  opened_ += ways_[ways].size();
  for (const StackId id : std::vector<StackId>(ways_[ways])) {
    if (id == kBottom) continue;
    const Stack stack = stacks_[id];
    const uint32_t index = grammar_->elements_[stack.element].index;
    if (!grammar_->classes_[index].Holds(character)) continue;
    open.push_back(Push(stack.element + 1, stack.below));
  }
  const WaysId next = Close(std::move(open));
  next_.emplace(key, next);
  return next;
}

GrammarMatcher::Place GrammarMatcher::Walk(Place place, std::string_view bytes) {
  for (const char c : bytes) {
    if (place.ways == kNone) return place;
    const auto byte = static_cast<uint8_t>(c);
    if (place.missing > 0) {
      if (byte >> 6 != 2) return {};
      place.bits = place.bits << 6 | (byte & 0x3FU);
      if (--place.missing > 0) continue;
      if (place.bits < place.low || !IsCharacter(place.bits)) return {};
      place.ways = Next(place.ways, place.bits);
    } else if (byte < 0x80) {
      place.ways = Next(place.ways, byte);
    } else if (byte >> 5 == 6) {
      place = {place.ways, byte & 0x1FU, 0x80, 1};
    } else if (byte >> 4 == 14) {
      place = {place.ways, byte & 0x0FU, 0x800, 2};
    } else if (byte >> 3 == 30) {
      place = {place.ways, byte & 0x07U, 0x10000, 3};
    } else {
      return {};
    }
  }
  return place;
}

bool GrammarMatcher::MayBegin(const Place& place) const {
  const uint32_t shift = 6U * place.missing;
  const uint32_t low = std::max(place.bits << shift, place.low);
  const uint32_t high = std::min((place.bits << shift) | ((1U << shift) - 1), kLastCharacter);
  if (low > high || (!IsCharacter(low) && !IsCharacter(high))) return false;
  const std::vector<StackId>& ways = ways_[place.ways];
  return std::any_of(ways.begin(), ways.end(), [&](StackId id) {
    if (id == kBottom) return false;
    const uint32_t index = grammar_->elements_[stacks_[id].element].index;
    return grammar_->classes_[index].HoldsAnyOf(low, high);
  });
}

bool GrammarMatcher::Allows(std::string_view bytes) {
  if (bytes.empty()) return false;
  if (stacks_.size() > stacks_limit_ || next_.size() > kNextMax || held_ > kHeldMax) {
    Compact();
  }
  if (opened_ > kStepsMax) return false;
  const Place place = Walk(place_, bytes);
  if (place.ways == kNone) return false;
  return place.missing == 0 || MayBegin(place);
}

void GrammarMatcher::Accept(std::string_view bytes) {
  place_ = Walk(place_, bytes);
  CHECK(place_.ways != kNone);
  opened_ = 0;
}

bool GrammarMatcher::AcceptAfterCut(std::string_view bytes) {
  if (Allows(bytes)) {
    Accept(bytes);
    return true;
  }
  const Place place = Walk({.ways = place_.ways}, bytes);
  if (place.ways == kNone || (place.missing > 0 && !MayBegin(place))) return false;
  place_ = place;
  opened_ = 0;
  return true;
}

bool GrammarMatcher::MayEnd() const {
  if (place_.missing > 0) return false;
  const std::vector<StackId>& ways = ways_[place_.ways];
  return !ways.empty() && ways.front() == kBottom;
}

void GrammarMatcher::Compact() {
  const std::vector<Stack> old = std::move(stacks_);
  const std::vector<StackId> here = ways_[place_.ways];
  stacks_.assign(1, {});
  stack_ids_.clear();
  ways_.clear();
  ways_ids_.clear();
  next_.clear();
  held_ = 0;
  Intern({});
  std::vector<StackId> kept;
  for (const StackId id : here) {
    std::vector<uint32_t> elements;
    for (StackId at = id; at != kBottom; at = old[at].below) elements.push_back(old[at].element);
    StackId copy = kBottom;
    for (auto element = elements.rbegin(); element != elements.rend(); ++element) {
      copy = Push(*element, copy);
    }
    kept.push_back(copy);
  }
  place_.ways = Intern(std::move(kept));
  stacks_limit_ = std::max(kStacksMax, 2 * stacks_.size());
}

}  // namespace cairn
