// ChooseResumePath: which slot a prompt gets, and how that slot gets along the prompt without
// reading.
//
// Every slot that is free is looked at, with everything it could begin from:
//
//   its own content      as it stands, cut, set back with a snapshot, or assembled from segments
//   another slot's       the KV of the prefix they share, where it lies, and a snapshot
//   a slot stored whole  where KV cannot be taken apart
//
// What counts is the time until the prompt's end: what is still to be read, what is moved, and what
// the slot's present content, which somebody may come back for, will cost to bring back. So a small
// request does not push a long conversation out while another slot would do.
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

  size_t slot = 0;  // that the prompt gets
  Source source = Source::kOwn;
  size_t from = 0;                        // of kFork: the slot that lends its KV
  const FullState* full_state = nullptr;  // of kFullState; valid until the cache changes
  ResumePoint point;
  // In tokens that could be read in the time it takes.
  double cost_tokens = 0;
};

// What the choice must know beside the slots themselves.
struct SlotNeeds {
  NamespaceId name_space = 0;
  TokenSpan prompt;
  bool reuse = true;  // false: from the prompt's begin
  const CheckpointCache::MatchResult* match = nullptr;
  // The slot the client wishes for: taken when it is free, whatever that costs; else any.
  std::optional<size_t> wish = {};
  bool in_answer = false;  // see ResumeRules
  // Somebody may come back for the slot's last answer as it was generated.
  bool keeps_answer = false;
};

struct SlotView {
  const Slot* slot = nullptr;
  bool free = true;
  uint64_t used_tick = 0;  // of its last request
};

// How many of a slot's tokens a prompt would make it lose that somebody may come back for. The last
// answer is not among them when the prompt goes on from before it: then it is asked for again, or
// comes back without its reasoning. `keeps_answer`: see SlotNeeds.
size_t LostTokens(const Slot& slot, NamespaceId name_space, TokenSpan prompt, bool keeps_answer);

// REQUIRES: a slot is free; the slot wished for is one. `now_tick`: of this request.
ResumePath ChooseResumePath(const ResumeRules& rules, const SlotNeeds& needs,
                            std::span<const SlotView> slots, uint64_t now_tick);

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_SLOT_CHOICE_H_
