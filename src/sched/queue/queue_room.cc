#include "sched/queue/queue_room.h"

#include <algorithm>
#include <map>

#include "sched/request/adapter_name_space.h"

namespace cairn {

std::optional<std::vector<size_t>> WhoLeaves(std::span<const QueuePlace> queue,
                                             NamespaceId name_space, size_t count, size_t limit) {
  std::vector<size_t> leave;
  if (queue.size() + count <= limit) return leave;
  std::map<NamespaceId, size_t> waiting;
  for (const QueuePlace& place : queue) ++waiting[OwnerOf(place.name_space)];
  const size_t wanted = waiting[OwnerOf(name_space)] + count;
  const size_t too_many = queue.size() + count - limit;
  for (size_t i = queue.size(); i > 0 && leave.size() < too_many; --i) {
    const auto most =
        std::max_element(waiting.begin(), waiting.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const QueuePlace& place = queue[i - 1];
    // If no namespace has more waiting requests than the newcomers', the newcomers are refused.
    if (most->second <= wanted) return std::nullopt;
    if (OwnerOf(place.name_space) != most->first || !place.may_leave) continue;
    leave.push_back(i - 1);
    --waiting[OwnerOf(place.name_space)];
  }
  if (leave.size() < too_many) return std::nullopt;
  return leave;
}

}  // namespace cairn
