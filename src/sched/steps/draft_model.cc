#include "sched/steps/draft_model.h"

#include <algorithm>

#include "base/check.h"

namespace cairn {
namespace {

// The last bits of a draft do not matter, so every position is a cut.
SlotPoolOptions DraftPoolOptions(const DraftModelOptions& options, const SlotOptions& of_model) {
  SlotPoolOptions pool;
  pool.mode = ReuseMode::kAny;
  pool.cuts = {1};
  pool.keep_ends = false;
  pool.offload = of_model.offload;
  pool.unused_ms = of_model.unused_ms;
  pool.first_lineage = options.first_lineage;
  return pool;
}

}  // namespace

DraftModel::DraftModel(const Model* model, const Clock* clock, AnswerPace* pace, StatsBoard* stats,
                       const DraftModelOptions& options, const SlotOptions& slots)
    : model_(model),
      clock_(clock),
      pace_(pace),
      stats_(stats),
      options_(options),
      slots_(options.engine, options.cache, clock, DraftPoolOptions(options, slots)),
      saver_stats_(options.engine->slots()),
      saver_(options.cache, clock, &slots_.offloader, &slots_.restorer, &saver_stats_, &save_lag_) {
  CHECK(options.engine->slots() >= model->slots());
}

std::unique_ptr<Drafter> DraftModel::MakeDrafter(NamespaceId name_space) {
  return MakeModelDrafter(this, clock_, &slots_, name_space);
}

Status DraftModel::Unload() {
  options_.cache->SetNow(clock_->NowMs());
  while (slots_.offloader.EmptyAFreeSlot()) {
  }
  return options_.engine->Sleep();
}

void DraftModel::EmptySlots() {
  for (size_t slot = 0; slot < options_.engine->slots(); ++slot) {
    slots_.pool.EmptyAfterFailure(slot);
  }
}

void DraftModel::OnPrefilled(size_t tokens, double ms) {
  slots_.restorer.ObservePrefill(tokens, ms);
  pace_->OnPrefill(ms);
  stats_->Update(
      [tokens](SchedulerStats* stats) { stats->draft_model.prefilled_tokens += tokens; });
}

void DraftModel::OnResumed(size_t tokens) {
  stats_->Update([tokens](SchedulerStats* stats) { stats->draft_model.reused_tokens += tokens; });
}

void DraftModel::OnDrafted(size_t tokens, double ms) {
  const double each_ms = ms / static_cast<double>(std::max<size_t>(tokens, 1));
  ms_per_token_ =
      ms_per_token_ == 0 ? each_ms : ms_per_token_ + (each_ms - ms_per_token_) * kNewMeasureShare;
}

}  // namespace cairn
