// Auto: what every prompt needs, and beyond that what is likely to be worth it.
//
//   0       header                        turn          ladder   turn     prompt / query   tokens
//   |---------|------.--------.--------.----|---.----.----|-------|-----------|--------------|
//    system      interval, turn, ladder:       the last user        generation prompt
//    and tools   by expected reading           message
//
// Always: the end of the last message (kQuery if the user wrote it, and the end of the last query
// in a tool loop), the header, before the last user message, what the client marked, where this
// prompt parted from what is stored, and one micro-batch before the end.
//
// Then, one after the other, the place that saves most. Let c be one, p the checkpoint before it
// and q the one after. A later prompt that parts in [c, q) goes back to c instead of p, so c saves
//
//   (c - p) * share of prompts that part in [c, q)         tokens a prompt
//
// and the shares come from PartingHistogram. Places are the turns, a ladder of micro-batches that
// doubles backwards from the end, and multiples of `every_nt_tokens`. It stops when the budget is
// spent or when nothing saves what it costs. The rule is the greedy form of the optimal placement
// of arXiv 2605.05219 (minimise the sum over d of p(d) * (d - last checkpoint before d)).

#include <algorithm>
#include <utility>

#include "policy/parting_histogram.h"
#include "policy/placement.h"

namespace cairn {
namespace {

// Of one prompt, whatever the budget. The fewest are its end and the header, or the last query:
// without those a cache is none, and it may make room for them.
constexpr size_t kCheckpointsMax = 32;
constexpr size_t kCheckpointsMin = 2;
// A checkpoint stays: so many later prompts of the conversation may want it.
constexpr double kPromptsToCome = 16;
// When it is not known what taking one costs. On the coding agents' sessions of PartingHistogram,
// 64 makes a third fewer checkpoints than 4 and hits 0.02 % fewer tokens.
constexpr double kSnapshotCostTokens = 64;

size_t EndOfMessages(const PromptShape& shape) {
  return shape.messages_end > 0 ? shape.messages_end : shape.tokens;
}

// What is placed whatever the histogram says, the most needed first.
std::vector<Placement> Needed(const PlacementInput& input) {
  const PromptShape& shape = input.shape;
  const size_t end = EndOfMessages(shape);
  const bool user_last = !shape.turns.empty() && shape.turns.back().by_user;
  const size_t query_end = shape.query_end > 0 ? shape.query_end : user_last ? end : 0;
  std::vector<Placement> needed;
  needed.push_back({end, query_end == end ? CheckpointClass::kQuery : CheckpointClass::kPrompt});
  needed.push_back({query_end, CheckpointClass::kQuery});
  needed.push_back({shape.header_end, CheckpointClass::kHeader});
  const auto last_user = std::find_if(shape.turns.rbegin(), shape.turns.rend(),
                                      [](const Turn& turn) { return turn.by_user; });
  if (last_user != shape.turns.rend()) {
    needed.push_back({last_user->position, CheckpointClass::kTurn});
  }
  for (size_t i = 0; i < std::min(shape.marks.size(), kMarksMax); ++i) {
    needed.push_back({shape.marks[i].position, CheckpointClass::kMark});
  }
  needed.push_back({input.parted_at, CheckpointClass::kBranch});
  if (end > input.piece_tokens) {
    needed.push_back({end - input.piece_tokens, CheckpointClass::kLadder});
  }
  return needed;
}

// What may be placed, the better reason first where two name one place.
std::vector<Placement> Worthwhile(const PlacementInput& input, size_t every_nt_tokens) {
  std::vector<Placement> places;
  places.reserve(input.shape.turns.size());
  for (const Turn& turn : input.shape.turns) {
    places.push_back(
        {turn.position, turn.by_user ? CheckpointClass::kTurn : CheckpointClass::kToolTurn});
  }
  const size_t end = EndOfMessages(input.shape);
  // Many prompts part a few tokens before the end, so the ladder has two rungs below a micro-batch.
  for (size_t back = std::max<size_t>(input.piece_tokens / 4, 1); back < end; back *= 2) {
    places.push_back({end - back, CheckpointClass::kLadder});
  }
  if (every_nt_tokens > 0) {
    for (size_t position = every_nt_tokens; position < end; position += every_nt_tokens) {
      places.push_back({position, CheckpointClass::kInterval});
    }
  }
  return places;
}

// Where they will lie in the end: what is held lies there already.
std::vector<Placement> OnGrid(std::vector<Placement> placements, size_t grid_tokens) {
  for (Placement& placement : placements) placement.position -= placement.position % grid_tokens;
  return placements;
}

// The share of prompts that part between two places of this one.
class PartingShares {
 public:
  PartingShares(const PartingHistogram& histogram, const PromptShape& shape)
      : histogram_(histogram), turns_(shape.turns), end_(EndOfMessages(shape)) {
    turn_shares_.resize(turns_.size() + 1);
    for (size_t i = turns_.size(); i > 0; --i) {
      const size_t from_end = turns_.size() - i;
      turn_shares_[i - 1] =
          turn_shares_[i] + histogram_.ShareAtTurn(turns_[i - 1].by_user, from_end);
    }
  }

  // Of those that part at `position` or after it and before the end.
  double From(size_t position) const {
    if (position >= end_) return 0;
    const auto turn =
        std::lower_bound(turns_.begin(), turns_.end(), position,
                         [](const Turn& candidate, size_t at) { return candidate.position < at; });
    return histogram_.ShareWithin(end_ - position) +
           turn_shares_[static_cast<size_t>(turn - turns_.begin())];
  }

 private:
  const PartingHistogram& histogram_;
  const std::vector<Turn>& turns_;
  const size_t end_;
  std::vector<double> turn_shares_;  // of this turn and all after it
};

// A place, and the share of prompts that part there or after it.
struct SharedPlace {
  Placement placement;
  double share = 0;
};

// Chooses one place after the other. Holds all that is chosen or there already, sorted.
class GreedyChoice {
 public:
  explicit GreedyChoice(const PartingShares& shares) : shares_(shares) { Add(0); }

  void Add(size_t position) {
    const auto next = std::lower_bound(taken_.begin(), taken_.end(), position, IsBefore);
    if (next != taken_.end() && next->first == position) return;
    taken_.insert(next, {position, shares_.From(position)});
  }

  bool Has(size_t position) const { return Before(position + 1) == position; }

  // The last one before `position`; 0 if there is none.
  size_t Before(size_t position) const {
    const auto next = std::lower_bound(taken_.begin(), taken_.end(), position, IsBefore);
    return next == taken_.begin() ? 0 : (next - 1)->first;
  }

  // What `place` would save a later prompt, on average, in tokens.
  double Saved(const SharedPlace& place) const {
    const size_t position = place.placement.position;
    const auto next = std::lower_bound(taken_.begin(), taken_.end(), position, IsBefore);
    const size_t previous = (next - 1)->first;
    const double beyond = next == taken_.end() ? 0 : next->second;
    return static_cast<double>(position - previous) * (place.share - beyond);
  }

 private:
  using Taken = std::pair<size_t, double>;
  static bool IsBefore(const Taken& taken, size_t position) { return taken.first < position; }

  const PartingShares& shares_;
  std::vector<Taken> taken_;
};

class AutoPlacement final : public PlacementPolicy {
 public:
  explicit AutoPlacement(size_t every_nt_tokens) : every_nt_tokens_(every_nt_tokens) {}

  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    const PartingShares shares(histogram_, input.shape);
    GreedyChoice choice(shares);
    for (const size_t position : input.held) choice.Add(position);
    size_t left = kCheckpointsMax;
    if (input.bytes_budget > 0 && input.snapshot_bytes > 0) {
      left =
          std::clamp(input.bytes_budget / input.snapshot_bytes, kCheckpointsMin, kCheckpointsMax);
    }
    const auto open = [&](const Placement& placement) {
      return placement.position > input.read_to && placement.position <= input.shape.tokens &&
             !choice.Has(placement.position);
    };
    const auto take = [&](const Placement& placement) {
      choice.Add(placement.position);
      placements->push_back(placement);
      --left;
    };
    for (const Placement& placement : OnGrid(Needed(input), input.grid_tokens)) {
      // Prompts part a few tokens after a boundary, inside the template's opening of a message.
      const bool branch = placement.checkpoint_class == CheckpointClass::kBranch;
      if (branch && placement.position - choice.Before(placement.position) < kBoundaryTokens) {
        continue;
      }
      if (left > 0 && open(placement)) take(placement);
    }
    std::vector<SharedPlace> places;
    for (const Placement& placement :
         OnGrid(Worthwhile(input, every_nt_tokens_), input.grid_tokens)) {
      if (open(placement)) places.push_back({placement, shares.From(placement.position)});
    }
    const double cost =
        input.snapshot_cost_tokens > 0 ? input.snapshot_cost_tokens : kSnapshotCostTokens;
    while (left > 0 && !places.empty()) {
      const auto best = std::max_element(
          places.begin(), places.end(),
          [&](const auto& a, const auto& b) { return choice.Saved(a) < choice.Saved(b); });
      if (choice.Saved(*best) * kPromptsToCome < cost) break;
      take(best->placement);
      places.erase(best);
    }
  }

  void Learn(const Parting& parting) override { histogram_.Learn(parting); }

 private:
  const size_t every_nt_tokens_;
  PartingHistogram histogram_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> MakeAutoPlacement(const PlacementOptions& options) {
  return std::make_unique<AutoPlacement>(options.every_nt_tokens);
}

}  // namespace cairn
