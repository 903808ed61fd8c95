// ChooseResume: the furthest point of a prompt that a slot can be brought to without reading.
//
// What a slot holds need not be what a cold run would hold to the bit. Bits depend on where a
// prompt was cut into pieces; cut only at multiples of the grid, they are always the same. So a
// slot knows how far it is *clean*: read in pieces that began and ended on the grid. An answer's
// tokens, decoded one by one, are not, and neither is what was read after them:
//
//    0                     clean                      end
//    |  prompt, on the grid  |  answer, next prompt …   |        lineage L
//
// Bits past `clean` belong to one uninterrupted run, the slot's lineage. `live` may go on from
// them wherever an uninterrupted conversation would come by: at the slot's end, or at a grid
// multiple of a prompt, but not in the middle of an answer. `exact` may not; neither may mix them
// with another run's. `any` asks only that the tokens agree.
//
// Pure functions; any thread.

#ifndef CAIRN_CACHE_RESUME_H_
#define CAIRN_CACHE_RESUME_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/tokens.h"
#include "cache/checkpoint_cache.h"

namespace cairn {

enum class ReuseMode { kLive, kExact, kAny };
// kInvalidArgument names the modes.
Result<ReuseMode> ParseReuseMode(std::string_view name);

// What the model's memory allows, as the engine's traits say it.
struct ResumeRules {
  ReuseMode mode = ReuseMode::kLive;
  size_t grid_tokens = 64;
  // A snapshot is only good in a slot that still holds the attention KV before it. False for a
  // purely recurrent memory, where the snapshot is everything.
  bool snapshot_needs_slot = true;
};

// Positions [begin, end).
struct TokenRange {
  size_t begin = 0;
  size_t end = 0;
};

struct SlotState {
  TokenSpan tokens;
  size_t clean = 0;
  LineageId lineage = 0;
  // Answers: tokens that were decoded one by one. Shallowest first.
  std::span<const TokenRange> answers;
};

struct ResumePoint {
  enum class Kind {
    kNothing,   // empty the slot and read all
    kContinue,  // go on where the slot ends
    kTruncate,  // cut the slot
    kRestore,   // cut the slot and set the state from `checkpoint`
  };
  Kind kind = Kind::kNothing;
  size_t position = 0;
  Checkpoint checkpoint;  // of kRestore
};

// `can_truncate(p)`: the slot's memory can be cut at p without a snapshot.
// The last token of a prompt is always read: its logits are needed.
ResumePoint ChooseResume(const ResumeRules& rules, TokenSpan prompt, const SlotState& slot,
                         const CheckpointCache::MatchResult& match,
                         const std::function<bool(size_t)>& can_truncate);

// Where the next piece of a prompt ends: at the next of `stop` (0: none), at the micro-batch's
// size, at the last grid multiple before the end, or at the end, whichever comes first. From a
// position off the grid the first piece goes to the next grid multiple only, so that the pieces
// after it do not depend on where checkpoints are taken.
size_t NextPieceEnd(size_t position, size_t prompt_tokens, size_t grid_tokens,
                    size_t piece_tokens_max, size_t stop);

// How far a slot is clean after a piece [begin, end) was read into it.
size_t CleanAfter(size_t clean_before, size_t begin, size_t end, size_t grid_tokens);

}  // namespace cairn

#endif  // CAIRN_CACHE_RESUME_H_
