#include "api/grammar/pattern/regex_nodes.h"

#include <algorithm>
#include <compare>
#include <map>
#include <memory>
#include <utility>

namespace cairn {
namespace {

// Look-aheads that one way through the nodes waits for.
constexpr size_t kWaitsMax = 64;

// A way through the nodes.
struct Way {
  uint32_t node = 0;
  uint32_t waits = 0;  // an index of LookAheads' lists of what is still to be seen; 0: nothing

  auto operator<=>(const Way&) const = default;
};

class LookAheads;

// Makes the automaton of the texts that a part is found in, or with `anchored`, that begin with it.
class DfaMaker {
 public:
  DfaMaker(const RegexNodes& regex, const NodeSpan& part, bool anchored, LookAheads* looks,
           WorkBudget* budget)
      : regex_(regex), part_(part), anchored_(anchored), looks_(*looks), budget_(budget) {}

  // `at_begin`: the part is looked for at the begin of the text.
  std::optional<Dfa> Make(bool at_begin);

 private:
  struct Set {
    std::vector<Way> ways;  // to nodes that take a character, or end the part
    bool first = false;     // nothing is read yet
    bool accepts = false;
    bool found = false;  // the part was found
  };

  std::vector<Way> Close(const std::vector<Way>& from, bool at_begin, bool at_end);
  uint32_t Number(const std::vector<Way>& from, bool first);
  std::vector<uint32_t> Cuts(const Set& set);
  std::optional<Dfa::State> StateOf(size_t i);

  const RegexNodes& regex_;
  const NodeSpan part_;
  const bool anchored_;
  LookAheads& looks_;
  WorkBudget* const budget_;
  std::vector<Set> sets_;
  std::map<std::pair<std::vector<Way>, bool>, uint32_t> numbers_;
};

// The automata of a pattern's look-aheads, and the lists of those that ways wait for.
class LookAheads {
 public:
  LookAheads(const RegexNodes& regex, WorkBudget* budget)
      : regex_(regex), budget_(budget), lists_(1) {
    ids_.emplace(List(), 0);
  }

  // Once true, there is no automaton.
  bool failed() const { return failed_; }
  // Adds a look-ahead to a list; nullopt if it can no longer hold.
  std::optional<uint32_t> With(uint32_t waits, uint32_t look, bool at_begin);
  // The list behind a character; nullopt if one of them does not hold.
  std::optional<uint32_t> Behind(uint32_t waits, uint32_t character);
  // Whether all of them hold where the text ends.
  bool HoldAtEnd(uint32_t waits) const;
  // Adds where ranges of characters begin and end that the list tells from each other.
  void AddCuts(uint32_t waits, std::vector<uint32_t>* cuts) const;

 private:
  struct Automaton {
    Dfa texts;
    std::vector<bool> is_sure;  // whatever follows fits; by state
    bool negated = false;
  };
  struct Wait {
    uint32_t automaton = 0;
    uint32_t state = 0;

    auto operator<=>(const Wait&) const = default;
  };
  using List = std::vector<Wait>;

  const Automaton* AutomatonOf(uint32_t look, bool at_begin, uint32_t* id);
  // Adds `wait` to the list unless it is known how it ends. Returns false if it does not hold.
  bool Add(const Wait& wait, List* list) const;
  std::optional<uint32_t> Numbered(List list);

  const RegexNodes& regex_;
  WorkBudget* const budget_;
  bool failed_ = false;
  std::map<std::pair<uint32_t, bool>, uint32_t> automata_ids_;
  std::vector<std::unique_ptr<Automaton>> automata_;
  std::vector<List> lists_;
  std::map<List, uint32_t> ids_;
};

const LookAheads::Automaton* LookAheads::AutomatonOf(uint32_t look, bool at_begin, uint32_t* id) {
  const auto known = automata_ids_.find({look, at_begin});
  if (known != automata_ids_.end()) {
    *id = known->second;
    return automata_[*id].get();
  }
  const RegexNodes::Look& read = regex_.looks[look];
  auto texts = DfaMaker(regex_, read.part, true, this, budget_).Make(at_begin);
  if (!texts || failed_) {
    failed_ = true;
    return nullptr;
  }
  Automaton made{*std::move(texts), {}, read.negated};
  const std::vector<Dfa::State>& states = made.texts.states();
  for (uint32_t i = 0; i < states.size(); ++i) {
    // Characters are those below the surrogates and those above.
    uint32_t held = 0;
    for (const Dfa::Edge& edge : states[i].edges) {
      if (edge.to == i) held += edge.high - edge.low + 1;
    }
    made.is_sure.push_back(states[i].accepts && held >= kCodePointMax + 1 - 0x800);
  }
  *id = static_cast<uint32_t>(automata_.size());
  automata_.push_back(std::make_unique<Automaton>(std::move(made)));
  automata_ids_.emplace(std::make_pair(look, at_begin), *id);
  return automata_.back().get();
}

bool LookAheads::Add(const Wait& wait, List* list) const {
  const Automaton& automaton = *automata_[wait.automaton];
  if (automaton.is_sure[wait.state]) return !automaton.negated;
  const Dfa::State& state = automaton.texts.states()[wait.state];
  if (!state.accepts && state.edges.empty()) return automaton.negated;
  list->push_back(wait);
  return true;
}

std::optional<uint32_t> LookAheads::Numbered(List list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  if (list.size() > kWaitsMax || !budget_->Take(1 + list.size())) {
    failed_ = true;
    return std::nullopt;
  }
  const auto [known, is_new] = ids_.emplace(list, static_cast<uint32_t>(lists_.size()));
  if (is_new) lists_.push_back(std::move(list));
  return known->second;
}

std::optional<uint32_t> LookAheads::With(uint32_t waits, uint32_t look, bool at_begin) {
  Wait wait;
  if (failed_ || AutomatonOf(look, at_begin, &wait.automaton) == nullptr) return std::nullopt;
  List list = lists_[waits];
  if (!Add(wait, &list)) return std::nullopt;
  return Numbered(std::move(list));
}

std::optional<uint32_t> LookAheads::Behind(uint32_t waits, uint32_t character) {
  if (waits == 0) return 0;
  List list;
  for (const Wait& wait : lists_[waits]) {
    const Automaton& automaton = *automata_[wait.automaton];
    const std::vector<Dfa::Edge>& edges = automaton.texts.states()[wait.state].edges;
    const auto edge =
        std::upper_bound(edges.begin(), edges.end(), character,
                         [](uint32_t c, const Dfa::Edge& other) { return c < other.low; });
    const bool leads_on = edge != edges.begin() && std::prev(edge)->high >= character;
    if (!leads_on && !automaton.negated) return std::nullopt;
    if (leads_on && !Add({wait.automaton, std::prev(edge)->to}, &list)) return std::nullopt;
  }
  return Numbered(std::move(list));
}

bool LookAheads::HoldAtEnd(uint32_t waits) const {
  return std::all_of(lists_[waits].begin(), lists_[waits].end(), [this](const Wait& wait) {
    const Automaton& automaton = *automata_[wait.automaton];
    return automaton.texts.states()[wait.state].accepts != automaton.negated;
  });
}

void LookAheads::AddCuts(uint32_t waits, std::vector<uint32_t>* cuts) const {
  for (const Wait& wait : lists_[waits]) {
    for (const Dfa::Edge& edge : automata_[wait.automaton]->texts.states()[wait.state].edges) {
      cuts->insert(cuts->end(), {edge.low, edge.high + 1});
    }
  }
}

std::optional<Dfa> DfaMaker::Make(bool at_begin) {
  std::vector<Dfa::State> states;
  Number({{part_.begin, 0}}, at_begin);
  for (size_t i = 0; i < sets_.size(); ++i) {
    auto state = StateOf(i);
    if (!state || looks_.failed() || sets_.size() > Dfa::kStatesMax) return std::nullopt;
    states.push_back(*std::move(state));
  }
  return Dfa(std::move(states)).Minimised(budget_);
}

// Follows what leads on freely. `at_end`: nothing follows.
std::vector<Way> DfaMaker::Close(const std::vector<Way>& from, bool at_begin, bool at_end) {
  std::vector<Way> open = from;
  std::map<uint32_t, std::vector<bool>> seen;  // nodes, by what is waited for
  std::vector<Way> closed;
  while (!open.empty() && !looks_.failed()) {
    const Way way = open.back();
    open.pop_back();
    if (way.node == kNoNode) continue;
    std::vector<bool>& here = seen[way.waits];
    if (here.empty()) here.resize(regex_.nodes.size());
    if (here[way.node]) continue;
    here[way.node] = true;
    const RegexNode& node = regex_.nodes[way.node];
    const bool stays = node.kind == RegexNode::Kind::kTake || node.kind == RegexNode::Kind::kEnd ||
                       (node.kind == RegexNode::Kind::kFree && way.node == part_.end);
    if (stays) closed.push_back(way);
    if (node.kind == RegexNode::Kind::kFree) {
      open.insert(open.end(), {{node.to, way.waits}, {node.other, way.waits}});
    }
    if (node.kind == RegexNode::Kind::kBegin && at_begin) open.push_back({node.to, way.waits});
    if (node.kind == RegexNode::Kind::kEnd && at_end) open.push_back({node.to, way.waits});
    if (node.kind == RegexNode::Kind::kLook) {
      const auto waits = looks_.With(way.waits, node.other, at_begin);
      if (waits) open.push_back({node.to, *waits});
    }
  }
  budget_->Take(1 + seen.size() * (regex_.nodes.size() / 16) + closed.size());
  std::sort(closed.begin(), closed.end());
  // Beside a way that waits for nothing, the others to its node say nothing.
  std::vector<Way> kept;
  for (const Way& way : closed) {
    const bool idle = !kept.empty() && kept.back().node == way.node && kept.back().waits == 0;
    if (!idle) kept.push_back(way);
  }
  return kept;
}

uint32_t DfaMaker::Number(const std::vector<Way>& from, bool first) {
  Set set;
  set.first = first;
  set.ways = Close(from, first, false);
  // Once the part is found, whatever follows fits.
  const Way end = {part_.end, 0};
  set.found = std::binary_search(set.ways.begin(), set.ways.end(), end);
  if (set.found) set.ways = {end};
  const std::vector<Way> last = Close(set.ways, first, true);
  set.accepts = set.found || std::any_of(last.begin(), last.end(), [&](const Way& way) {
                  return way.node == part_.end && looks_.HoldAtEnd(way.waits);
                });
  const auto [known, is_new] =
      numbers_.emplace(std::make_pair(set.ways, first), static_cast<uint32_t>(sets_.size()));
  if (is_new) sets_.push_back(std::move(set));
  return known->second;
}

// Where ranges of the nodes and look-aheads begin and end.
std::vector<uint32_t> DfaMaker::Cuts(const Set& set) {
  std::vector<uint32_t> cuts = {0, 0xD800, 0xE000, kCodePointMax + 1};
  for (const Way& way : set.ways) {
    for (const CodeRange& range : regex_.nodes[way.node].takes.ranges()) {
      cuts.insert(cuts.end(), {range.low, range.high + 1});
    }
    looks_.AddCuts(way.waits, &cuts);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

std::optional<Dfa::State> DfaMaker::StateOf(size_t i) {
  const Set set = sets_[i];
  Dfa::State state{set.accepts, {}};
  if (set.found) {
    for (const CodeRange& range : CodePoints::All().ranges()) {
      state.edges.push_back({range.low, range.high, static_cast<uint32_t>(i)});
    }
    if (!set.first) return state;
  }
  const std::vector<uint32_t> cuts = Cuts(set);
  state.edges.clear();
  for (size_t cut = 0; cut + 1 < cuts.size(); ++cut) {
    const uint32_t low = cuts[cut];
    if (low == 0xD800) continue;
    if (!budget_->Take(1 + set.ways.size()) || looks_.failed()) return std::nullopt;
    std::vector<Way> next;
    if (!anchored_) next.push_back({part_.begin, 0});
    if (set.found) next = {{part_.end, 0}};
    for (const Way& way : set.ways) {
      const RegexNode& node = regex_.nodes[way.node];
      const bool takes = node.kind == RegexNode::Kind::kTake && node.takes.Holds(low);
      const bool ended = way.node == part_.end;
      if (!takes && !ended) continue;
      const auto waits = looks_.Behind(way.waits, low);
      if (waits) next.push_back({takes ? node.to : part_.end, *waits});
    }
    const uint32_t to = Number(next, false);
    const bool same =
        !state.edges.empty() && state.edges.back().to == to && state.edges.back().high + 1 == low;
    if (same) state.edges.back().high = cuts[cut + 1] - 1;
    if (!same) state.edges.push_back({low, cuts[cut + 1] - 1, to});
  }
  return state;
}

}  // namespace

std::optional<Dfa> DfaOfNodes(const RegexNodes& regex, const NodeSpan& part, WorkBudget* budget) {
  LookAheads looks(regex, budget);
  return DfaMaker(regex, part, false, &looks, budget).Make(true);
}

}  // namespace cairn
