// Restorer: gives a prompt a slot, and brings the slot along the prompt without prefill, by the
// cheapest resume path (sched/slots/slot_choice.h):
//
//   slot   | prefix | conversation A, 9,000 tokens |      a prompt of conversation B comes
//            kept     '--- offloaded: segments + snapshot     ─> and A is assembled again later
//
// A resume path that fails costs prefill: the slot is then empty, the object that failed is
// forgotten and counted, and the prompt is computed.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_SLOTS_RESTORER_H_
#define CAIRN_SCHED_SLOTS_RESTORER_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "cache/checkpoint_cache.h"
#include "cache/resume.h"
#include "sched/answer/reuse_report.h"
#include "sched/slots/offloader.h"
#include "sched/slots/slot_choice.h"
#include "sched/slots/slot_mover.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

class Restorer {
 public:
  struct Resumed {
    size_t slot = 0;
    // Of the prompt's end, when nothing is left to compute; else nothing.
    std::vector<float> logits;
    // How the slot came there. It says nothing of tokens of the prompt that slots and cache know
    // beyond that.
    ReuseReport report;
  };
  struct Reach {
    size_t tokens = 0;         // so far along the prompt Resume would come
    size_t shared_tokens = 0;  // of these, in cells of a slot in use, which hold them already
  };

  // All outlive it.
  Restorer(SlotPool* pool, Offloader* offloader, SlotMover* mover)
      : pool_(pool), offloader_(offloader), mover_(mover) {}

  // Takes a slot for a prompt and brings it along the prompt; the slot is in use until
  // SlotPool::Release. REQUIRES: a slot is free.
  Resumed Resume(const SlotNeeds& needs);
  // Now; when no slot is free, if all were.
  Reach ReachOf(const SlotNeeds& needs) const;
  // Of a path that a slot has already: its KV lies in a slot, and the state to set on it, where one
  // is needed, in memory. Resume would move no more than that, and need not be called before
  // somebody goes on from there. Nothing: there is no such path.
  std::optional<ReuseReport> AtHand(const SlotNeeds& needs);

  // How long prefill took, which the choice of a path weighs.
  void ObservePrefill(size_t tokens, double ms);
  // 0: not measured yet.
  double prefill_ms_per_token() const { return prefill_ms_per_token_; }

 private:
  // The objects of the cache that a path needs, pinned while it is used.
  struct Pins {
    ByteSpan snapshot;
    ByteSpan full_state;
    std::optional<CheckpointCache::PinnedPath> segments;
    bool from_disk = false;  // snapshot or full state were not in memory
  };

  Resumed ResumeAnyhow(SlotNeeds needs);
  // Nothing: moving is not wanted, or brings nothing more than `otherwise`.
  std::optional<Resumed> ResumeByMoving(const SlotNeeds& needs, const ResumePath& otherwise);
  // Of a path that led to its end.
  void Describe(const SlotNeeds& needs, const ResumePath& path, const Pins& pins, size_t had_tokens,
                Resumed* resumed) const;
  // `exact` promises bits that nothing vouches for where the engine found no grid.
  bool MayReuse() const;
  ResumeRules Rules(const SlotNeeds& needs) const;
  // When no slot is free, as if all were.
  ResumePath Choose(const SlotNeeds& needs) const;

  // Nothing: an object is gone.
  std::optional<Pins> Pin(const SlotNeeds& needs, const ResumePath& path);
  void Unpin(const ResumePath& path, const Pins& pins);
  // Objects that could not be used are not tried again.
  void Discard(const ResumePath& path, const Pins& pins);

  // A full context refuses states without saying why, so room is made before one is set. Slots in
  // use stay; where that is too much, prefill will notice.
  void MakeRoom(const SlotNeeds& needs, const ResumePath& path);
  Status Follow(const SlotNeeds& needs, const ResumePath& path, const Pins& pins);
  Status FollowInSlot(Slot* slot, TokenSpan prefix, const ResumePoint& point, const Pins& pins);
  Status Assemble(Slot* slot, TokenSpan prefix, const ResumePoint& point, const Pins& pins);
  // `had_tokens`: so many of the prompt's tokens the slot held before.
  ReuseReport Report(const ResumePath& path, const Pins& pins, size_t had_tokens) const;

  SlotPool* const pool_;
  Offloader* const offloader_;
  SlotMover* const mover_;
  // Each a moving average; 0: not measured yet.
  double prefill_ms_per_token_ = 0;
  double assembled_bytes_per_ms_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_RESTORER_H_
