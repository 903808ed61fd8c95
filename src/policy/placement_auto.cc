// Auto: places the checkpoints that every prompt needs, and beyond that those that are likely worth
// their cost.
//
//   0       header                        turn    ladder  turn   rung   prompt / query   tokens
//   |---------|------.--------.--------.----|---.----.------|------|---------|--------------|
//    system      interval, turn, ladder:      tool results   the last user     generation
//    and tools   by expected reading          and answers    message           prompt
//
// Always: before and after each image or recording, the end of the last message (kQuery if the user
// wrote it, and the end of the last query in a tool loop; neither where replies follow the whole
// prompt), the system prefix, before the last user message and before a last tool result, the
// client's marks, the divergence of this prompt from the stored ones, the last grid point inside
// the generation prompt, and a rung inside a long last message of the user's, a ubatch or a third
// of the message before its end: people edit that message, and seldom its beginning. Tool results
// are not edited; a tool that is called again may say more.
//
// Then, one after the other, the position that saves most. Let c be a position, p the checkpoint
// before it and q the one after. A later prompt that diverges in [c, q) resumes from c instead of
// p, so c saves
//
//   (c - p) * share of prompts that part in [c, q) * prompts to come         tokens
//
// and the shares come from DivergenceHistogram. They depend on the distance from the end, which
// grows with every turn: a position as near the end as one turn is long serves two prompts, and one
// ten turns back eleven. Candidates are the turns, a ladder that doubles backwards from the end,
// and multiples of `every_nt_tokens`. Placement stops when the budget is spent or when no position
// saves its cost. The rule is the greedy form of the optimal placement of arXiv 2605.05219
// (minimise the sum over d of p(d) * (d - last checkpoint before d)).
//
// Last, the rest of the budget is spread over the user's turns, at least a ubatch apart. Most
// prompts add one turn, so this is for conversations that arrive complete: for those it is unknown
// where people return to, and the histogram may contain none of it.

#include <algorithm>
#include <utility>

#include "policy/divergence.h"
#include "policy/placement.h"

namespace cairn {
namespace {

// For a prompt whose budget is unknown.
constexpr size_t kCheckpointsUsual = 32;
// The least for one prompt, whatever the budget: its end, and the system prefix or the last query.
// Without those the cache is useless, and other objects may be evicted for them.
constexpr size_t kCheckpointsMin = 2;
// How many later prompts of the conversation may want a checkpoint, as it stays: the upper limit,
// and the value for a prompt that is not known to be a conversation.
constexpr double kPromptsMax = 16;
constexpr double kPromptsUnknown = 5;
// Used if the cost of taking a checkpoint is unknown. Copying 60 MiB over PCIe takes as long as a
// large model needs to prefill this many tokens.
constexpr double kSnapshotCostTokens = 20;
// The rung is a third of the message from its end, in one of less than three ubatches. If the last
// words were edited as often as the first, the middle would be best.
constexpr size_t kEditedPart = 3;
// One prompt in twenty edits the last words of its last message. In a shorter one the tokens that a
// rung would save them are fewer than what its chunk and its copy cost all the others.
constexpr size_t kRungTokensMin = 256;

size_t CheckpointsMax(const PlacementInput& input) {
  if (input.bytes_budget == 0 || input.snapshot_bytes == 0) return kCheckpointsUsual;
  return std::max(input.bytes_budget / input.snapshot_bytes, kCheckpointsMin);
}

double CostTokens(const PlacementInput& input) {
  return input.snapshot_cost_tokens > 0 ? input.snapshot_cost_tokens : kSnapshotCostTokens;
}

size_t EndOfMessages(const PromptShape& shape) {
  return shape.messages_end > 0 ? shape.messages_end : shape.tokens;
}

// The placements independent of the histogram, most needed first.
std::vector<Placement> Needed(const PlacementInput& input) {
  const PromptShape& shape = input.shape;
  const size_t end = EndOfMessages(shape);
  const bool user_last = !shape.turns.empty() && shape.turns.back().by_user;
  const size_t query_end = shape.query_end > 0 ? shape.query_end : user_last ? end : 0;
  std::vector<Placement> needed;
  // A reply that follows the whole prompt resumes at the prompt's own end.
  if (!shape.reply_follows) {
    needed.push_back({end, query_end == end ? CheckpointClass::kQuery : CheckpointClass::kPrompt});
    needed.push_back({query_end, CheckpointClass::kQuery});
  }
  needed.push_back({shape.header_end, CheckpointClass::kHeader});
  const auto last_user = std::find_if(shape.turns.rbegin(), shape.turns.rend(),
                                      [](const Turn& turn) { return turn.by_user; });
  if (last_user != shape.turns.rend()) {
    needed.push_back({last_user->position, CheckpointClass::kTurn});
  }
  // The next prompt often shares the beginning of the generation prompt too. If that spans a full
  // step of the grid, it is worth a checkpoint of its own; fewer tokens are not.
  const PromptCuts& cuts = input.cuts;
  if (shape.tokens > end && cuts.Last() >= cuts.ForCheckpoint(end) + kBoundaryTokens) {
    needed.push_back({shape.tokens - 1, CheckpointClass::kPrompt});
  }
  for (size_t i = 0; i < std::min(shape.marks.size(), kMarksMax); ++i) {
    needed.push_back({shape.marks[i].position, CheckpointClass::kMark});
  }
  needed.push_back({input.diverged_at, CheckpointClass::kBranch});
  // Often only the text around an image changes, and its rows are many.
  for (const TokenRange& medium : shape.media) {
    needed.push_back({medium.begin, CheckpointClass::kMedia});
    needed.push_back({medium.end, CheckpointClass::kMedia});
  }
  if (user_last) {
    const size_t message_tokens = end - std::min(end, shape.turns.back().position);
    if (message_tokens > kRungTokensMin) {
      needed.push_back({end - std::min(input.chunk_tokens, message_tokens / kEditedPart),
                        CheckpointClass::kLadder});
    }
  } else if (!shape.turns.empty()) {
    // One that follows an answer at once resumes at the answer's end instead.
    const size_t tool_result = shape.turns.back().position;
    if (tool_result >= input.resumed_tokens + kBoundaryTokens) {
      needed.push_back({tool_result, CheckpointClass::kToolTurn});
    }
  } else if (end > input.chunk_tokens) {
    needed.push_back({end - input.chunk_tokens, CheckpointClass::kLadder});
  }
  return needed;
}

// The candidates; if two name one position, the better reason comes first.
std::vector<Placement> Worthwhile(const PlacementInput& input, size_t every_nt_tokens) {
  std::vector<Placement> places;
  places.reserve(input.shape.turns.size());
  for (const Turn& turn : input.shape.turns) {
    places.push_back(
        {turn.position, turn.by_user ? CheckpointClass::kTurn : CheckpointClass::kToolTurn});
  }
  const size_t end = EndOfMessages(input.shape);
  // Many prompts diverge a few tokens before the end, so the ladder has two rungs below a ubatch.
  for (size_t back = std::max<size_t>(input.chunk_tokens / 4, 1); back < end; back *= 2) {
    places.push_back({end - back, CheckpointClass::kLadder});
  }
  if (every_nt_tokens > 0) {
    for (size_t position = every_nt_tokens; position < end; position += every_nt_tokens) {
      places.push_back({position, CheckpointClass::kInterval});
    }
  }
  return places;
}

// Rounds placements to where they will finally lie; stored checkpoints lie there already.
std::vector<Placement> AtCuts(std::vector<Placement> placements, const PromptCuts& cuts) {
  for (Placement& placement : placements) placement.position = CutFor(placement, cuts);
  return placements;
}

// DivergenceShares: the share of prompts that diverge between two positions of this one.
class DivergenceShares {
 public:
  DivergenceShares(const DivergenceHistogram& histogram, const PromptShape& shape)
      : histogram_(histogram), turns_(shape.turns), end_(EndOfMessages(shape)) {
    turn_shares_.resize(turns_.size() + 1);
    for (size_t i = turns_.size(); i > 0; --i) {
      const size_t from_end = turns_.size() - i;
      turn_shares_[i - 1] =
          turn_shares_[i] + histogram_.ShareAtTurn(turns_[i - 1].by_user, from_end);
    }
  }

  // The share of those that diverge at or after `position` and before the end.
  double From(size_t position) const {
    if (position >= end_) return 0;
    const auto turn =
        std::lower_bound(turns_.begin(), turns_.end(), position,
                         [](const Turn& candidate, size_t at) { return candidate.position < at; });
    return histogram_.ShareWithin(end_ - position) +
           turn_shares_[static_cast<size_t>(turn - turns_.begin())];
  }

 private:
  const DivergenceHistogram& histogram_;
  const std::vector<Turn>& turns_;
  const size_t end_;
  std::vector<double> turn_shares_;  // sum over this turn and all after it
};

// A candidate, the share of prompts that diverge at or after it, and for how many prompts that
// holds.
struct SharedPlace {
  Placement placement;
  double share = 0;
  double prompts = 0;
};

// GreedyChoice: chooses one position after the other. Holds all chosen and stored positions,
// sorted.
class GreedyChoice {
 public:
  explicit GreedyChoice(const DivergenceShares& shares) : shares_(shares) { Add(0); }

  void Add(size_t position) {
    const auto next = std::lower_bound(taken_.begin(), taken_.end(), position, IsBefore);
    if (next != taken_.end() && next->first == position) return;
    taken_.insert(next, {position, shares_.From(position)});
  }

  bool Has(size_t position) const { return Before(position + 1) == position; }

  // Returns the last taken position before `position`; 0 if there is none.
  size_t Before(size_t position) const {
    const auto next = std::lower_bound(taken_.begin(), taken_.end(), position, IsBefore);
    return next == taken_.begin() ? 0 : (next - 1)->first;
  }

  // Returns how many tokens `place` would save the prompts to come, on average.
  double Saved(const SharedPlace& place) const {
    const size_t position = place.placement.position;
    const auto next = std::lower_bound(taken_.begin(), taken_.end(), position, IsBefore);
    const size_t previous = (next - 1)->first;
    const double beyond = next == taken_.end() ? 0 : next->second;
    return static_cast<double>(position - previous) * (place.share - beyond) * place.prompts;
  }

 private:
  using Taken = std::pair<size_t, double>;
  static bool IsBefore(const Taken& taken, size_t position) { return taken.first < position; }

  const DivergenceShares& shares_;
  std::vector<Taken> taken_;
};

// TimeToCome: for how many later prompts a position stays about as far from the end as it is now,
// because every turn moves the end away from it.
class TimeToCome {
 public:
  explicit TimeToCome(const PromptShape& shape) : end_(EndOfMessages(shape)) {
    if (shape.turns.empty()) return;
    const auto talk = static_cast<double>(end_ - std::min(end_, shape.header_end));
    tokens_per_turn_ = std::max(1.0, talk / static_cast<double>(shape.turns.size()));
  }

  double Prompts(size_t position) const {
    if (tokens_per_turn_ == 0) return kPromptsUnknown;
    const auto from_end = static_cast<double>(end_ - std::min(end_, position));
    return std::min(1 + from_end / tokens_per_turn_, kPromptsMax);
  }

 private:
  const size_t end_;
  double tokens_per_turn_ = 0;  // unknown
};

class AutoPlacement final : public PlacementPolicy {
 public:
  explicit AutoPlacement(size_t every_nt_tokens) : every_nt_tokens_(every_nt_tokens) {}

  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    const DivergenceShares shares(histogram_, input.shape);
    Draft draft{input, GreedyChoice(shares), CheckpointsMax(input), placements};
    for (const size_t position : input.held) draft.choice.Add(position);
    PlaceNeeded(&draft);
    PlaceWorthwhile(shares, &draft);
    PlaceAtTurns(&draft);
  }

  void Learn(const Divergence& divergence) override { histogram_.Learn(divergence); }

 private:
  // A result of Place in the making.
  struct Draft {
    const PlacementInput& input;
    GreedyChoice choice;
    size_t left;  // checkpoints that may still be placed
    std::vector<Placement>* placements;

    bool Open(const Placement& placement) const {
      return placement.position > input.resumed_tokens &&
             placement.position <= input.shape.tokens && !choice.Has(placement.position);
    }
    // Tokens between a position and the one before it.
    size_t StepTo(size_t position) const { return position - choice.Before(position); }
    void Take(const Placement& placement) {
      choice.Add(placement.position);
      placements->push_back(placement);
      --left;
    }
  };

  // The least tokens that a placement must save the prompts that want it. Many prompts diverge a
  // few tokens after a boundary, inside the template's opening of a message; a rung saves nothing
  // in a message that is hardly longer.
  static size_t StepMin(const PlacementInput& input, const Placement& placement) {
    switch (placement.checkpoint_class) {
      case CheckpointClass::kBranch:
      case CheckpointClass::kToolTurn:
        return static_cast<size_t>(CostTokens(input));
      case CheckpointClass::kLadder:
        return kBoundaryTokens;
      default:
        return 0;
    }
  }

  static void PlaceNeeded(Draft* draft) {
    for (const Placement& placement : AtCuts(Needed(draft->input), draft->input.cuts)) {
      if (draft->StepTo(placement.position) < StepMin(draft->input, placement)) continue;
      if (draft->left > 0 && draft->Open(placement)) draft->Take(placement);
    }
  }

  void PlaceWorthwhile(const DivergenceShares& shares, Draft* draft) const {
    const PlacementInput& input = draft->input;
    const TimeToCome to_come(input.shape);
    std::vector<SharedPlace> places;
    for (const Placement& placement : AtCuts(Worthwhile(input, every_nt_tokens_), input.cuts)) {
      if (!draft->Open(placement)) continue;
      places.push_back(
          {placement, shares.From(placement.position), to_come.Prompts(placement.position)});
    }
    while (draft->left > 0 && !places.empty()) {
      const auto best =
          std::max_element(places.begin(), places.end(), [&](const auto& a, const auto& b) {
            return draft->choice.Saved(a) < draft->choice.Saved(b);
          });
      if (draft->choice.Saved(*best) < CostTokens(input)) break;
      draft->Take(best->placement);
      places.erase(best);
    }
  }

  // At least a ubatch apart: each checkpoint ends a chunk, and short chunks slow down prefill.
  static void PlaceAtTurns(Draft* draft) {
    const PlacementInput& input = draft->input;
    const size_t unread = input.shape.tokens - std::min(input.shape.tokens, input.resumed_tokens);
    const size_t step = std::max(input.chunk_tokens, unread / (draft->left + 1) + 1);
    for (const Turn& turn : input.shape.turns) {
      const size_t position = input.cuts.ForCheckpoint(turn.position);
      const Placement placement{position, CheckpointClass::kTurn};
      if (!turn.by_user || draft->left == 0 || !draft->Open(placement)) continue;
      if (draft->StepTo(position) >= step) draft->Take(placement);
    }
  }

  const size_t every_nt_tokens_;
  DivergenceHistogram histogram_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> MakeAutoPlacement(const PlacementOptions& options) {
  return std::make_unique<AutoPlacement>(options.every_nt_tokens);
}

}  // namespace cairn
