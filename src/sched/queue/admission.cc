#include "sched/queue/admission.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sched/request/queue_order.h"

namespace cairn {

void Admission::UpdateShares() {
  std::set<NamespaceId> active;
  const auto add = [&](const RequestState& request) {
    if (!request.paused) active.insert(OwnerOf(request.request.name_space));
  };
  for (const RunningRequest& request : running_->all()) add(request);
  queue_->ForEach([&](QueuedRequest* queued) { add(*queued); });
  shares_->SetActive(active);
}

void Admission::EstimatePrefill(QueuedRequest* queued) {
  if (queued->estimate.admission == running_->last_admission()) return;
  const GenerationRequest& request = queued->request;
  const Tokens& prompt = queued->tokens();
  Restorer::Reach reach;
  if (queued->may_reuse()) {
    const auto match = MatchOf(*cache_, request.name_space, prompt, queued->reads_disk);
    reach = restorer_->ReachOf(
        {request.name_space, prompt, true, &match, request.slot, queued->has_begun()});
  }
  queued->estimate = {prompt.size() - reach.tokens, reach.shared_tokens,
                      running_->last_admission()};
}

void Admission::EstimatePrefills() {
  const std::vector<QueuedRequest*> ready = queue_->Ready();
  if (ready.size() < 2 && running_->empty()) return;
  for (QueuedRequest* queued : ready) EstimatePrefill(queued);
}

std::vector<QueuedRequest*> Admission::InQueueOrder(std::vector<QueuedRequest*> ready) const {
  if (ready.size() < 2 && running_->empty()) return ready;
  // Requests that arrived after EstimatePrefills have no estimate yet.
  std::erase_if(ready, [&](const QueuedRequest* queued) {
    return queued->estimate.admission != running_->last_admission();
  });
  const double now_ms = clock_->NowMs();
  std::vector<Contender> contenders;
  for (const QueuedRequest* queued : ready) {
    const bool goes_on = queued->was_admitted() && !queued->preempted;
    const double since_ms =
        queued->preempted ? queued->times.queued_ms : queued->times.submitted_ms;
    contenders.push_back({queued->number, queued->request.name_space, goes_on,
                          restorer_->PrefillMs(queued->estimate.tokens), now_ms - since_ms});
  }
  return InOrder(ready, contenders, *shares_);
}

bool Admission::UpdateLoads() {
  if (!cache_->saves()) return false;
  EstimatePrefills();
  const bool came = waits_.fetches.Update(InQueueOrder(queue_->Ready()));
  if (came) EstimatePrefills();
  return waits_.loads.Update(InQueueOrder(queue_->Ready())) || came;
}

bool Admission::WaitsForStates(const QueuedRequest& queued) const {
  return waits_.fetches.Waits(queued) || waits_.loads.Waits(queued) ||
         waits_.exchange.Waits(queued) || waits_.fills.Waits(queued);
}

bool Admission::PrepareSlots() {
  waits_.exchange.Begin();
  bool filled = waits_.fills.Step(queue_->Ready());
  size_t free_slots = pool_->free_slots();
  if (free_slots == 0) return filled;
  EstimatePrefills();
  const std::vector<QueuedRequest*> in_order = InQueueOrder(queue_->Ready());
  for (QueuedRequest* queued : in_order) {
    if (free_slots == 0 || !MayAdmit(*queued, {})) break;
    if (queued->leaves_queue() || waits_.prefix.Waits(*queued) || WaitsForStates(*queued)) continue;
    --free_slots;
    if (cache_->saves() && StoresFor(queued, in_order)) continue;
    // One that does not wait is admitted next.
    if (!waits_.fills.Begin(queued)) break;
    waits_.loads.End(*queued);
    filled = true;
  }
  return filled || waits_.exchange.stored();
}

bool Admission::StoresFor(QueuedRequest* queued, const std::vector<QueuedRequest*>& in_order) {
  SlotExchange::State state = waits_.exchange.Update(queued);
  if (state == SlotExchange::State::kNoRoom && waits_.loads.EndBehind(*queued, in_order)) {
    state = waits_.exchange.Update(queued);
  }
  // Others will not use for long what is loaded for them.
  if (state == SlotExchange::State::kNoRoom &&
      (waits_.fills.any() || waits_.loads.HasOther(*queued))) {
    waits_.exchange.Wait(*queued);
    return true;
  }
  return state == SlotExchange::State::kWaits;
}

std::optional<QueuedRequest> Admission::TakeNext() {
  EstimatePrefills();
  return queue_->TakeOne([this](std::deque<QueuedRequest>* queue) { return ChooseNext(queue); });
}

std::optional<size_t> Admission::ChooseNext(std::deque<QueuedRequest>* queue) {
  std::vector<QueuedRequest*> ready;
  for (QueuedRequest& queued : *queue) {
    if (queued.ready()) ready.push_back(&queued);
  }
  Reserved reserved;
  for (QueuedRequest* next : InQueueOrder(std::move(ready))) {
    if (!MayAdmit(*next, reserved)) return std::nullopt;
    const bool waits = waits_.prefix.Waits(*next);
    if (!waits && !WaitsForStates(*next)) {
      const auto found = std::find_if(queue->begin(), queue->end(), [next](const auto& queued) {
        return queued.number == next->number;
      });
      return static_cast<size_t>(found - queue->begin());
    }
    if (waits && !std::exchange(next->wait.counted, true)) {
      stats_->Update([](SchedulerStats* stats) { ++stats->waited_for_prefix; });
    }
    // A request that passes this one could take the very slot that it requests.
    if (next->request.slot) return std::nullopt;
    ++reserved.slots;
    reserved.tokens += next->request.prompt.size() - (waits ? next->wait.position : 0) + 1;
  }
  return std::nullopt;
}

// The cells of running requests stay occupied, and the rest of their prompts needs some too, so a
// prompt that does not fit beside them waits. Without the rest, a request that is preempted for it
// could come back before it is prefilled, and be preempted again, for ever. The prefix that the
// prompt will share with a running one is in cells already.
bool Admission::MayAdmit(const QueuedRequest& queued, const Reserved& reserved) const {
  if (queued.generation->cancelled()) return true;
  if (running_->empty()) return pool_->has_free();
  const size_t all = std::max(queued.request.prompt.size(), queued.prefill_tokens.size());
  const size_t tokens = all - std::min(all, queued.estimate.shared_tokens);
  const bool has_slot = pool_->free_slots() > reserved.slots;
  return has_slot &&
         pool_->HasRoomFor(tokens + 1 + running_->unprefilled_tokens() + reserved.tokens);
}

bool Admission::WantsSlot(const QueuedRequest& queued) const {
  if (!queued.ready() || queued.leaves_queue()) return false;
  return !waits_.prefix.Waits(queued) && !WaitsForStates(queued);
}

// The paused answer that arrived last; where a request named a slot, only the one in that slot.
bool Admission::PreemptPaused() {
  if (!running_->has_paused()) return false;
  const double paused_before_ms = clock_->NowMs() - options_.slow_reader_ms;
  RunningRequest* victim = nullptr;
  queue_->ForEach([&](QueuedRequest* queued) {
    if (!WantsSlot(*queued)) return;
    const std::optional<size_t>& wished = queued->request.slot;
    for (RunningRequest& request : running_->all()) {
      const bool is_slow = request.paused && request.paused_ms <= paused_before_ms;
      if (is_slow && (!wished || wished == request.slot)) victim = &request;
    }
  });
  if (victim == nullptr) return false;
  running_->Preempt(victim, true);
  return true;
}

std::set<NamespaceId> Admission::WaitingTooLong(double now_ms) const {
  std::set<NamespaceId> waiting;
  queue_->ForEach([&](QueuedRequest* queued) {
    const bool too_long = now_ms - queued->times.queued_ms > options_.share_wait_ms;
    if (too_long && WantsSlot(*queued)) waiting.insert(OwnerOf(queued->request.name_space));
  });
  return waiting;
}

RunningRequest* Admission::ShareVictim(const std::set<NamespaceId>& waiting, double now_ms) {
  std::map<NamespaceId, size_t> held;
  for (const RunningRequest& request : running_->all()) {
    if (request.slot) ++held[OwnerOf(request.request.name_space)];
  }
  const NamespaceId waits =
      *std::min_element(waiting.begin(), waiting.end(),
                        [&](NamespaceId a, NamespaceId b) { return held[a] < held[b]; });
  RunningRequest* victim = nullptr;
  for (RunningRequest& request : running_->all()) {
    const NamespaceId name_space = OwnerOf(request.request.name_space);
    const bool more = held[name_space] > held[waits] + 1 || held[waits] == 0;
    if (!request.slot || request.has_placeholder || name_space == waits || !more) continue;
    if (now_ms - request.slot_ms <= options_.share_wait_ms) continue;
    if (shares_->UsedMs(name_space) < shares_->UsedMs(waits)) continue;
    if (victim == nullptr || held[name_space] >= held[OwnerOf(victim->request.name_space)]) {
      victim = &request;
    }
  }
  return victim;
}

void Admission::PreemptForShare() {
  const double now_ms = clock_->NowMs();
  const std::set<NamespaceId> waiting = WaitingTooLong(now_ms);
  if (waiting.empty()) return;
  RunningRequest* const victim = ShareVictim(waiting, now_ms);
  if (victim != nullptr) running_->Preempt(victim, true);
}

}  // namespace cairn
