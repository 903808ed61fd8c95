// WhoLeaves: who makes room in a full queue. The places belong to nobody, so a namespace that fills
// them would shut all others out; the newest requests of the one that waits with most leave for one
// that waits with fewer.
//
//   limit 6    | A A A A A A |   <- B       the newest of A leaves
//              | A A A A A B |   <- A       refused: A waits with most itself
//
// Pure; any thread.

#ifndef CAIRN_SCHED_QUEUE_QUEUE_ROOM_H_
#define CAIRN_SCHED_QUEUE_QUEUE_ROOM_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cache/checkpoint_cache.h"

namespace cairn {

struct QueuePlace {
  NamespaceId name_space = 0;
  bool may_leave = true;  // false: it was at work before, and its client has seen some of it
};

// `queue`: those that wait, oldest first. Indices of those that leave so that `count` more of
// `name_space` have room among `limit`; nothing: the newcomers are refused.
std::optional<std::vector<size_t>> WhoLeaves(std::span<const QueuePlace> queue,
                                             NamespaceId name_space, size_t count, size_t limit);

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_QUEUE_ROOM_H_
