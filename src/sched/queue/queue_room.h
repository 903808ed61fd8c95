// WhoLeaves: chooses the requests that leave a full queue. No namespace owns places, so a namespace
// that fills the queue would shut all others out. The newest requests of the namespace with the
// most waiting requests leave for one with fewer.
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
  bool may_leave = true;  // false: it was running before, and its client has received some of it
};

// `queue`: the waiting requests, oldest first. Returns the indices of those that leave so that
// `count` more of `name_space` have room within `limit`; nullopt if the newcomers are refused.
std::optional<std::vector<size_t>> WhoLeaves(std::span<const QueuePlace> queue,
                                             NamespaceId name_space, size_t count, size_t limit);

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_QUEUE_ROOM_H_
