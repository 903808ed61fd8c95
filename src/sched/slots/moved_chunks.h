// FindMovedChunks: what of a prompt a slot holds at another place.
//
// Where a client has taken a message out of the middle, all behind it stands further on in the slot
// than in the prompt:
//
//   slot     | header | old message | question and answer | more |
//   prompt   | header | question and answer | new |
//                      <─── moved ───'
//
// What is moved was computed behind tokens that are no longer there, so it is not what reading the
// prompt would give: llama-server's --cache-reuse, and ours.
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

// Beginning behind the common prefix: the first run of `tokens_min` tokens or more in `held` that
// the prompt has next, then the first one behind that, and so on, as llama-server's loop finds
// them. Each chunk begins in the prompt where the one before it ends, the first at the common
// prefix's end, and from >= to. The prompt's last token is in none, as it must be read.
// REQUIRES: tokens_min > 0.
std::vector<MovedChunk> FindMovedChunks(TokenSpan held, TokenSpan prompt, size_t tokens_min);

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_MOVED_CHUNKS_H_
