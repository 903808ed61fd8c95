#include "sched/queue/path_loads.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace cairn {

bool PathLoads::Update(const std::vector<QueuedRequest*>& in_order) {
  DiskLoader& loader = cache_->loader();
  const uint64_t reads = loader.reads();
  const size_t loads = loads_.size();
  std::erase_if(loads_, [&](const auto& load) {
    const bool is_queued =
        std::any_of(in_order.begin(), in_order.end(),
                    [&](const QueuedRequest* queued) { return queued->number == load.first; });
    if (!is_queued) loader.End(load.second);
    return !is_queued;
  });
  if (!std::any_of(in_order.begin(), in_order.end(),
                   [this](const QueuedRequest* queued) { return queued->number == needs_room_; })) {
    needs_room_ = 0;
  }
  for (QueuedRequest* queued : in_order) {
    if (!loads_.contains(queued->number)) Choose(queued);
    if (queued->number == needs_room_) break;
  }
  const bool moved = MovePlaceToFirst(in_order);
  if (any()) RefreshCache(cache_, clock_->NowMs());
  for (QueuedRequest* queued : in_order) {
    if (!IsLoading(*queued)) continue;
    const double now_ms = clock_->NowMs();
    queued->times.load_ms = now_ms - queued->path_load.begin_ms;
    if (!wait_.IsTooLong(loader, now_ms, queued->path_load.begin_ms,
                         DiskWait::MsMax(*restorer_, queued->tokens().size()))) {
      continue;
    }
    queued->reads_disk = false;
    End(*queued);
  }
  CountLoading();
  return moved || loads_.size() != loads || loader.reads() != reads;
}

bool PathLoads::MovePlaceToFirst(const std::vector<QueuedRequest*>& in_order) {
  if (in_order.empty() || !in_order.front()->path_load.waits) return false;
  const auto last = std::find_if(in_order.rbegin(), in_order.rend(), [&](const auto* queued) {
    return loads_.contains(queued->number);
  });
  if (last == in_order.rend()) return false;
  TakePlaceOf(*last);
  Choose(in_order.front());
  return true;
}

void PathLoads::TakePlaceOf(QueuedRequest* queued) {
  End(*queued);
  queued->path_load.waits = true;
}

bool PathLoads::EndBehind(const QueuedRequest& queued,
                          const std::vector<QueuedRequest*>& in_order) {
  needs_room_ = queued.number;
  const auto self = std::find_if(in_order.begin(), in_order.end(), [&](const QueuedRequest* other) {
    return other->number == queued.number;
  });
  bool any = false;
  for (auto other = std::next(self); other != in_order.end(); ++other) {
    if (!loads_.contains((*other)->number)) continue;
    TakePlaceOf(*other);
    any = true;
  }
  return any;
}

void PathLoads::CountLoading() {
  const DiskLoader& loader = cache_->loader();
  const auto loading =
      static_cast<size_t>(std::count_if(loads_.begin(), loads_.end(), [&](const auto& load) {
        return loader.IsLoading(load.second);
      }));
  if (std::exchange(loading_, loading) == loading) return;
  stats_->Update([&](SchedulerStats* stats) { stats->open.loading = loading; });
}

void PathLoads::Choose(QueuedRequest* queued) {
  const GenerationRequest& request = queued->request;
  const bool may_load = loads_.size() < loads_max_;
  const bool is_chosen = queued->path_load.admission == running_->last_admission();
  if (is_chosen && !(queued->path_load.waits && may_load)) return;
  if (queued->fill == QueuedRequest::Fill::kRuns) return;
  queued->path_load = {clock_->NowMs(), running_->last_admission()};
  RefreshCache(cache_, clock_->NowMs());
  if (!queued->may_reuse() || queued->leaves_queue()) return;
  const Tokens& prompt = queued->tokens();
  const auto match = MatchOf(*cache_, request.name_space, prompt, queued->reads_disk);
  const std::vector<uint64_t> ids = restorer_->ToLoad(
      {request.name_space, prompt, true, &match, request.slot, queued->has_begun()});
  if (ids.empty()) return;
  queued->path_load.waits = !may_load;
  if (!may_load) return;
  loads_.emplace(queued->number, cache_->loader().Begin(ids));
}

void PathLoads::End(const QueuedRequest& queued) {
  const auto load = loads_.find(queued.number);
  if (load == loads_.end()) return;
  cache_->loader().End(load->second);
  loads_.erase(load);
}

bool PathLoads::Waits(const QueuedRequest& queued) const {
  if (!cache_->saves() || queued.leaves_queue()) return false;
  if (queued.fill == QueuedRequest::Fill::kRuns) return false;
  if (loads_.contains(queued.number)) return IsLoading(queued);
  return queued.path_load.waits || queued.path_load.admission != running_->last_admission();
}

bool PathLoads::IsLoading(const QueuedRequest& queued) const {
  const auto load = loads_.find(queued.number);
  if (load == loads_.end() || queued.generation->cancelled()) return false;
  return cache_->loader().IsLoading(load->second);
}

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
