#include "sched/queue/remote_waits.h"

#include <algorithm>
#include <utility>

namespace cairn {

bool RemoteWaits::Update(const std::vector<QueuedRequest*>& in_order) {
  if (remote_ == nullptr) return false;
  std::erase_if(tickets_, [&](const auto& pair) {
    const bool is_queued =
        std::any_of(in_order.begin(), in_order.end(),
                    [&](const QueuedRequest* queued) { return queued->number == pair.first; });
    if (!is_queued) remote_->End(pair.second);
    return !is_queued;
  });
  bool ended = false;
  for (QueuedRequest* queued : in_order) {
    if (!std::exchange(queued->remote.asked, true)) Ask(queued);
    if (tickets_.contains(queued->number)) ended = Poll(queued) || ended;
  }
  if (ended) RefreshCache(cache_, clock_->NowMs());
  CountFetching();
  return ended;
}

void RemoteWaits::Ask(QueuedRequest* queued) {
  // A request that was preempted had its states.
  if (!queued->may_reuse() || queued->was_admitted() || queued->leaves_queue()) return;
  const GenerationRequest& request = queued->request;
  ObjectTable& objects = *cache_->objects();
  const auto name_space = objects.saved_as().NameOf(request.name_space);
  if (!name_space) return;
  const auto match = cache_->Match(request.name_space, request.prompt);
  RemoteLookup::Ask ask;
  ask.name_space = *name_space;
  ask.tokens = request.prompt;
  ask.reach_tokens =
      restorer_->ReachOf({request.name_space, request.prompt, true, &match, request.slot}).tokens;
  ask.prefill_ms_per_token = restorer_->prefill_ms_per_token();
  ask.needs_snapshots = objects.slots().needs_snapshots;
  ask.snapshots_need_kv = objects.slots().snapshots_need_kv;
  ask.kv_bytes_per_token = model_->traits().kv_bytes_per_token;
  ask.snapshot_bytes = model_->traits().snapshot_bytes + model_->info().vocab_size * sizeof(float);
  const RemoteLookup::Ticket ticket = remote_->Begin(std::move(ask));
  queued->remote.begin_ms = clock_->NowMs();
  if (ticket != 0) tickets_.emplace(queued->number, ticket);
}

bool RemoteWaits::Poll(QueuedRequest* queued) {
  const auto ticket = tickets_.find(queued->number);
  queued->times.fetch_ms = clock_->NowMs() - queued->remote.begin_ms;
  if (remote_->StateOf(ticket->second) != RemoteLookup::State::kDone) return false;
  remote_->End(ticket->second);
  tickets_.erase(ticket);
  // The path and the estimate were chosen without what came.
  queued->path_load.admission.reset();
  queued->estimate.admission.reset();
  return true;
}

bool RemoteWaits::Waits(const QueuedRequest& queued) const {
  if (remote_ == nullptr || queued.leaves_queue()) return false;
  return tickets_.contains(queued.number) && !queued.generation->cancelled();
}

void RemoteWaits::CountFetching() {
  if (std::exchange(fetching_, tickets_.size()) == tickets_.size()) return;
  stats_->Update(
      [count = tickets_.size()](SchedulerStats* stats) { stats->open.fetching = count; });
}

}  // namespace cairn
