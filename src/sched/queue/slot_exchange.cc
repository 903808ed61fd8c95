#include "sched/queue/slot_exchange.h"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

// The most that a request waits, as a share of the prefill that it spares others.
constexpr double kExchangeShare = 0.25;
constexpr double kExchangeMsMax = 10'000;

}  // namespace

void SlotExchange::Begin() {
  waiting_.clear();
  stored_ = false;
}

SlotExchange::State SlotExchange::Update(QueuedRequest* queued) {
  const GenerationRequest& request = queued->request;
  const Tokens& prompt = queued->tokens();
  CheckpointCache::MatchResult match;
  if (queued->may_reuse()) match = MatchOf(*cache_, request.name_space, prompt, queued->reads_disk);
  const double now_ms = clock_->NowMs();
  for (const Restorer::Losing& losing :
       restorer_->SlotsToStore({request.name_space, prompt, queued->may_reuse(), &match,
                                request.slot, queued->has_begun()})) {
    if (!queued->exchange_ms) queued->exchange_ms = now_ms;
    const double most_ms =
        std::min(kExchangeMsMax, kExchangeShare * restorer_->PrefillMs(losing.lost_tokens));
    if (now_ms - *queued->exchange_ms > most_ms) return State::kReady;
    const State state = StoresForAnother(*queued) ? State::kWaits : StoreParts(losing.slot);
    if (state == State::kWaits) Wait(*queued);
    if (state != State::kReady) return state;
  }
  return State::kReady;
}

bool SlotExchange::StoresForAnother(const QueuedRequest& queued) {
  if (!waiting_.empty()) return true;
  if (std::exchange(request_, queued.number) == queued.number) return false;
  storing_.reset();
  tried_.clear();
  return false;
}

SlotExchange::State SlotExchange::StoreParts(size_t slot) {
  if (tried_.contains(slot)) return State::kReady;
  bool begins = std::exchange(storing_, slot) != slot;
  while (cache_->TakesPartAtOnce()) {
    const Offloader::StoredPart stored = offloader_->StoreNextPart(slot, begins);
    if (stored == Offloader::StoredPart::kNoRoom) return State::kNoRoom;
    if (stored == Offloader::StoredPart::kNothing) {
      tried_.insert(slot);
      return State::kReady;
    }
    begins = false;
    stored_ = true;
    if (running_->has_decoding()) break;
  }
  return State::kWaits;
}

}  // namespace cairn
