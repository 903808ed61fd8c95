// SlotKeeper: what passes between a slot and the cache. It brings the slot to the furthest point of
// a prompt that it can reach without reading, takes the checkpoints that were planned, and saves
// what a slot is about to lose:
//
//   slot   | header | conversation A, 9,000 tokens |      a prompt of conversation B comes
//            kept     '--- parked: segments + snapshot     ─> and A comes back by a join
//
// Whatever goes wrong here costs reading, never an answer: the slot is then empty or where it was,
// what could not be used is forgotten and counted, and the prompt is read.
//
// Threads: the one that owns the context.

#ifndef CAIRN_SCHED_SLOT_KEEPER_H_
#define CAIRN_SCHED_SLOT_KEEPER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "cache/checkpoint_cache.h"
#include "cache/resume.h"
#include "engine/engine.h"
#include "sched/slot.h"

namespace cairn {

class SlotKeeper {
 public:
  struct Options {
    ReuseMode mode = ReuseMode::kLive;
    size_t grid_tokens = 64;
    // Keep the state and the logits of every prompt's end.
    bool keep_ends = true;
    // Save what the slot loses.
    bool park = true;
  };
  // Counts since the start.
  struct Stats {
    uint64_t checkpoints_taken = 0;
    uint64_t checkpoints_restored = 0;
    uint64_t joined = 0;
    uint64_t parked = 0;
    // Ways back that failed, after which the prompt was read from its begin.
    uint64_t failed = 0;
  };

  // All outlive the keeper.
  SlotKeeper(Engine* engine, CheckpointCache* cache, const Clock* clock, Slot* slot,
             const Options& options);

  // Brings the slot along `prompt` without reading. `reuse` false: to its begin. Returns the logits
  // of the prompt's end when nothing is left to read, else nothing.
  std::vector<float> Resume(NamespaceId name_space, TokenSpan prompt, bool reuse,
                            const CheckpointCache::MatchResult& match);

  // Stores the state at the slot's end. `turns`: of the prompt, when it ends here or soon.
  void TakeCheckpoint(CheckpointClass checkpoint_class, size_t turns);
  // As TakeCheckpoint at the end of a prompt, whose `logits` are kept with the state.
  void KeepEnd(std::span<const float> logits);

  // How long reading took, for what Resume weighs.
  void ObserveRead(size_t tokens, double ms);

  const Stats& stats() const { return stats_; }

 private:
  // What a resume needs of the cache, pinned while it is used.
  struct Held {
    ByteSpan snapshot;
    std::optional<CheckpointCache::PinnedPath> path;
  };

  ResumeRules Rules() const;
  ResumePoint Choose(NamespaceId name_space, TokenSpan prompt,
                     const CheckpointCache::MatchResult& match) const;
  std::optional<Held> Hold(NamespaceId name_space, TokenSpan prompt, const ResumePoint& point);
  void Release(const ResumePoint& point, const Held& held);
  Status GoTo(NamespaceId name_space, TokenSpan prompt, const ResumePoint& point, const Held& held);
  Status Join(TokenSpan prefix, const Held& held, ByteSpan snapshot);
  bool LosesMuch(NamespaceId name_space, TokenSpan prompt) const;
  // Saves the slot's content to the cache as far as it is of use later and fits.
  void Park();
  bool ParkSegments(size_t end, const Provenance& provenance);

  Engine* const engine_;
  CheckpointCache* const cache_;
  const Clock* const clock_;
  Slot* const slot_;
  const Options options_;
  LineageId last_lineage_ = 0;
  // Measured as the server runs, each a moving average; 0: not yet.
  double read_ms_per_token_ = 0;
  double join_bytes_per_ms_ = 0;
  Stats stats_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOT_KEEPER_H_
