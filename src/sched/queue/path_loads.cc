#include "sched/queue/path_loads.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace cairn {

bool PathLoads::Update() {
  if (!context_->cache->saves()) return false;
  const DiskLoader& loader = context_->cache->loader();
  const uint64_t reads = loader.reads();
  const size_t loads = loads_.size();
  const std::vector<QueuedRequest*> ready = queue_->Ready();
  std::set<uint64_t> queued_numbers;
  for (const QueuedRequest* queued : ready) queued_numbers.insert(queued->number);
  std::erase_if(loads_, [&](const auto& load) {
    if (queued_numbers.contains(load.first)) return false;
    context_->cache->loader().End(load.second);
    return true;
  });
  for (QueuedRequest* queued : ready) {
    if (loads_.size() >= context_->engine->slots()) break;
    if (!loads_.contains(queued->number)) Begin(queued);
  }
  if (any()) context_->RefreshCache();
  for (QueuedRequest* queued : ready) {
    if (IsLoading(*queued)) queued->load_ms = context_->NowMs() - queued->path_load.begin_ms;
  }
  CountLoading();
  return loads_.size() != loads || loader.reads() != reads;
}

void PathLoads::CountLoading() {
  const DiskLoader& loader = context_->cache->loader();
  const auto loading =
      static_cast<size_t>(std::count_if(loads_.begin(), loads_.end(), [&](const auto& load) {
        return loader.IsLoading(load.second);
      }));
  if (std::exchange(loading_, loading) == loading) return;
  context_->stats.Update([&](SchedulerStats* stats) { stats->loading = loading; });
}

void PathLoads::Begin(QueuedRequest* queued) {
  const GenerationRequest& request = queued->request;
  if (queued->path_load.admission == running_->last_admission()) return;
  queued->path_load = {0, 0, running_->last_admission()};
  context_->RefreshCache();
  const bool reuses = request.reuse || queued->has_begun();
  if (!reuses || queued->leaves_queue()) return;
  const Tokens& prompt = queued->was_admitted() ? queued->prefill_tokens : request.prompt;
  const auto match = context_->cache->Match(request.name_space, prompt);
  const std::vector<uint64_t> ids = context_->restorer.ToLoad(
      {request.name_space, prompt, true, &match, request.slot, queued->has_begun()});
  if (ids.empty()) return;
  queued->path_load.load = context_->cache->loader().Begin(ids);
  queued->path_load.begin_ms = context_->NowMs();
  loads_.emplace(queued->number, queued->path_load.load);
}

bool PathLoads::IsLoading(const QueuedRequest& queued) const {
  if (queued.path_load.load == 0 || queued.generation->cancelled()) return false;
  return context_->cache->loader().IsLoading(queued.path_load.load);
}

}  // namespace cairn
