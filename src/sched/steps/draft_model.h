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
#include "sched/context/scheduler_context.h"
#include "sched/draft/drafter.h"
#include "sched/upkeep/cache_saver.h"

namespace cairn {

// The weight of a new measurement in a moving average.
inline constexpr double kNewMeasureShare = 0.1;

class DraftModel {
 public:
  // `of_model`: of the model whose answers it drafts. Must outlive this object.
  explicit DraftModel(SchedulerContext* of_model);

  // The drafter of one answer, which this object must outlive.
  std::unique_ptr<Drafter> MakeDrafter(NamespaceId name_space);

  // See CacheSaver.
  bool Save(bool now) { return saver_.Step(now); }
  void SaveWhileBusy() { saver_.StepWhileBusy(); }
  uint64_t unsaved_bytes() const { return context_.stats.unsaved_bytes(); }

  // Stores the slots and unloads the draft model. REQUIRES: no slot is in use.
  Status Unload();
  Status Load() { return context_.engine->Wake(); }
  // Called after a failed allocation, when no answer is left. Empties the slots.
  void EmptySlots();

  // For its drafters.
  SchedulerContext& context() { return context_; }
  const DraftModelOptions& options() const { return of_model_->options.drafts.model; }
  // Tokens that the model does not have are never drafted.
  size_t vocab_size() const { return of_model_->engine->info().vocab_size; }
  // False while answers are owed time.
  bool MayPrefill() const { return !of_model_->pace->owes(); }
  void OnPrefilled(size_t tokens, double ms);
  void OnResumed(size_t tokens);
  void OnDrafted(size_t tokens, double ms);
  // A moving average of the time that a drafted token takes; 0: not measured yet.
  double ms_per_token() const { return ms_per_token_; }

 private:
  SchedulerContext* const of_model_;
  SchedulerContext context_;  // of the draft model
  CacheSaver saver_;
  double ms_per_token_ = 0;
};

// Defined in its own file. `model` must outlive the drafter.
std::unique_ptr<Drafter> MakeModelDrafter(DraftModel* model, NamespaceId name_space);

}  // namespace cairn

#endif  // CAIRN_SCHED_STEPS_DRAFT_MODEL_H_
