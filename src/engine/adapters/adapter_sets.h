// AdapterSets: the LoRA adapters of a loaded model, and the sets of scales in which requests apply
// them. A set has a number for the life of the process; states that were computed with one set are
// of no use with another.
//
// Thread-safe.

#ifndef CAIRN_ENGINE_ADAPTERS_ADAPTER_SETS_H_
#define CAIRN_ENGINE_ADAPTERS_ADAPTER_SETS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"

namespace cairn {

struct Adapter {
  std::string path;
  std::string digest;  // identifies the content, whatever its path is
  std::string task_name;
  std::string prompt_prefix;
};

// The scale of each adapter, in their order; 0: it is not applied.
using AdapterScales = std::vector<float>;

class AdapterSets {
 public:
  using Number = uint32_t;
  using Owner = uint32_t;  // the namespace of a key
  static constexpr Number kSetsMax = 4096;
  // Half of the sets are for whoever asks first. Of the others each owner gets so many at most, so
  // that no owner can use up all of them.
  static constexpr Number kSharedSets = kSetsMax / 2;
  static constexpr Number kOwnSetsMax = 64;

  // `start`: the set number 0, that of a server that was just started.
  AdapterSets(std::vector<Adapter> adapters, AdapterScales start);

  const std::vector<Adapter>& adapters() const { return adapters_; }

  // Returns the number of the set, a new one of the owner's if nobody has asked for it before.
  // kInvalidArgument: a scale is no finite number. kUnavailable: there are as many sets as there
  // can be, or as this owner may add. REQUIRES: one scale for each adapter.
  Result<Number> SetOf(AdapterScales scales, Owner owner = 0);
  // REQUIRES: SetOf has returned `set`, or it is 0.
  AdapterScales ScalesOf(Number set) const;
  // Identifies the set in what outlives the process; empty if no adapter is applied.
  std::string DigestOf(Number set) const;

  // The set of requests that name none.
  Number standing() const { return standing_.load(); }
  void SetStanding(Number set) { standing_.store(set); }

 private:
  const std::vector<Adapter> adapters_;
  mutable std::mutex mutex_;
  std::vector<AdapterScales> sets_;          // guarded by mutex_
  std::map<AdapterScales, Number> numbers_;  // of sets_, guarded by mutex_
  std::map<Owner, Number> own_sets_;         // beyond the shared half, guarded by mutex_
  std::atomic<Number> standing_{0};
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_ADAPTERS_ADAPTER_SETS_H_
