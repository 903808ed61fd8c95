// Eviction: which checkpoint to give up when a budget is full. This is the header of policy/ that
// others include for it; each policy is a file of its own behind it.

#ifndef CAIRN_POLICY_EVICTION_H_
#define CAIRN_POLICY_EVICTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/placement.h"
#include "policy/policy_summary.h"

namespace cairn {

// The two things that a checkpoint consists of, each of which can be given up without the other;
// and a slot stored whole.
enum class CandidateKind : uint8_t { kSnapshot, kSegment, kFullState };

// Something that may be given up: nobody is using it, and it is not pinned.
//
//   0 ---- ancestor_position ---- position ---- descendant_position ----
//                    '- reread_tokens -'
struct EvictionCandidate {
  uint64_t id = 0;
  size_t position = 0;  // of a segment: its end
  size_t bytes = 0;     // that become free
  CheckpointClass checkpoint_class = CheckpointClass::kInterval;
  // Ticks of the cache's own counter, which goes up with every use.
  uint64_t created_tick = 0;
  uint64_t used_tick = 0;
  CandidateKind kind = CandidateKind::kSnapshot;
  // Since the last use, or since it was made.
  uint64_t age_ticks = 0;
  // Prompts that resumed from it.
  uint64_t uses = 0;
  // What a prompt that wants it must read again once it is gone: from the nearest ancestor that
  // stays.
  size_t reread_tokens = 0;
  // The nearest others on the same path. 0: there is none (for the ancestor: the prompt's begin).
  size_t ancestor_position = 0;
  size_t descendant_position = 0;
  // Paths that go on from here; two or more make a branching point.
  size_t branches = 0;
  // Nothing leads there any more, or from there: a snapshot whose attention KV is neither stored
  // nor in a slot, or attention KV that no snapshot stands on.
  bool leads_nowhere = false;
  // A slot holds it too: while it does, giving this up costs no reading, and when it lets go, only
  // a copy.
  bool in_slot = false;
};

class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;
  // Indices of at most `count` candidates that would go one after the other if none changed
  // meanwhile, so that all are ranked once and not for each that goes. A policy that compares
  // candidates with each other names one alone. None: what wanted the room is refused. A pure
  // function of its arguments; the order of the candidates says nothing. Among equals the longest
  // unused goes. REQUIRES: there is a candidate, and count > 0.
  virtual std::vector<size_t> Victims(std::span<const EvictionCandidate> candidates,
                                      size_t count) const = 0;
  // The first of them.
  std::optional<size_t> Victim(std::span<const EvictionCandidate> candidates) const;
};

// kInvalidArgument names the policies there are.
Result<std::unique_ptr<EvictionPolicy>> MakeEviction(std::string_view name);

// In the order of their names.
std::vector<PolicySummary> EvictionSummaries();

// Each with its file.
std::unique_ptr<EvictionPolicy> MakeClosestPairEviction();
std::unique_ptr<EvictionPolicy> MakeFifoEviction();
std::unique_ptr<EvictionPolicy> MakeLruEviction();
std::unique_ptr<EvictionPolicy> MakeMarconiEviction();
std::unique_ptr<EvictionPolicy> MakeNoneEviction();
std::unique_ptr<EvictionPolicy> MakeValueEviction();

// For policies: the order of last use, which also decides among equals; and the first in it.
bool LongerUnused(const EvictionCandidate& a, const EvictionCandidate& b);
size_t LongestUnused(std::span<const EvictionCandidate> candidates);
// The first `count` indices of `size` by `before`.
std::vector<size_t> FirstIndices(size_t size, size_t count,
                                 const std::function<bool(size_t a, size_t b)>& before);

}  // namespace cairn

#endif  // CAIRN_POLICY_EVICTION_H_
