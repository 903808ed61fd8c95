#include "engine/grammar/grammar_states.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace cairn {
namespace {

// Limits of what is kept; beyond them the states are full. The number of stacks may stay above its
// limit.
constexpr size_t kStacksMax = 100000;
constexpr size_t kSpansMax = 500000;
constexpr size_t kTablesMax = 20000;
constexpr size_t kHeldMax = 2000000;
// The most stacks that may be open at once while one character is matched.
constexpr size_t kOpenMax = 20000;

uint64_t Pair(uint32_t high, uint32_t low) {
  return uint64_t{high} << 32 | low;
}

}  // namespace

GrammarStates::GrammarStates(std::shared_ptr<const Grammar> grammar)
    : grammar_(std::move(grammar)), stacks_max_(kStacksMax) {
  stacks_.push_back({});  // kBottom
  Intern({});             // kNone
}

GrammarStates::WaysId GrammarStates::Root(size_t* steps) {
  if (root_ != kUnknown) return root_;
  const WaysId root = CloseRule(grammar_->root_, steps);
  if (*steps <= kStepsMax) root_ = root;
  return root;
}

GrammarStates::StackId GrammarStates::Push(uint32_t element, StackId below) {
  // A rule's last element needs no return address, so the stack of a loop does not grow.
  if (grammar_->elements_[element].kind == Grammar::Element::Kind::kEnd) return below;
  const auto [found, is_new] =
      stack_ids_.emplace(Pair(element, below), static_cast<StackId>(stacks_.size()));
  if (is_new) stacks_.push_back({element, below});
  return found->second;
}

GrammarStates::WaysId GrammarStates::Intern(std::vector<StackId> ways) {
  std::sort(ways.begin(), ways.end());
  ways.erase(std::unique(ways.begin(), ways.end()), ways.end());
  const auto [found, is_new] = ways_ids_.emplace(ways, static_cast<WaysId>(ways_.size()));
  if (is_new) {
    held_ += ways.size();
    ways_.push_back(std::move(ways));
    tables_.emplace_back();
  }
  return found->second;
}

GrammarStates::WaysId GrammarStates::Close(std::vector<StackId> open, size_t* steps) {
  std::vector<StackId> ways;
  std::unordered_set<StackId> seen(open.begin(), open.end());
  while (!open.empty()) {
    const StackId id = open.back();
    open.pop_back();
    ++*steps;
    const Stack stack = stacks_[id];
    const Grammar::Element element = grammar_->elements_[stack.element];
    if (id == kBottom || element.kind == Grammar::Element::Kind::kClass) {
      ways.push_back(id);
      if (ways.size() > kWaysMax) return kNone;
      continue;
    }
    const StackId after = Push(stack.element + 1, stack.below);
    // A rule may have a hundred thousand alternatives, all the same.
    *steps += grammar_->rules_[element.index].alternatives.size();
    for (const uint32_t first : grammar_->rules_[element.index].alternatives) {
      const StackId next = Push(first, after);
      if (seen.insert(next).second) open.push_back(next);
    }
    if (seen.size() > kOpenMax || *steps > kStepsMax) return kNone;
  }
  return Intern(std::move(ways));
}

GrammarStates::WaysId GrammarStates::CloseRule(uint32_t rule, size_t* steps) {
  std::vector<StackId> open;
  for (const uint32_t first : grammar_->rules_[rule].alternatives) {
    open.push_back(Push(first, kBottom));
  }
  return Close(std::move(open), steps);
}

GrammarStates::Span GrammarStates::SpanAround(WaysId ways, uint32_t character) const {
  Span span = {0, kLastCharacter, kNone};
  for (const StackId id : ways_[ways]) {
    if (id == kBottom) continue;
    const auto& ranges = ClassOf(id).ranges;
    const auto behind =
        std::lower_bound(ranges.begin(), ranges.end(), character,
                         [](const Grammar::Range& one, uint32_t code) { return one.high < code; });
    const bool inside = behind != ranges.end() && behind->low <= character;
    if (inside) {
      span.low = std::max(span.low, behind->low);
      span.high = std::min(span.high, behind->high);
      continue;
    }
    if (behind != ranges.begin()) span.low = std::max(span.low, std::prev(behind)->high + 1);
    if (behind != ranges.end()) span.high = std::min(span.high, behind->low - 1);
  }
  return span;
}

GrammarStates::WaysId GrammarStates::FindNext(WaysId ways, uint32_t character, size_t* steps) {
  if (tables_[ways] == nullptr) {
    tables_[ways] = std::make_unique<Table>();
    tables_[ways]->ascii.fill(kUnknown);
    ++table_count_;
  }
  // The table stays where it is while others are added.
  Table* const table = tables_[ways].get();
  const auto behind =
      std::lower_bound(table->rest.begin(), table->rest.end(), character,
                       [](const Span& one, uint32_t code) { return one.high < code; });
  if (behind != table->rest.end() && behind->low <= character) return behind->next;
  std::vector<StackId> open;
  *steps += ways_[ways].size();
  for (const StackId id : std::vector<StackId>(ways_[ways])) {
    if (id == kBottom || !ClassOf(id).Holds(character)) continue;
    const Stack stack = stacks_[id];
    open.push_back(Push(stack.element + 1, stack.below));
  }
  Span span = SpanAround(ways, character);
  span.next = Close(std::move(open), steps);
  // A search that was aborted says nothing of the next one, which may take as many steps again.
  if (*steps > kStepsMax) return span.next;
  for (uint32_t code = span.low; code < kAscii && code <= span.high; ++code) {
    table->ascii[code] = span.next;
  }
  span.low = std::max(span.low, kAscii);
  if (span.low <= span.high) {
    table->rest.insert(behind, span);
    ++span_count_;
  }
  return span.next;
}

GrammarStates::WaysId GrammarStates::WithoutOdd(WaysId ways) {
  if (!grammar_->has_odd_) return ways;
  if (ways >= without_odd_.size()) without_odd_.resize(ways_.size(), kUnknown);
  if (without_odd_[ways] != kUnknown) return without_odd_[ways];
  std::vector<StackId> plain;
  for (const StackId id : ways_[ways]) {
    if (id == kBottom || !ClassOf(id).odd) plain.push_back(id);
  }
  const WaysId found = plain.size() == ways_[ways].size() ? ways : Intern(std::move(plain));
  return without_odd_[ways] = found;
}

bool GrammarStates::HoldsAnyOf(WaysId ways, uint32_t low, uint32_t high) const {
  return std::any_of(ways_[ways].begin(), ways_[ways].end(), [&](StackId id) {
    return id != kBottom && ClassOf(id).HoldsAnyOf(low, high);
  });
}

bool GrammarStates::MayEnd(WaysId ways) const {
  return !ways_[ways].empty() && ways_[ways].front() == kBottom;
}

GrammarStates::WaysId GrammarStates::CopyOf(const GrammarStates& other, WaysId ways) {
  std::vector<StackId> copies;
  for (const StackId id : other.ways_[ways]) {
    std::vector<uint32_t> elements;
    for (StackId at = id; at != kBottom; at = other.stacks_[at].below) {
      elements.push_back(other.stacks_[at].element);
    }
    StackId copy = kBottom;
    for (auto element = elements.rbegin(); element != elements.rend(); ++element) {
      copy = Push(*element, copy);
    }
    copies.push_back(copy);
  }
  stacks_max_ = std::max(kStacksMax, 2 * stacks_.size());
  return Intern(std::move(copies));
}

bool GrammarStates::is_full() const {
  return stacks_.size() > stacks_max_ || table_count_ > kTablesMax || span_count_ > kSpansMax ||
         held_ > kHeldMax;
}

size_t GrammarStates::bytes() const {
  // A place in a map takes some fifty bytes beside its key and value.
  constexpr size_t kNode = 50;
  return without_odd_.size() * sizeof(WaysId) +
         stacks_.size() * (sizeof(Stack) + sizeof(uint64_t) + kNode) +
         ways_.size() * (2 * sizeof(decltype(ways_)::value_type) + sizeof(void*) + kNode) +
         2 * held_ * sizeof(StackId) + table_count_ * sizeof(Table) + span_count_ * sizeof(Span);
}

std::shared_ptr<GrammarStates> KeptGrammarStates::Of(
    const std::shared_ptr<const Grammar>& grammar) {
  const auto known = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const auto& states) { return states->grammar() == grammar; });
  if (known == kept_.end() || (*known)->is_full()) {
    if (known != kept_.end()) kept_.erase(known);
    kept_.push_front(std::make_shared<GrammarStates>(grammar));
  } else {
    kept_.splice(kept_.begin(), kept_, known);
  }
  std::shared_ptr<GrammarStates> found = kept_.front();
  size_t bytes = 0;
  size_t count = 0;
  // The states of the one in use may go on growing; it is counted when the next grammar comes.
  kept_.remove_if([&](const auto& states) {
    bytes += states->bytes();
    return ++count > kGrammarsMax || bytes > kBytesMax;
  });
  return found;
}

}  // namespace cairn
