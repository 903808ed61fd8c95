// SlotMover: moves tokens of a slot to other positions: where a prompt has them elsewhere
// (--cache-reuse), and where an answer has reached the end of its context (--context-shift).
//
// Moved tokens were computed after other tokens than those now before them, so they match no
// prompt's prefill: the slot may continue from them, but no other slot or client ever gets them
// (Slot::own_tokens).
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_SLOTS_SLOT_MOVER_H_
#define CAIRN_SCHED_SLOTS_SLOT_MOVER_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "base/tokens.h"
#include "sched/slots/offloader.h"
#include "sched/slots/slot_choice.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

// FindMovedChunks: finds chunks of a prompt that a slot holds at other positions.
//
// When a client removes a message from the middle, everything after it stands at a higher position
// in the slot than in the prompt:
//
//   slot     | system prefix | old message | question and answer | more |
//   prompt   | system prefix | question and answer | new |
//                             <─── moved ───'
//
// Moved tokens were computed after tokens that are no longer there, so their KV differs from that
// of a prefill of the prompt. llama-server's --cache-reuse accepts that, and so does ours.
//
// Pure; any thread.
// Tokens that stand at `from` in the slot and at `to` in the prompt.
struct MovedChunk {
  size_t from = 0;
  size_t to = 0;
  size_t tokens = 0;

  friend bool operator==(const MovedChunk&, const MovedChunk&) = default;
};

// Searches after the common prefix: finds the first run of at least `tokens_min` tokens in `held`
// that the prompt has next, then the first one after that, and so on, in the order of
// llama-server's loop. Each chunk begins in the prompt where the previous one ends, the first at
// the common prefix's end, and from >= to. No chunk contains the prompt's last token, because it
// must be prefilled.
// REQUIRES: tokens_min > 0.
std::vector<MovedChunk> FindMovedChunks(TokenSpan held, TokenSpan prompt, size_t tokens_min);

class SlotMover {
 public:
  struct Move {
    size_t slot = 0;
    std::vector<MovedChunk> chunks;
    // How far along the prompt the slot comes.
    size_t end() const { return chunks.back().to + chunks.back().tokens; }
  };

  // Both must outlive this object.
  SlotMover(SlotPool* pool, Offloader* offloader) : pool_(pool), offloader_(offloader) {}

  // Returns the move that brings a free slot furthest along the prompt; nullopt if moving is
  // disabled, or there is none.
  std::optional<Move> Find(const SlotNeeds& needs) const;
  // On an error the slot is empty.
  Status Apply(const Move& move);
  // Drops the older half of a full slot's tokens after its first `keep`. Returns how many were
  // dropped; 0 if it cannot be done, and then the slot is unchanged or, if the engine failed,
  // empty.
  size_t DropOldest(size_t slot, size_t keep);

 private:
  SlotPool* const pool_;
  Offloader* const offloader_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_SLOT_MOVER_H_
