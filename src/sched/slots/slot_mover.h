// SlotMover: moves tokens of a slot to other positions: where a prompt has them elsewhere
// (--cache-reuse), and where an answer has come to the end of its context (--context-shift).
//
// Moved tokens were computed behind other tokens, so they are no prompt's own: the slot may go on
// from them, and no other slot or client ever gets them (Slot::own_tokens).
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_SLOTS_SLOT_MOVER_H_
#define CAIRN_SCHED_SLOTS_SLOT_MOVER_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "sched/slots/moved_chunks.h"
#include "sched/slots/offloader.h"
#include "sched/slots/slot_choice.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

class SlotMover {
 public:
  struct Move {
    size_t slot = 0;
    std::vector<MovedChunk> chunks;
    // How far along the prompt the slot comes.
    size_t end() const { return chunks.back().to + chunks.back().tokens; }
  };

  // Both outlive it.
  SlotMover(SlotPool* pool, Offloader* offloader) : pool_(pool), offloader_(offloader) {}

  // The move that brings a free slot furthest along the prompt. Nothing: moving is not wanted, or
  // there is none.
  std::optional<Move> Find(const SlotNeeds& needs) const;
  // On an error the slot is empty.
  Status Apply(const Move& move);
  // Of a full slot: drops the older half of the tokens behind its first `keep`. How many; 0: it
  // cannot be done, and the slot is as it was or, where the engine failed, empty.
  size_t DropOldest(size_t slot, size_t keep);

 private:
  SlotPool* const pool_;
  Offloader* const offloader_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_SLOT_MOVER_H_
