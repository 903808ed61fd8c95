#include "sched/idle_unloader.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

namespace cairn {
namespace {

std::string Seconds(double ms) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f s", ms / 1000);
  return text.data();
}

}  // namespace

double IdleUnloader::UntilUnloadMs() const {
  const double idle_ms_max = options_.sleep_after_ms;
  if (idle_ms_max < 0 || unloaded_) return std::numeric_limits<double>::infinity();
  return std::max(0.0, busy_ms_ + idle_ms_max - clock_->NowMs());
}

size_t IdleUnloader::OffloadSlots() {
  size_t offloaded = 0;
  for (size_t slot = 0; slot < engine_->slots(); ++slot) {
    if (pool_->slot(slot).tokens().empty()) continue;
    offloader_->OffloadAndClear(slot);
    ++offloaded;
  }
  return offloaded;
}

bool IdleUnloader::Unload() {
  cache_->SetNow(clock_->NowMs());
  TraceSpan span = trace_->Span("unload");
  const size_t offloaded = OffloadSlots();
  // If it fails, the next try comes after the same idle time.
  OnBusy();
  if (const Status unloaded = engine_->Sleep(); !unloaded) {
    LogTo(options_.log, LogLevel::kWarning, "the model stays loaded: " + unloaded.error().message);
    return false;
  }
  unloaded_ = true;
  // A draft model that cannot be unloaded stays loaded.
  draft_model_unloaded_ = draft_model_ != nullptr && draft_model_->Unload().has_value();
  span.End();
  trace_->OnSleep(true);
  LogTo(options_.log, LogLevel::kInfo,
        "asleep: no request for " + Seconds(options_.sleep_after_ms) +
            ", so the model is unloaded; " + std::to_string(offloaded) +
            " slots were offloaded, and the cache stays");
  stats_->Update([this](SchedulerStats* stats) {
    stats->sleep.asleep = true;
    ++stats->sleep.count;
    stats->slot_counters = pool_->counters();
    stats->cache = cache_->stats();
    stats->unsaved_bytes = offloader_->UnstoredBytes();
  });
  return true;
}

Status IdleUnloader::LoadModels() {
  if (draft_model_unloaded_) {
    if (Status loaded = draft_model_->Load(); !loaded) return loaded;
    draft_model_unloaded_ = false;
  }
  return engine_->Wake();
}

bool IdleUnloader::Load() {
  const double begin_ms = clock_->NowMs();
  LogTo(options_.log, LogLevel::kInfo, "loading the model again for a request");
  TraceSpan span = trace_->Span("load");
  if (const Status loaded = LoadModels(); !loaded) {
    reason_ =
        "the model was unloaded while idle and cannot be loaded again: " + loaded.error().message;
    LogTo(options_.log, LogLevel::kError, reason_);
    return false;
  }
  unloaded_ = false;
  span.End();
  trace_->OnSleep(false);
  reason_.clear();
  OnBusy();
  const double load_ms = busy_ms_ - begin_ms;
  LogTo(options_.log, LogLevel::kInfo, "awake after " + Seconds(load_ms));
  stats_->Update([&](SchedulerStats* stats) {
    stats->sleep.asleep = false;
    stats->sleep.wake_ms += load_ms;
  });
  return true;
}

}  // namespace cairn
