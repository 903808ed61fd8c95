#include "sched/queue/path_fills.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cairn {

bool PathFills::Begin(QueuedRequest* queued) {
  if (queued->fill != QueuedRequest::Fill::kNotTried || !queued->may_reuse()) return false;
  const GenerationRequest& request = queued->request;
  const Tokens& prompt = queued->tokens();
  const auto match = MatchOf(*cache_, request.name_space, prompt, queued->reads_disk);
  std::optional<Restorer::Filling> filling = restorer_->BeginFilling(
      {request.name_space, prompt, true, &match, request.slot, queued->has_begun()});
  if (!filling) return false;
  queued->fill = QueuedRequest::Fill::kRuns;
  fills_.emplace(queued->number, Running{*std::move(filling), clock_->NowMs()});
  return true;
}

bool PathFills::Step(const std::vector<QueuedRequest*>& ready) {
  if (fills_.empty()) return false;
  RefreshCache(cache_, clock_->NowMs());
  bool did_something = false;
  for (auto fill = fills_.begin(); fill != fills_.end();) {
    const auto found = std::find_if(ready.begin(), ready.end(), [&](const auto* queued) {
      return queued->number == fill->first && !queued->leaves_queue();
    });
    QueuedRequest* const queued = found == ready.end() ? nullptr : *found;
    bool more = !IsOver(queued, fill->second);
    if (!more) did_something = true;
    while (more && restorer_->CanFill(fill->second.filling)) {
      more = Fill(queued, &fill->second.filling);
      fill->second.since_ms = clock_->NowMs();
      did_something = true;
      if (running_->has_decoding()) break;
    }
    fill = more ? std::next(fill) : fills_.erase(fill);
    if (did_something && running_->has_decoding()) break;
  }
  return did_something;
}

bool PathFills::IsOver(QueuedRequest* queued, const Running& fill) {
  if (queued != nullptr) {
    const bool waits = !restorer_->CanFill(fill.filling);
    const bool too_long = wait_.IsTooLong(cache_->loader(), clock_->NowMs(), fill.since_ms,
                                          DiskWait::MsMax(*restorer_, queued->tokens().size()));
    if (!waits || !too_long) return false;
    queued->reads_disk = false;
    queued->fill = QueuedRequest::Fill::kEnded;
  }
  restorer_->EndFilling(fill.filling);
  return true;
}

bool PathFills::Fill(QueuedRequest* queued, Restorer::Filling* filling) {
  const double begin_ms = clock_->NowMs();
  const Restorer::Filled filled = restorer_->Fill(filling);
  shares_->Charge(queued->request.name_space, clock_->NowMs() - begin_ms);
  if (filled == Restorer::Filled::kMore) return true;
  queued->fill = QueuedRequest::Fill::kEnded;
  if (filled == Restorer::Filled::kDone) {
    queued->filled = FilledSlot{filling->slot, std::move(filling->report)};
  }
  return false;
}

void PathFills::EndAll() {
  for (const auto& [number, fill] : fills_) restorer_->EndFilling(fill.filling);
  fills_.clear();
}

}  // namespace cairn
