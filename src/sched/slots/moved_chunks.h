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

#ifndef CAIRN_SCHED_SLOTS_MOVED_CHUNKS_H_
#define CAIRN_SCHED_SLOTS_MOVED_CHUNKS_H_

#include <cstddef>
#include <vector>

#include "base/tokens.h"

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_MOVED_CHUNKS_H_
