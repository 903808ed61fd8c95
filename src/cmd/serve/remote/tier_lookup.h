// TierLookup: the scheduler's view of a RemoteTier.
//
// Threads: the context thread.

#ifndef CAIRN_CMD_SERVE_REMOTE_TIER_LOOKUP_H_
#define CAIRN_CMD_SERVE_REMOTE_TIER_LOOKUP_H_

#include <utility>

#include "remote/remote_tier.h"
#include "sched/queue/remote_lookup.h"

namespace cairn {

class TierLookup final : public RemoteLookup {
 public:
  // `tier` outlives it.
  explicit TierLookup(RemoteTier* tier) : tier_(tier) {}

  Ticket Begin(Ask ask) override {
    return tier_->Begin({ask.name_space, std::move(ask.tokens), ask.reach_tokens,
                         ask.prefill_ms_per_token, ask.needs_snapshots, ask.snapshots_need_kv});
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

 private:
  RemoteTier* const tier_;
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_REMOTE_TIER_LOOKUP_H_
