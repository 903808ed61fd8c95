// ChooseResume: the furthest point of a prompt that a slot can be brought to without reading.
//
// What a slot holds need not be what a cold run would hold to the bit (base/provenance.h). `live`
// may go on from bits off the grid wherever an uninterrupted conversation would come by: at a
// slot's end, or at a grid multiple of a prompt, but not in the middle of an answer. `exact` may
// not; neither may mix the bits of two runs. `any` asks only that the tokens agree.
//
// The ways there, cheapest first:
//
//   continue   the prompt goes on where the slot ends
//   truncate   the slot is cut
//   restore    the slot is cut, and the state that cannot be is set from a snapshot
//   join       attention KV comes back from stored segments too, with or without a snapshot
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

namespace cairn {

enum class ReuseMode { kLive, kExact, kAny };
// kInvalidArgument names the modes.
Result<ReuseMode> ParseReuseMode(std::string_view name);

// What the model's memory allows, as the engine's traits say it, and what resume paths cost.
struct ResumeRules {
  ReuseMode mode = ReuseMode::kLive;
  size_t grid_tokens = 64;
  // Going back anywhere takes a snapshot.
  bool needs_snapshots = true;
  // A snapshot is only good in a slot that holds the attention KV before it. False for a purely
  // recurrent memory, where the snapshot is everything.
  bool snapshot_needs_slot = true;
  // Attention KV can come back as segments; bytes of it a token.
  bool segments = false;
  size_t kv_bytes_per_token = 0;
  // So many bytes can be assembled in the time that reading one token takes; 0: not measured, and
  // joining is taken to cost nothing.
  double assemble_bytes_per_prefill_token = 0;
  // The prompt ends in the middle of an answer that gave up its slot, with the token drawn there.
  // That state is the one resume path that does not change the answer, so nothing that costs less
  // is weighed against it.
  bool in_answer = false;
};

struct SlotState {
  TokenSpan tokens;
  const Provenance& provenance;
};

struct ResumePoint {
  enum class Kind { kNothing, kContinue, kTruncate, kRestore, kAssemble };
  Kind kind = Kind::kNothing;
  size_t position = 0;
  Checkpoint checkpoint;  // of kRestore and kAssemble; its id is 0 where a join needs none
};

// `can_truncate(p)`: what `slot` holds can be had up to p without a snapshot; of a slot's own
// memory that is always so at its end.
// The last token of a prompt is always read, as its logits are needed, but where a checkpoint has
// kept them.
ResumePoint ChooseResume(const ResumeRules& rules, TokenSpan prompt, const SlotState& slot,
                         const CheckpointCache::MatchResult& match,
                         const std::function<bool(size_t)>& can_truncate);

// How prompts are cut into pieces. Every piece takes time of its own, however short: weights are
// fetched once more, and ggml's attention on processors takes several times as long for a token of
// fewer than 64.
struct ChunkRules {
  size_t grid_tokens = 64;
  size_t chunk_tokens_max = 512;  // the micro-batch
  // The position is the end of an answer, and no checkpoint can be wanted in the tokens after it:
  // the piece that comes back to the grid has a whole step at least.
  bool long_after_answer = false;
};

// Where the next piece of a prompt ends: at the next of `stop` (0: none), at the micro-batch's
// size, at the last grid multiple before the end, or at the end, whichever comes first. From a
// position off the grid the first piece goes only as far as it takes to be back on it, so that the
// pieces after it do not depend on where checkpoints are taken.
size_t NextChunkEnd(const ChunkRules& rules, size_t position, size_t prompt_tokens, size_t stop);

// The first grid multiple after an answer's end where a prompt is cut, and so may be gone on from,
// where `long_after_answer` holds.
size_t FirstCutAfter(size_t answer_end, size_t grid_tokens);

// How far a slot is clean after a piece [begin, end) was read into it.
size_t CleanAfter(size_t clean_before, size_t begin, size_t end, size_t grid_tokens);

// The last grid multiple before the end of a prompt: where a cold run's last piece begins.
size_t LastCut(size_t prompt_tokens, size_t grid_tokens);

}  // namespace cairn

#endif  // CAIRN_CACHE_RESUME_H_
