#include "policy/placement.h"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

// Returns the reasoning that `position` lies in, or nullptr.
const ReasoningRange* ReasoningAround(const PromptShape& shape, size_t position) {
  const auto after =
      std::lower_bound(shape.reasoning.begin(), shape.reasoning.end(), position,
                       [](const ReasoningRange& range, size_t at) { return range.end <= at; });
  const bool inside = after != shape.reasoning.end() && after->begin < position;
  return inside ? &*after : nullptr;
}

// PlacementList: several policies, whose placements add up.
class PlacementList final : public PlacementPolicy {
 public:
  explicit PlacementList(std::vector<std::unique_ptr<PlacementPolicy>> policies)
      : policies_(std::move(policies)) {}

  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    for (const auto& policy : policies_) policy->Place(input, placements);
    KeepOutOfReasoning(input.shape, input.cuts, placements);
  }

  void Learn(const Divergence& divergence) override {
    for (const auto& policy : policies_) policy->Learn(divergence);
  }

 private:
  std::vector<std::unique_ptr<PlacementPolicy>> policies_;
};

// EOG: a checkpoint after every end-of-generation token, which is where all messages end. Requested
// in llama.cpp #23814: it needs no knowledge of the template, only of the vocabulary.
class EogPlacement final : public PlacementPolicy {
 public:
  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    for (const size_t position : input.shape.eog_ends) {
      placements->push_back({position, CheckpointClass::kTurn});
    }
  }
};

// Every-nb: a checkpoint every N batches (`-b`), as llama.cpp #20087 first proposed: a whole number
// of ubatches, so none is cut short for it.
class EveryNbPlacement final : public PlacementPolicy {
 public:
  explicit EveryNbPlacement(const PlacementOptions& options)
      : step_(options.every_nb_batches * options.batch_tokens) {}

  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    if (step_ == 0) return;
    for (size_t position = step_; position <= input.shape.tokens; position += step_) {
      placements->push_back({position, CheckpointClass::kInterval});
    }
  }

 private:
  const size_t step_;  // tokens
};

// Every-nt: a checkpoint every N tokens, independent of the messages: insurance against divergences
// that no boundary predicts. llama-server did this until May 2026 (#20087), and Ollama and
// TensorRT-LLM do. On 710 coding-agent sessions a grid of 8,192 alone gave 93.0 % token hits, where
// the ends of prompts alone gave 95.7 %: it complements them, but does not replace them.
class EveryNtPlacement final : public PlacementPolicy {
 public:
  explicit EveryNtPlacement(const PlacementOptions& options)
      : every_tokens_(options.every_nt_tokens) {}

  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    if (every_tokens_ == 0) return;
    for (size_t position = every_tokens_; position <= input.shape.tokens;
         position += every_tokens_) {
      placements->push_back({position, CheckpointClass::kInterval});
    }
  }

 private:
  const size_t every_tokens_;
};

// Marconi's admission (arXiv 2411.19379, section 4): at most two states per prompt. One is at its
// end; the scheduler takes another one after the answer. One is where the prompt diverges from the
// stored ones, which is known before prefill: a prefix that two prompts share will be shared by a
// third. So a shared prefix pays from its third appearance on.
class MarconiPlacement final : public PlacementPolicy {
 public:
  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    const PromptShape& shape = input.shape;
    if (input.diverged_at > 0 && input.diverged_at < shape.tokens) {
      placements->push_back({input.diverged_at, CheckpointClass::kBranch});
    }
    if (shape.tokens > 0) placements->push_back({shape.tokens, CheckpointClass::kEnd});
  }
};

// Near-end: two checkpoints near the end of every prompt. The next turn repeats the prompt up to
// the end of its last message, but not the generation prompt and the reasoning after it. An edited
// last message repeats the prompt up to a position inside that message; the second checkpoint, a
// ubatch earlier, serves that case. Both were requested by llama.cpp's maintainers (#20288,
// #22929).
class NearEndPlacement final : public PlacementPolicy {
 public:
  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    const PromptShape& shape = input.shape;
    const size_t end = shape.messages_end > 0 ? shape.messages_end : shape.tokens;
    placements->push_back({end, CheckpointClass::kPrompt});
    if (end > input.chunk_tokens) {
      placements->push_back({end - input.chunk_tokens, CheckpointClass::kLadder});
    }
  }
};

// None: takes no checkpoints. The baseline of every other policy.
class NonePlacement final : public PlacementPolicy {
 public:
  void Place(const PlacementInput& /*input*/,
             std::vector<Placement>* /*placements*/) const override {}
};

// User-turns: a checkpoint before every user message, and one after the system prefix: where people
// edit, fork and rewind, and where templates begin to leave old reasoning out.
class UserTurnsPlacement final : public PlacementPolicy {
 public:
  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    const PromptShape& shape = input.shape;
    if (shape.header_end > 0) {
      placements->push_back({shape.header_end, CheckpointClass::kHeader});
    }
    for (const Turn& turn : shape.turns) {
      if (turn.by_user && turn.position > shape.header_end) {
        placements->push_back({turn.position, CheckpointClass::kTurn});
      }
    }
  }
};

// A policy without options of its own takes none.
template <typename Policy>
std::unique_ptr<PlacementPolicy> NewPlacement(const PlacementOptions& options) {
  if constexpr (std::is_constructible_v<Policy, const PlacementOptions&>) {
    return std::make_unique<Policy>(options);
  } else {
    return std::make_unique<Policy>();
  }
}

struct NamedPlacement {
  PolicySummary policy;
  std::unique_ptr<PlacementPolicy> (*make)(const PlacementOptions& options);
};

constexpr std::array<NamedPlacement, 8> kPlacements{{
    {{"auto", "the ends every prompt needs, then where most prefill is saved"}, MakeAutoPlacement},
    {{"eog", "after every message"}, NewPlacement<EogPlacement>},
    {{"every-nb", "every N batches of -b tokens (--checkpoint-every-nb)"},
     NewPlacement<EveryNbPlacement>},
    {{"every-nt", "every N tokens (--checkpoint-every-nt)"}, NewPlacement<EveryNtPlacement>},
    {{"marconi", "where prompts diverged before, and the end"}, NewPlacement<MarconiPlacement>},
    {{"near-end", "the end of the last message, and one ubatch before it"},
     NewPlacement<NearEndPlacement>},
    {{"none", "no checkpoints, as a baseline"}, NewPlacement<NonePlacement>},
    {{"user-turns", "after the system prefix, before every user message"},
     NewPlacement<UserTurnsPlacement>},
}};

Result<std::unique_ptr<PlacementPolicy>> MakeOne(std::string_view name,
                                                 const PlacementOptions& options) {
  const auto* const found = FindPolicy(kPlacements, name);
  if (found != nullptr) return found->make(options);
  Error error = NoSuchPolicy("placement policy", name, SummariesOf(kPlacements));
  error.message += " (several may be joined with commas)";
  return tl::unexpected(std::move(error));
}

}  // namespace

std::vector<PolicySummary> PlacementSummaries() {
  return SummariesOf(kPlacements);
}

size_t CutFor(const Placement& placement, const PromptCuts& cuts) {
  return placement.checkpoint_class == CheckpointClass::kBranch
             ? cuts.AtOrBefore(placement.position)
             : cuts.ForCheckpoint(placement.position);
}

void KeepOutOfReasoning(const PromptShape& shape, const PromptCuts& cuts,
                        std::vector<Placement>* placements) {
  for (Placement& placement : *placements) {
    size_t position = CutFor(placement, cuts);
    // Rounding may lead into the preceding reasoning.
    while (const ReasoningRange* around = ReasoningAround(shape, position)) {
      position = cuts.AtOrBefore(around->begin);
    }
    placement.position = position;
  }
  std::erase_if(*placements, [&](const Placement& placement) {
    return placement.position == 0 || placement.position > shape.tokens;
  });
}

Result<std::unique_ptr<PlacementPolicy>> MakePlacement(std::string_view names,
                                                       const PlacementOptions& options) {
  std::vector<std::unique_ptr<PlacementPolicy>> policies;
  size_t begin = 0;
  while (begin <= names.size()) {
    const size_t comma = std::min(names.find(',', begin), names.size());
    auto policy = MakeOne(names.substr(begin, comma - begin), options);
    if (!policy) return tl::unexpected(policy.error());
    policies.push_back(std::move(*policy));
    begin = comma + 1;
  }
  return std::make_unique<PlacementList>(std::move(policies));
}

// The names and weights of checkpoint classes.

std::string_view CheckpointClassName(CheckpointClass checkpoint_class) {
  switch (checkpoint_class) {
    case CheckpointClass::kHeader:
      return "header";
    case CheckpointClass::kTurn:
      return "turn";
    case CheckpointClass::kPrompt:
      return "prompt";
    case CheckpointClass::kEnd:
      return "end";
    case CheckpointClass::kLadder:
      return "ladder";
    case CheckpointClass::kReply:
      return "reply";
    case CheckpointClass::kBranch:
      return "branch";
    case CheckpointClass::kInterval:
      return "interval";
    case CheckpointClass::kMark:
      return "mark";
    case CheckpointClass::kQuery:
      return "query";
    case CheckpointClass::kToolTurn:
      return "tool turn";
    case CheckpointClass::kMedia:
      return "media";
  }
  return "unknown";
}

std::optional<CheckpointClass> ParseCheckpointClass(uint8_t value) {
  const auto checkpoint_class = static_cast<CheckpointClass>(value);
  if (CheckpointClassName(checkpoint_class) == "unknown") return std::nullopt;
  return checkpoint_class;
}

double ClassWeight(CheckpointClass checkpoint_class) {
  switch (checkpoint_class) {
    case CheckpointClass::kHeader:
      return 8;
    case CheckpointClass::kQuery:
    case CheckpointClass::kMark:
    case CheckpointClass::kBranch:
    case CheckpointClass::kPrompt:
    case CheckpointClass::kReply:
      return 4;
    case CheckpointClass::kTurn:
    case CheckpointClass::kEnd:
    case CheckpointClass::kMedia:
      return 1;
    case CheckpointClass::kLadder:
      return 0.5;
    case CheckpointClass::kToolTurn:
    case CheckpointClass::kInterval:
      return 0.25;
  }
  return 1;
}

}  // namespace cairn
