// QueueOrder: who comes first among requests that want the same thing, a slot or the next piece.
//
//   1. those that were at work before and gave up their slot, the oldest first
//   2. the namespace that has had the least of the machine's time
//   3. within it, the one with the least left to read; each millisecond that one has waited counts
//      as one less, so that a long prompt's time comes however many short ones arrive
//
// Between namespaces this is start-time fair queueing (Goyal, Vin, Cheng 1996): one that comes back
// after a rest begins level with the others and has no claim to the time it did not want.
//
// Pure; one thread at a time.

#ifndef CAIRN_SCHED_QUEUE_QUEUE_ORDER_H_
#define CAIRN_SCHED_QUEUE_QUEUE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "cache/checkpoint_cache.h"

namespace cairn {

// What each namespace has had of the machine's time.
class FairShares {
 public:
  // Who has something to do now. To be told before the shares are asked for.
  void SetActive(const std::set<NamespaceId>& active);
  void Charge(NamespaceId name_space, double ms) { used_ms_[name_space] += ms; }
  // Comparable between those that are active.
  double UsedMs(NamespaceId name_space) const;

 private:
  std::set<NamespaceId> active_;
  std::map<NamespaceId, double> used_ms_;
};

struct Contender {
  uint64_t number = 0;  // in the order of arrival
  NamespaceId name_space = 0;
  bool goes_on = false;   // it was at work before
  double prefill_ms = 0;  // that reading the rest of its prompt will take
  double waited_ms = 0;
};

// Indices of `contenders`, who comes first first.
std::vector<size_t> InOrder(std::span<const Contender> contenders, const FairShares& shares);

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_QUEUE_ORDER_H_
