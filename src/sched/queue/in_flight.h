// Sharing in flight: a request whose prompt begins as one that is being read right now waits in the
// queue until that much is read, and goes on from there.
//
//   reading   | header, tools | task of A ......................... |
//                             '- stops here for a checkpoint
//   queued    | header, tools | task of B |           waits until then, forks, reads its task
//   queued    | header, tools | task of A ......................... |     waits until the end,
//   reads
//                                                                         nothing
//
// Waiting takes no time from who waits: prompts are read one at a time, and who is waited for has
// the better of both places in the order of reading. Nobody waits in a ring or for ever: who is
// waited for has a slot and reads.
//
// Pure functions; any thread. Who waits for whom is the scheduler's affair
// (sched/queue/prefix_waits.h).

#ifndef CAIRN_SCHED_QUEUE_IN_FLIGHT_H_
#define CAIRN_SCHED_QUEUE_IN_FLIGHT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/tokens.h"
#include "policy/placement.h"

namespace cairn {

// Waiting must spare at least so many tokens: one step of the usual grid, the least that is won
// there. It costs nothing but the snapshot that the reader takes.
inline constexpr size_t kSparedTokensMin = 64;
// A checkpoint that is planned less than this before the place where two prompts part serves both.
inline constexpr size_t kStopNearTokens = 64;

// What a queued request has to do with those that read. Each pair is compared once.
struct PrefixWait {
  uint64_t met = 0;     // the last admission whose prompt it was compared with
  uint64_t reader = 0;  // the admission that it waits for; 0: none
  size_t position = 0;  // how far that one must have read
  bool counted = false;
};

// The deepest position at which `waiter` could go on from what `reader` will have read: on the grid
// and before its last piece; of one and the same prompt the end, where `keeps_ends`. 0: none.
// REQUIRES: neither is empty.
size_t SharedPoint(TokenSpan reader, TokenSpan waiter, size_t grid_tokens, bool keeps_ends);

// The stop of `plan` (nearest first) that will do for `position`, or `position` itself.
size_t StopFor(const std::vector<Placement>& plan, size_t position);
// Adds a checkpoint where prompts part, unless there is one.
void AddStop(size_t position, std::vector<Placement>* plan);

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_IN_FLIGHT_H_
