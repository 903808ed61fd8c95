// The policies of `cairn serve`, made from the flags, which are checked against one another.

#ifndef CAIRN_CMD_SERVE_SERVE_POLICIES_H_
#define CAIRN_CMD_SERVE_SERVE_POLICIES_H_

#include <memory>

#include "api/service/chat_service.h"
#include "base/provenance.h"
#include "base/result.h"
#include "chat/spans/late_values.h"
#include "chat/spans/volatile_text.h"
#include "cmd/serve/base/serve_options.h"
#include "policy/eviction.h"
#include "policy/placement.h"
#include "sched/context/scheduler_options.h"

namespace cairn {

struct Policies {
  std::unique_ptr<PlacementPolicy> placement;
  std::unique_ptr<EvictionPolicy> eviction;
  ReuseMode reuse = ReuseMode::kLive;
  std::shared_ptr<VolatileText> volatile_text;  // null without patterns
  std::shared_ptr<LateValues> late_values;      // null if none are told late
};

// Call before anything takes time. kInvalidArgument names the flag, or the two that exclude each
// other.
Result<Policies> MakePolicies(const ServeOptions& options);

// Whether values that change in the old part of a conversation are told at its newest message.
bool TellsVolatileLate(const ServeOptions& options);

// Returns whether there are checkpoints. Without them nothing is cached: the baseline for
// comparisons.
bool KeepsCheckpoints(const ServeOptions& options);

// The options of the scheduler, as far as the flags say them.
SchedulerOptions ToSchedulerOptions(const ServeOptions& options, ReuseMode reuse);

// How prompts are made, as far as the flags say it.
ChatServiceOptions ToServiceOptions(const ServeOptions& options, const Policies& policies);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_SERVE_POLICIES_H_
