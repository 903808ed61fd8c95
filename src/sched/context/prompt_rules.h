// PromptRules: how a scheduler reuses prompts, and where it cuts them into chunks, with its model
// and its options.
//
// Threads: any.

#ifndef CAIRN_SCHED_CONTEXT_PROMPT_RULES_H_
#define CAIRN_SCHED_CONTEXT_PROMPT_RULES_H_

#include <cstddef>

#include "base/tokens.h"
#include "cache/resume.h"
#include "engine/engine.h"
#include "sched/context/scheduler_options.h"
#include "sched/request/prefill_chunks.h"
#include "sched/slots/slot.h"
#include "tree/prompt_cuts.h"

namespace cairn {

// Whether prompts are cut at messages with this mode.
bool CutsAtMessages(const MemoryTraits& traits, ReuseMode reuse);
// Returns the gap divisor (CutRules) for a model and a mode: short chunks cost prefill, and distant
// boundaries cost tokens that are prefilled again after an edit.
// docs/decisions/0037-boundary-gaps.md has the measurements.
size_t BoundaryGapDivisor(const MemoryTraits& traits, ReuseMode reuse);
// Returns where prompts are cut into chunks.
CutRules CutRulesOf(const Model& model, const SchedulerOptions& options);

class PromptRules {
 public:
  // `model` must outlive this object.
  PromptRules(const Model* model, const SchedulerOptions& options)
      : model_(model), reuse_(options.reuse), cuts_(CutRulesOf(*model, options)) {}

  ReuseMode reuse() const { return reuse_; }
  bool exact() const { return reuse_ == ReuseMode::kExact; }
  const CutRules& cuts() const { return cuts_; }
  PromptCuts CutsOf(TokenSpan prompt) const { return {cuts_, prompt}; }
  // The rules for the chunk that begins at a slot's end.
  ChunkRules chunk_rules() const;
  // Returns the first position behind the slot's end where a chunk of the prompt may end for a
  // checkpoint. `of_prompt`: the prompt's cuts.
  size_t FirstStop(const Slot& slot, const PromptCuts& of_prompt) const;

 private:
  const Model* const model_;
  const ReuseMode reuse_;
  const CutRules cuts_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_CONTEXT_PROMPT_RULES_H_
