// TierLookup: the scheduler's view of a RemoteTier.
//
// Threads: as RemoteLookup says.

#ifndef CAIRN_CMD_SERVE_REMOTE_TIER_LOOKUP_H_
#define CAIRN_CMD_SERVE_REMOTE_TIER_LOOKUP_H_

#include <utility>

#include "remote/tier/remote_tier.h"
#include "sched/request/remote_lookup.h"

namespace cairn {

class TierLookup final : public RemoteLookup {
 public:
  // `tier` outlives it.
  explicit TierLookup(RemoteTier* tier) : tier_(tier) {}

  Ticket Begin(Ask ask) override {
    return tier_->Begin({ask.name_space, std::move(ask.tokens), ask.reach_tokens,
                         ask.prefill_ms_per_token, ask.needs_snapshots, ask.snapshots_need_kv,
                         ask.kv_bytes_per_token, ask.snapshot_bytes});
  }
  State StateOf(Ticket ticket) override {
    switch (tier_->StateOf(ticket)) {
      case RemoteTier::State::kLooking:
        return State::kLooking;
      case RemoteTier::State::kFetching:
        return State::kFetching;
      case RemoteTier::State::kDone:
        return State::kDone;
    }
    return State::kDone;
  }
  void End(Ticket ticket) override { tier_->End(ticket); }
  void SetDraining(bool draining) override { tier_->SetDraining(draining); }
  RemoteFigures figures() const override {
    const RemoteStats stats = tier_->stats();
    RemoteFigures figures;
    figures.on = true;
    figures.lookups = stats.lookups;
    figures.hits = stats.hits;
    figures.too_slow = stats.too_slow;
    figures.fetched = stats.fetched;
    figures.fetched_bytes = stats.fetched_bytes;
    figures.fetch_ms = stats.fetch_ms;
    figures.uploaded = stats.uploaded;
    figures.uploaded_bytes = stats.uploaded_bytes;
    figures.corrupt = stats.corrupt;
    figures.stale = stats.stale;
    figures.failures = stats.failures;
    figures.to_upload = stats.to_upload;
    figures.open = stats.open;
    figures.refusing = stats.refusing;
    return figures;
  }

 private:
  RemoteTier* const tier_;
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_REMOTE_TIER_LOOKUP_H_
