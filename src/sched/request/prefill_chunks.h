// NextChunkEnd: the chunks that a prompt is cut into for prefill.
//
//   cuts   0 --- 64 --- 128 --- 192 --- b ------- b + 64 --- 200 + b     b: a message boundary
//   cold   [ chunk: at most a ubatch ... )[ b, b + 192 )[ the rest )     the last cut is a cut too
//   after an answer that ended at 70: [ 70, 128 )[ 128, b )…
//   the same where the rest is a short turn: [ 70, the end )
//   the same where the memory can be truncated anywhere: [ 70, 70 + a ubatch )…
//
// Pure; any thread.

#ifndef CAIRN_SCHED_REQUEST_PREFILL_CHUNKS_H_
#define CAIRN_SCHED_REQUEST_PREFILL_CHUNKS_H_

#include <cstddef>
#include <cstdint>

#include "tree/prompt_cuts.h"

namespace cairn {

// Every chunk has a fixed cost, however short it is: the weights are read once more, and ggml's
// attention on CPUs takes several times as long per token for fewer than 64 tokens.
struct ChunkRules {
  size_t chunk_tokens_max = 512;  // the ubatch
  // The least tokens of a chunk that begins at a position that is no cut, such as an answer's end
  // (ChunkAfterAnswerMin).
  size_t off_cut_min = 1;
  // A rest of the prompt that begins at no cut, as a turn after an answer does, is one chunk if it
  // has at most so many tokens. 0: it ends as other chunks do.
  size_t turn_tokens_max = 0;
  // Where such a rest ends a chunk all the same, for a checkpoint that a later prompt needs; 0:
  // nowhere.
  size_t needed_stop = 0;
  // The last boundary ends no chunk if only the beginning of the reply follows it (kTailTokensMax).
  bool passes_last_boundary = false;
  // Where a sequence is not clean any more, only its own conversation resumes in it. If the memory
  // can be truncated at any token, that needs no cuts, so chunks are as long as they can be.
  bool whole_behind_clean = false;
  // A chunk that begins at a cut and is longer ends at a cut before, if there is one: answers wait.
  size_t wanted_tokens = SIZE_MAX;
};

// A generation prompt has at most so many tokens behind its message-start token.
inline constexpr size_t kTailTokensMax = 16;

// Returns where the next chunk of the prompt ends: at `stop` (0: none) or, if that is no cut, first
// at the last cut before it, as if the prompt ended there; at the next boundary, at
// the last cut before the prompt's end, or at its end, whichever comes first; and at a cut where
// that is more than a ubatch away, or more than wanted. From a position that is no cut, the first
// chunk only goes to a cut, so that the chunks after it do not depend on where checkpoints are
// taken. `is_clean`: whether the sequence is (base/provenance.h); if not, see whole_behind_clean.
//
// A medium that begins at `position` is a chunk of its own, however long. Every other chunk ends
// where a medium begins, and has at most chunk_tokens_max tokens.
size_t NextChunkEnd(const PromptCuts& cuts, const ChunkRules& rules, size_t position, size_t stop,
                    bool is_clean = true);

// Returns where the chunk ends that begins at `position`, which is no cut, unless a ubatch ends it.
size_t EndOffCuts(const PromptCuts& cuts, const ChunkRules& rules, size_t position);

}  // namespace cairn

#endif  // CAIRN_SCHED_REQUEST_PREFILL_CHUNKS_H_
