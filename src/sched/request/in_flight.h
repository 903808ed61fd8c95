// Sharing in flight: a request whose prompt shares a prefix with one that is being computed waits
// in the queue until that prefix is computed, and continues from there.
//
//   computing | system prefix, tools | task of A ............ |
//                                    '- stops here for a checkpoint
//   queued    | system prefix, tools | task of B |     waits until then, forks, prefills its task
//   queued    | system prefix, tools | task of A ............ |     waits until the end, prefills
//                                                                   nothing
//
// Waiting does not delay the request that waits: prompts are computed one at a time, and the
// running request has the better of both places in the order. Waits form no ring and always end: a
// running request has a slot and makes progress.
//
// Pure functions; any thread. sched/queue/prefix_waits.h decides which request waits for which.

#ifndef CAIRN_SCHED_REQUEST_IN_FLIGHT_H_
#define CAIRN_SCHED_REQUEST_IN_FLIGHT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/tokens.h"
#include "policy/placement.h"

namespace cairn {

// Waiting must spare at least this many tokens: one step of the usual grid, the least that can be
// gained. Its only cost is the snapshot that the running request takes.
inline constexpr size_t kSparedTokensMin = 64;
// A checkpoint that is planned less than this many tokens before the divergence of two prompts
// serves both.
inline constexpr size_t kStopNearTokens = 64;

// The relation of a queued request to the running ones. Each pair is compared once.
struct PrefixWait {
  uint64_t met = 0;     // the last admission whose prompt it was compared with
  uint64_t reader = 0;  // the admission that it waits for; 0 if none
  size_t position = 0;  // the position that the reader must have computed
  bool counted = false;
};

// Returns the deepest position at which `waiter` could continue from what `reader` will have
// computed: on the grid and before its last chunk; or the end, if both prompts are equal and
// `keeps_ends` is set. 0 if there is none. REQUIRES: neither is empty.
size_t SharedPoint(TokenSpan reader, TokenSpan waiter, const CutRules& rules, bool keeps_ends);

// Returns the stop of `plan` (nearest first) that serves for `position`, or `position` itself.
size_t StopFor(const std::vector<Placement>& plan, size_t position);
// Adds a checkpoint where prompts diverge, unless there is one.
void AddStop(size_t position, std::vector<Placement>* plan);

}  // namespace cairn

#endif  // CAIRN_SCHED_REQUEST_IN_FLIGHT_H_
