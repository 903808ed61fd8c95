// DraftOptions: the settings of speculative decoding.
//
// Plain data.

#ifndef CAIRN_SCHED_DRAFT_DRAFT_OPTIONS_H_
#define CAIRN_SCHED_DRAFT_DRAFT_OPTIONS_H_

#include <cstddef>

#include "base/provenance.h"
#include "sched/draft/drafter.h"

namespace cairn {

class CheckpointCache;
class Engine;

// A draft model. Both pointers must outlive the scheduler.
struct DraftModelOptions {
  Engine* engine = nullptr;          // with as many slots as the model's engine; nullptr: none
  CheckpointCache* cache = nullptr;  // of the draft model's states
  // Drafting ends at a token that the draft model gives less than this probability.
  double p_min = 0;
  LineageId first_lineage = 0;  // see SlotPoolOptions
};

struct DraftOptions {
  DrafterFactory make = nullptr;  // of a drafter without a model; nullptr: none
  // Whether the engine's heads draft (Engine::mtp_heads). Their drafts end at a token of less
  // probability than `mtp_p_min`.
  bool mtp = false;
  double mtp_p_min = 0;
  DraftModelOptions model = {};
  size_t tokens_max = 16;  // of a draft
  size_t tokens_min = 0;   // shorter drafts are not verified
  // Whether drafts are as long as measured costs and acceptance recommend, or always as long as
  // they may be.
  bool adapts = true;
  // Whether they are used with ReuseMode::kExact too: a token's logits do not depend on the tokens
  // that are decoded with it.
  bool in_exact = false;

  bool on() const { return make != nullptr || mtp || model.engine != nullptr; }
};

}  // namespace cairn

#endif  // CAIRN_SCHED_DRAFT_DRAFT_OPTIONS_H_
