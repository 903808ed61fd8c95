#include "sched/upkeep/cache_saver.h"

#include <optional>

namespace cairn {

bool CacheSaver::Step(bool now) {
  CheckpointCache* const cache = context_->cache;
  if (!cache->saves()) return false;
  cache->TakeEvents();
  const DiskSaver::Step step = cache->SaveNext(context_->restorer.prefill_ms_per_token(), now);
  const bool stored = !step.began && context_->offloader.StoreUnused(now);
  const uint64_t unsaved_bytes = step.bytes_left + context_->offloader.UnstoredBytes();
  const std::optional<double> lag_ms = context_->save_lag.OnUnsaved(
      unsaved_bytes + cache->saved_stats().unsynced_bytes, context_->NowMs());
  context_->stats.Update([&](SchedulerStats* stats) {
    stats->unsaved_bytes = unsaved_bytes;
    if (lag_ms) stats->latencies.save_lag.AddMs(*lag_ms);
    stats->cache = cache->stats();
  });
  return step.began || stored;
}

void CacheSaver::StepWhileBusy() {
  if (!context_->cache->saves()) return;
  const double now_ms = context_->NowMs();
  if (now_ms - saved_ms_ < kIntervalMs) return;
  saved_ms_ = now_ms;
  StepWhileUnloaded();
}

void CacheSaver::StepWhileUnloaded() {
  context_->cache->SaveNext(context_->restorer.prefill_ms_per_token());
}

}  // namespace cairn
