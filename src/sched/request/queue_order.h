// QueueOrder: orders requests that compete for a slot or for the next chunk.
//
//   1. preempted requests, the oldest first
//   2. the namespace that has used the least of the machine's time
//   3. within it, the request with the least left to prefill. Each millisecond of waiting counts as
//      one millisecond less, so a long prompt is not starved by short ones
//
// Between namespaces this is start-time fair queueing (Goyal, Vin, Cheng 1996): a namespace that
// was idle starts level with the others and has no claim to the time it did not use.
//
// Pure; one thread at a time.

#ifndef CAIRN_SCHED_REQUEST_QUEUE_ORDER_H_
#define CAIRN_SCHED_REQUEST_QUEUE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "cache/checkpoint_cache.h"
#include "sched/request/adapter_name_space.h"

namespace cairn {

// FairShares: how much of the machine's time each namespace has used. All adapters of a key count
// as one (sched/request/adapter_name_space.h).
class FairShares {
 public:
  // Sets the namespaces that have work now. Call it before UsedMs.
  void SetActive(const std::set<NamespaceId>& active);
  void Charge(NamespaceId name_space, double ms) { used_ms_[OwnerOf(name_space)] += ms; }
  // Comparable between active namespaces only.
  double UsedMs(NamespaceId name_space) const;

 private:
  std::set<NamespaceId> active_;
  std::map<NamespaceId, double> used_ms_;
};

struct Contender {
  uint64_t number = 0;  // the order of arrival
  NamespaceId name_space = 0;
  bool goes_on = false;   // it was running before
  double prefill_ms = 0;  // the time to prefill the rest of its prompt
  double waited_ms = 0;
};

// Returns the indices of `contenders` in their order, first in line first.
std::vector<size_t> InOrder(std::span<const Contender> contenders, const FairShares& shares);
// Returns `requests` in the order of `contenders`, which are theirs.
template <typename Request>
std::vector<Request*> InOrder(const std::vector<Request*>& requests,
                              std::span<const Contender> contenders, const FairShares& shares) {
  std::vector<Request*> in_order;
  for (const size_t index : InOrder(contenders, shares)) in_order.push_back(requests[index]);
  return in_order;
}

}  // namespace cairn

#endif  // CAIRN_SCHED_REQUEST_QUEUE_ORDER_H_
