// Eviction: chooses the object to evict when a budget is full. This is the header of policy/ that
// others include for it; the policies stand in eviction.cc.

#ifndef CAIRN_POLICY_EVICTION_H_
#define CAIRN_POLICY_EVICTION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/placement.h"
#include "policy/policy_summary.h"

namespace cairn {

// A snapshot and a segment, the parts of a checkpoint, can be evicted independently; so can the
// full state of a slot.
enum class CandidateKind : uint8_t { kSnapshot, kSegment, kFullState };

// An object that may be evicted: it is not in use and not pinned.
//
//   0 ---- ancestor_position ---- position ---- descendant_position ----
//                    '- recompute_tokens -'
struct EvictionCandidate {
  uint64_t id = 0;
  size_t position = 0;  // of a segment: its end
  size_t bytes = 0;     // freed by its eviction
  CheckpointClass checkpoint_class = CheckpointClass::kInterval;
  // Ticks of the cache's own counter, which goes up with every use.
  uint64_t created_tick = 0;
  uint64_t used_tick = 0;
  CandidateKind kind = CandidateKind::kSnapshot;
  // Ticks since the last use, or since it was made.
  uint64_t age_ticks = 0;
  // The number of prompts that resumed from it.
  uint64_t uses = 0;
  // Tokens that a prompt which needs it must recompute once it is gone: those after the nearest
  // ancestor that stays.
  size_t recompute_tokens = 0;
  // The nearest others on the same path. 0 if there is none (for the ancestor: the prompt's
  // beginning).
  size_t ancestor_position = 0;
  size_t descendant_position = 0;
  // Paths that continue from here; two or more make a branching point.
  size_t branches = 0;
  // It is unreachable: a snapshot whose attention KV is neither stored nor in a slot, or attention
  // KV on which no snapshot stands.
  bool leads_nowhere = false;
  // A snapshot that only prompts which go back need: a later prompt of its conversation has others.
  bool passed = false;
  // A slot holds it too. While it does, evicting this object costs no prefill; when the slot loses
  // it, only a copy.
  bool in_slot = false;
};

class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;
  // Returns the indices of at most `count` candidates that would be evicted one after the other if
  // none changed meanwhile, so that all are ranked once and not for each eviction. A policy that
  // compares candidates with each other returns one. Empty: the new object is refused. A pure
  // function of its arguments, independent of the candidates' order. Among equals the one unused
  // for longest is evicted. REQUIRES: there is a candidate, and count > 0.
  virtual std::vector<size_t> Victims(std::span<const EvictionCandidate> candidates,
                                      size_t count) const = 0;
  // Returns the first victim.
  std::optional<size_t> Victim(std::span<const EvictionCandidate> candidates) const;
};

// kInvalidArgument for an unknown name; the message lists the policies.
Result<std::unique_ptr<EvictionPolicy>> MakeEviction(std::string_view name);

// Sorted by name.
std::vector<PolicySummary> EvictionSummaries();

// For policies: the order of last use, which also decides among equals; and the first candidate in
// it.
bool LongerUnused(const EvictionCandidate& a, const EvictionCandidate& b);
size_t LongestUnused(std::span<const EvictionCandidate> candidates);
// Returns the first `count` of the indices [0, size) in the order of `before`.
template <typename Before>
std::vector<size_t> FirstIndices(size_t size, size_t count, const Before& before) {
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(size, count));
  std::partial_sort(order.begin(), end, order.end(), before);
  order.erase(end, order.end());
  return order;
}

}  // namespace cairn

#endif  // CAIRN_POLICY_EVICTION_H_
