// DraftModel: a small model that drafts answers for a large one, with slots and a prefix cache of
// its own.
//
//   model         slot 0  | conversation A … | answer        prefix cache, disk: its states
//                                │ text
//                                v
//   draft model   slot 2  | conversation A … | answer | draft     prefix cache, disk: its states
//
// The draft model's slots are resumed, offloaded and stored like the model's, so a conversation
// that comes back, even after a restart, is prefilled in neither. A state that is missing is
// computed again while the answer is decoded without its drafts. Nothing here changes an answer.
//
// Its states are used with ReuseMode::kAny: the last bits of a draft do not matter.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_STEPS_DRAFT_MODEL_H_
#define CAIRN_SCHED_STEPS_DRAFT_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "cache/checkpoint_cache.h"
#include "engine/engine.h"
#include "policy/answer_pace.h"
#include "sched/context/scheduler_stats.h"
#include "sched/context/step_accounts.h"
#include "sched/draft/drafter.h"
#include "sched/slots/restorer.h"
#include "sched/upkeep/cache_saver.h"

namespace cairn {

// The weight of a new measurement in a moving average.
inline constexpr double kNewMeasureShare = 0.1;

class DraftModel {
 public:
  // All must outlive this object. `model`: whose answers it drafts; `pace`, `stats` and `slots`:
  // that model's. REQUIRES: `options` have an engine.
  DraftModel(const Model* model, const Clock* clock, AnswerPace* pace, StatsBoard* stats,
             const DraftModelOptions& options, const SlotOptions& slots);

  // The drafter of one answer, which this object must outlive.
  std::unique_ptr<Drafter> MakeDrafter(NamespaceId name_space);

  // See CacheSaver.
  bool Save(bool now) { return saver_.Step(now); }
  void SaveWhileBusy() { saver_.StepWhileBusy(); }
  uint64_t unsaved_bytes() const { return saver_stats_.unsaved_bytes(); }

  // Stores the slots and unloads the draft model. REQUIRES: no slot is in use.
  Status Unload();
  Status Load() { return options_.engine->Wake(); }
  // Called after a failed allocation, when no answer is left. Empties the slots.
  void EmptySlots();

  // For its drafters.
  const DraftModelOptions& options() const { return options_; }
  // Tokens that the model does not have are never drafted.
  size_t vocab_size() const { return model_->info().vocab_size; }
  // False while answers are owed time.
  bool MayPrefill() const { return !pace_->owes(); }
  void OnPrefilled(size_t tokens, double ms);
  void OnResumed(size_t tokens);
  void OnDrafted(size_t tokens, double ms);
  // A moving average of the time that a drafted token takes; 0: not measured yet.
  double ms_per_token() const { return ms_per_token_; }

 private:
  const Model* const model_;  // whose answers it drafts
  const Clock* const clock_;
  AnswerPace* const pace_;
  StatsBoard* const stats_;
  const DraftModelOptions options_;
  ModelSlots slots_;  // of the draft model
  StatsBoard saver_stats_;
  SaveLag save_lag_;
  CacheSaver saver_;
  double ms_per_token_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_STEPS_DRAFT_MODEL_H_
