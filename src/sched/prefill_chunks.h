// NextChunkEnd: the chunks that a prompt is cut into for prefill.
//
//   grid   0 ------- 64 ------ 128 ------ 192 --- 200
//   cold   [ chunk: at most a ubatch ........ )[ 192, 200 )    the last cut is on the grid
//   after an answer that ended at 70: [ 70, 128 )[ 128, 192 )[ 192, 200 )
//
// Pure; any thread.

#ifndef CAIRN_SCHED_PREFILL_CHUNKS_H_
#define CAIRN_SCHED_PREFILL_CHUNKS_H_

#include <cstddef>

namespace cairn {

// The rules by which prompts are cut into chunks. Every chunk has a fixed cost, however short it
// is: the weights are read once more, and ggml's attention on CPUs takes several times as long per
// token for fewer than 64 tokens.
struct ChunkRules {
  size_t grid_tokens = 64;
  size_t chunk_tokens_max = 512;  // the ubatch
  // The position is the end of an answer, and no checkpoint can be wanted in the tokens after it:
  // the chunk that returns to the grid is at least one full grid step long.
  bool long_after_answer = false;
};

// Returns where the next chunk of a prompt ends: at `stop` (0: none), at the ubatch's size, at the
// last grid multiple before the end, or at the end, whichever comes first. From a position off the
// grid, the first chunk only returns to the grid, so that the chunks after it do not depend on
// where checkpoints are taken.
size_t NextChunkEnd(const ChunkRules& rules, size_t position, size_t prompt_tokens, size_t stop);

}  // namespace cairn

#endif  // CAIRN_SCHED_PREFILL_CHUNKS_H_
