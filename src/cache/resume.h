// ChooseResume: finds the deepest position of a prompt that a slot can reach without prefill.
//
// A slot's contents need not be bit-identical to a cold run's (base/provenance.h). `live` may
// resume from such bits wherever an uninterrupted conversation would: at an answer's end, or at a
// cut of a prompt (tree/prompt_cuts.h), but not inside an answer. Where a person changed a message,
// `live` may also resume exactly there, as if the conversation had been truncated at that token
// (MayLeaveGrid). `exact` may not. Neither may mix the bits of two runs. `any` requires only equal
// tokens.
//
// The resume paths, cheapest first:
//
//   continue   the prompt goes on where the slot ends
//   truncate   the slot is cut back
//   restore    the slot is cut back, and the state that cannot be rolled back comes from a snapshot
//   assemble   attention KV is assembled from stored segments too, with or without a snapshot
//
// Pure functions; any thread.

#ifndef CAIRN_CACHE_RESUME_H_
#define CAIRN_CACHE_RESUME_H_

#include <cstddef>
#include <functional>
#include <string_view>

#include "base/provenance.h"
#include "base/result.h"
#include "base/tokens.h"
#include "cache/checkpoint_cache.h"
#include "tree/prompt_cuts.h"

namespace cairn {

enum class ReuseMode { kLive, kExact, kAny };
// kInvalidArgument for an unknown name; the message lists the modes.
Result<ReuseMode> ParseReuseMode(std::string_view name);

// The limits of the model's memory, from the engine's traits, and the costs of resume paths.
struct ResumeRules {
  ReuseMode mode = ReuseMode::kLive;
  // The cuts of the prompt. With `any` every position is one.
  PromptCuts cuts = {};
  // `live` may leave the grid (MayLeaveGrid).
  bool leave_grid = false;
  // Resuming at any earlier position takes a snapshot.
  bool needs_snapshots = true;
  // A snapshot can only be restored in a slot that holds the attention KV before it. False for a
  // purely recurrent memory, where the snapshot is the complete state.
  bool snapshot_needs_slot = true;
  // Whether attention KV can be stored as segments, and its bytes per token.
  bool segments = false;
  size_t kv_bytes_per_token = 0;
  // Bytes that can be assembled in the time that prefill of one token takes. 0: not measured, and
  // assembly counts as free.
  double assemble_bytes_per_prefill_token = 0;
  // The prompt ends inside an answer whose slot was preempted, at the last token sampled there.
  // Only the state at that position leaves the answer unchanged, so no cheaper path is weighed
  // against it.
  bool in_answer = false;
  // A turn of at most so many tokens after an answer is prefilled as one chunk; 0: none is.
  size_t turn_tokens_max = 0;
  // A stored path off the grid, where resuming takes no snapshot.
  CheckpointCache::StoredRun run = {};
};

struct SlotState {
  TokenSpan tokens;
  const Provenance& provenance;
};

struct ResumePoint {
  enum class Kind { kNothing, kContinue, kTruncate, kRestore, kAssemble };
  Kind kind = Kind::kNothing;
  size_t position = 0;
  Checkpoint checkpoint;  // of kRestore and kAssemble; its id is 0 if assembly needs no snapshot
};

// `can_truncate(p)`: whether the contents of `slot` can be cut back to p without a snapshot; always
// true at the end of the slot's own memory. The last token of a prompt is always prefilled, because
// its logits are needed, except where a checkpoint has stored them.
ResumePoint ChooseResume(const ResumeRules& rules, TokenSpan prompt, const SlotState& slot,
                         const CheckpointCache::MatchResult& match,
                         const std::function<bool(size_t)>& can_truncate);

// Whether `live` resumes a prompt at `position` rather than at `cut`, the last cut before it. All
// later states of the prompt are then off the grid, so that only this conversation can use them. In
// a *clean* state that is worth it where little of the prompt follows: a long rest, such as a
// system prefix in which a date changed, is what other conversations share.
bool MayLeaveGrid(size_t cut, size_t position, size_t prompt_tokens, bool is_clean);

// The least tokens of the first chunk after an answer. A long one costs hardly more, and where no
// snapshot is needed no checkpoint is missed in it.
size_t ChunkAfterAnswerMin(bool needs_snapshots, size_t grid_tokens);

// The most tokens of a turn after an answer that `live` prefills as one chunk where resuming takes
// snapshots. Each further chunk would cost a pass of the weights, for checkpoints inside a short
// message; an edit of it resumes at the answer's end. A longer chunk would let other answers wait.
size_t TurnTokensMax(ReuseMode mode, bool needs_snapshots, size_t grid_tokens,
                     size_t chunk_tokens_max);

}  // namespace cairn

#endif  // CAIRN_CACHE_RESUME_H_
