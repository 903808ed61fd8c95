// AdapterSets: the LoRA adapters of a loaded model, and the sets of scales in which requests apply
// them. States that were computed with one set are of no use with another, so a set has a number
// that no other set ever gets.
//
//   SetOf(scales) ──> number ──Hold──> in use ──> at rest ──> freed, when there are too many
//
// The number of sets is bounded: for a new one, sets at rest are freed, those first that were asked
// for least recently of the owner with the most. Whoever asks for a freed set's scales again gets a
// new number, and the states of the old one are of no use any more (freed() tells that there are
// such).
//
// Thread-safe.

#ifndef CAIRN_ENGINE_ADAPTERS_ADAPTER_SETS_H_
#define CAIRN_ENGINE_ADAPTERS_ADAPTER_SETS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
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
  using Number = uint64_t;
  using Owner = uint64_t;  // the namespace of a key
  static constexpr size_t kSetsMax = 4096;
  // Sets that are freed at once, so that what depends on them is looked through less often.
  static constexpr size_t kFreedAtOnce = 64;

  // `start`: the set number 0, that of a server that was just started.
  AdapterSets(std::vector<Adapter> adapters, AdapterScales start);

  const std::vector<Adapter>& adapters() const { return adapters_; }

  // Returns the number of the set, which is the owner's from now on. Errors: kInvalidArgument if a
  // scale is no finite number, kUnavailable if there are kSetsMax sets and all are in use.
  // REQUIRES: one scale for each adapter.
  Result<Number> SetOf(AdapterScales scales, Owner owner = 0);
  // The set is in use, and so is not freed, while the result or a copy of it exists. kUnavailable
  // if it was freed.
  using Held = std::shared_ptr<const Number>;
  Result<Held> Hold(Number set) const;
  // False if the set was freed. REQUIRES of this and the next two: SetOf has returned `set`, or it
  // is 0.
  bool Keeps(Number set) const;
  // kUnavailable if the set was freed.
  Result<AdapterScales> ScalesOf(Number set) const;
  // Identifies the set in what outlives the process; empty if no adapter is applied. kUnavailable
  // if the set was freed.
  Result<std::string> DigestOf(Number set) const;

  // The set of requests that name none. It is not freed, and neither is the set 0.
  Number standing() const { return standing_.load(); }
  // kUnavailable if the set was freed.
  Status SetStanding(Number set);

  // The number of sets that were freed since the start.
  uint64_t freed() const { return freed_.load(); }

 private:
  struct Set {
    AdapterScales scales;
    Owner owner = 0;          // who asked for it last
    uint64_t asked_tick = 0;  // when that was
    Held held;                // copies of it are with those who use the set
  };

  const Set* Find(Number set) const REQUIRES(mutex_);
  void FreeSome() REQUIRES(mutex_);
  // Returns the set to free next; sets_.end() if all are in use.
  std::map<Number, Set>::iterator NextToFree(const std::map<Owner, size_t>& counts)
      REQUIRES(mutex_);

  const std::vector<Adapter> adapters_;
  mutable Mutex mutex_;
  std::map<Number, Set> sets_ GUARDED_BY(mutex_);
  std::map<AdapterScales, Number> numbers_ GUARDED_BY(mutex_);  // of sets_
  Number last_number_ GUARDED_BY(mutex_) = 0;
  uint64_t tick_ GUARDED_BY(mutex_) = 0;
  std::atomic<Number> standing_{0};  // written under mutex_
  std::atomic<uint64_t> freed_{0};
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_ADAPTERS_ADAPTER_SETS_H_
