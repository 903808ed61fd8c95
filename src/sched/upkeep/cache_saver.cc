#include "sched/upkeep/cache_saver.h"

#include <optional>

namespace cairn {

bool CacheSaver::Step(bool now) {
  if (!cache_->saves()) return false;
  cache_->TakeEvents();
  const DiskSaver::Step step = cache_->SaveNext(restorer_->prefill_ms_per_token(), now);
  const bool stored = !step.began && offloader_->StoreUnused(now);
  const uint64_t unsaved_bytes = step.bytes_left + offloader_->UnstoredBytes();
  const std::optional<double> lag_ms =
      save_lag_->OnUnsaved(unsaved_bytes + cache_->saved_stats().unsynced_bytes, clock_->NowMs());
  stats_->Update([&](SchedulerStats* stats) {
    stats->unsaved_bytes = unsaved_bytes;
    if (lag_ms) stats->latencies.save_lag.AddMs(*lag_ms);
    stats->cache = cache_->stats();
  });
  return step.began || stored;
}

void CacheSaver::StepWhileBusy() {
  if (!cache_->saves()) return;
  const double now_ms = clock_->NowMs();
  if (now_ms - saved_ms_ < kIntervalMs) return;
  saved_ms_ = now_ms;
  StepWhileUnloaded();
}

void CacheSaver::StepWhileUnloaded() {
  cache_->SaveNext(restorer_->prefill_ms_per_token());
}

}  // namespace cairn
