// PrefixReporter: reports to a PrefixWatcher (tree/prefix_change.h) how the prefixes change that
// the next prompt can resume from. Each kind of memory has its own:
//
//   every model               the contents of slots
//   no snapshots needed       segments on the grid, and checkpoints at the ends of runs off it
//   snapshots and segments    checkpoints whose attention KV is stored
//   snapshots alone           checkpoints
//   whole states              those
//
// The cost is proportional to what changed, not to what the cache holds: the cache notes the ids of
// its objects that changed, a slot notes from where on its tokens differ, and only tokens that the
// watcher does not know yet are copied.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_UPKEEP_PREFIX_REPORTER_H_
#define CAIRN_SCHED_UPKEEP_PREFIX_REPORTER_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/provenance.h"
#include "cache/checkpoint_cache.h"
#include "engine/engine.h"
#include "sched/slots/slot_pool.h"
#include "tree/prefix_change.h"

namespace cairn {

class PrefixReporter {
 public:
  // How often a busy thread reports.
  static constexpr double kIntervalMs = 50;

  // All must outlive this object. `exact`: see ReuseMode. Does nothing if there is no `watcher`.
  PrefixReporter(const Model* model, CheckpointCache* cache, const Clock* clock, SlotPool* pool,
                 bool exact, PrefixWatcher* watcher);

  // Reports if the last time is long enough ago.
  void StepWhileBusy();
  // Reports all that has changed.
  void Report();

 private:
  // A part of the cache that the watcher knows.
  struct Known {
    uint64_t base = 0;
    PrefixTier tier = PrefixTier::kMemory;
    bool is_segment = false;
  };
  using Changes = std::vector<PrefixChange>;

  // Whether prompts may resume at all.
  bool MayReuse() const;
  void ReportCache(Changes* changes);
  void ReportSegment(const SegmentIndex::Segment& segment, Changes* changes);
  void ReportFullState(const FullState& whole, Changes* changes);
  void ReportCheckpoint(const CheckpointEntry& entry, Changes* changes);
  // Reports a part that is new, has another base or lies in another tier. `fill`: adds the rest of
  // the change for the first two.
  template <typename Fill>
  void ReportPart(PrefixChange change, bool is_segment, const Fill& fill, Changes* changes);
  void ReportGone(std::vector<uint64_t> ids, Changes* changes);
  void ReportSlot(size_t index, Changes* changes);
  PrefixTier TierOf(uint64_t id) const;
  // The number of first tokens of a sequence from which prompts may resume.
  size_t ResumableTokens(size_t tokens, const Provenance& provenance) const;

  const Model* const model_;
  ObjectTable* const table_;
  const Clock* const clock_;
  SlotPool* const pool_;
  const bool exact_;
  PrefixWatcher* const watcher_;
  std::unordered_map<uint64_t, Known> known_;
  std::vector<size_t> slot_tokens_;  // that the watcher knows
  double reported_ms_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_UPKEEP_PREFIX_REPORTER_H_
