// ChooseResumePath: chooses the slot for a prompt, and how that slot gets along the prompt without
// prefill.
//
// Every free slot is considered, with all states it could begin from:
//
//   its own contents   as they are, truncated, restored from a snapshot, or assembled from segments
//   another slot's     the KV of the prefix they share, in its cells, and a snapshot
//   a full state       where KV cannot be cut into segments
//
// The cost is the time until the prompt's end: the tokens still to prefill, the bytes moved, and
// the cost of restoring the slot's present contents, which a later request may need. So a small
// request does not push out a long conversation while another slot would do.
//
// Pure; the thread that owns the context.

#ifndef CAIRN_SCHED_SLOTS_SLOT_CHOICE_H_
#define CAIRN_SCHED_SLOTS_SLOT_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/tokens.h"
#include "cache/checkpoint_cache.h"
#include "cache/resume.h"
#include "sched/slots/slot.h"

namespace cairn {

struct ResumePath {
  enum class Source : uint8_t { kOwn, kFork, kFullState };

  size_t slot = 0;  // the slot that the prompt gets
  Source source = Source::kOwn;
  size_t from = 0;                        // for kFork: the slot that lends its KV
  const FullState* full_state = nullptr;  // for kFullState; valid until the cache changes
  ResumePoint point;
  // The cost, in tokens that could be prefilled in the same time.
  double cost_tokens = 0;
};

// Inputs of the choice besides the slots themselves.
struct SlotNeeds {
  NamespaceId name_space = 0;
  TokenSpan prompt;
  bool reuse = true;  // false: start from an empty prompt
  const CheckpointCache::MatchResult* match = nullptr;
  // The slot that the client requested: taken if it is free, whatever the cost; otherwise any slot.
  std::optional<size_t> wish = {};
  bool in_answer = false;  // see ResumeRules
  // A later request may continue from the slot's last answer as it was generated.
  bool keeps_answer = false;
  // A hash of the client's name for requests that belong together; 0: none. Of slots that cost the
  // same, the request gets one that served this key last.
  uint64_t cache_key = 0;
};

struct SlotView {
  const Slot* slot = nullptr;
  bool free = true;
  uint64_t used_tick = 0;  // of its last request
  uint64_t cache_key = 0;  // of its last request that had one
};

// Returns how many of a slot's tokens a prompt would make it lose that a later request may need.
// The last answer is not counted if the prompt continues from before it: then the answer is either
// generated again, or comes back without its reasoning. `keeps_answer`: see SlotNeeds.
size_t LostTokens(const Slot& slot, NamespaceId name_space, TokenSpan prompt, bool keeps_answer);

// As CheckpointCache::Match; without `reads_disk` only what is in memory.
CheckpointCache::MatchResult MatchOf(const CheckpointCache& cache, NamespaceId name_space,
                                     TokenSpan prompt, bool reads_disk);

// REQUIRES: a slot is free; the requested slot exists. `now_tick`: the tick of this request.
ResumePath ChooseResumePath(const ResumeRules& rules, const SlotNeeds& needs,
                            std::span<const SlotView> slots, uint64_t now_tick);

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_SLOT_CHOICE_H_
