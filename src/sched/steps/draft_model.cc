#include "sched/steps/draft_model.h"

#include <algorithm>

#include "base/check.h"

namespace cairn {
namespace {

SchedulerOptions OptionsOf(const SchedulerOptions& of_model) {
  SchedulerOptions options;
  options.reuse = ReuseMode::kAny;
  options.slots.keep_ends = false;
  options.slots.offload = of_model.slots.offload;
  options.slots.unused_ms = of_model.slots.unused_ms;
  options.slots.first_lineage = of_model.drafts.model.first_lineage;
  options.log = of_model.log;
  return options;
}

}  // namespace

DraftModel::DraftModel(SchedulerContext* of_model)
    : of_model_(of_model),
      context_(of_model->options.drafts.model.engine, of_model->options.drafts.model.cache,
               of_model->clock, OptionsOf(of_model->options)),
      saver_(&context_) {
  CHECK(context_.engine->slots() >= of_model->engine->slots());
}

std::unique_ptr<Drafter> DraftModel::MakeDrafter(NamespaceId name_space) {
  return MakeModelDrafter(this, name_space);
}

Status DraftModel::Unload() {
  context_.cache->SetNow(context_.NowMs());
  while (context_.offloader.EmptyAFreeSlot()) {
  }
  return context_.engine->Sleep();
}

void DraftModel::EmptySlots() {
  for (size_t slot = 0; slot < context_.engine->slots(); ++slot) {
    context_.pool.EmptyAfterFailure(slot);
  }
}

void DraftModel::OnPrefilled(size_t tokens, double ms) {
  context_.restorer.ObservePrefill(tokens, ms);
  of_model_->pace->OnPrefill(ms);
  of_model_->stats.Update(
      [tokens](SchedulerStats* stats) { stats->draft_model.prefilled_tokens += tokens; });
}

void DraftModel::OnResumed(size_t tokens) {
  of_model_->stats.Update(
      [tokens](SchedulerStats* stats) { stats->draft_model.reused_tokens += tokens; });
}

void DraftModel::OnDrafted(size_t tokens, double ms) {
  const double each_ms = ms / static_cast<double>(std::max<size_t>(tokens, 1));
  ms_per_token_ =
      ms_per_token_ == 0 ? each_ms : ms_per_token_ + (each_ms - ms_per_token_) * kNewMeasureShare;
}

}  // namespace cairn
