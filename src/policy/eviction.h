// Eviction: which checkpoint to give up when a budget is full. This is the header of policy/ that
// others include for it; each policy is a file of its own behind it.

#ifndef CAIRN_POLICY_EVICTION_H_
#define CAIRN_POLICY_EVICTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "policy/placement.h"

namespace cairn {

// A checkpoint that may be given up: nobody is using it.
struct EvictionCandidate {
  uint64_t id = 0;
  size_t position = 0;
  size_t bytes = 0;
  CheckpointClass checkpoint_class = CheckpointClass::kInterval;
  // Ticks of the cache's own counter, which goes up with every use.
  uint64_t created_tick = 0;
  uint64_t used_tick = 0;
};

class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;
  // The index of the candidate to give up, or nothing: then what wanted the room is refused.
  // REQUIRES: there is a candidate.
  virtual std::optional<size_t> Victim(std::span<const EvictionCandidate> candidates) const = 0;
};

// kInvalidArgument names the policies there are.
Result<std::unique_ptr<EvictionPolicy>> MakeEviction(std::string_view name);

// Each with its file.
std::unique_ptr<EvictionPolicy> MakeLruEviction();
std::unique_ptr<EvictionPolicy> MakeNoneEviction();

}  // namespace cairn

#endif  // CAIRN_POLICY_EVICTION_H_
