// WarmPrompt: how a conversation is expected to come back, up to where its next message begins.
// Whoever knows conversations makes it (api/next_turn.h); the scheduler reads it ahead while
// nothing else wants the machine (sched/warming.cc).
//
//   answered    [system][user 1]<think>…</think>[answer 1]
//   comes back  [system][user 1][answer 1][user 2 …
//               '-- is read ahead ------'  and a checkpoint taken at its end
//
// Plain data.

#ifndef CAIRN_SCHED_WARM_PROMPT_H_
#define CAIRN_SCHED_WARM_PROMPT_H_

#include <cstddef>
#include <list>

#include "base/tokens.h"
#include "cache/checkpoint_cache.h"

namespace cairn {

struct WarmPrompt {
  NamespaceId name_space = 0;
  Tokens tokens;
  // Of these, the ones that the answered prompt began with: a later request that has them too is
  // the same conversation going on, and what was to be read ahead for it is not wanted any more.
  size_t answered_tokens = 0;
  // The conversation may also come back with its answer as it was generated, so what the slot holds
  // of that is kept.
  bool keeps_answer = false;
};

// What was read ahead of one, for what a request that goes on from it is spared.
struct WarmedPrompt {
  WarmPrompt prompt;
  size_t begin = 0;  // up to here it was there already
  size_t end = 0;    // up to here it has been read
};

// How many tokens of those read ahead `prompt` goes on behind, of which `reused` are not read
// again.
size_t UsedOf(const WarmedPrompt& warmed, NamespaceId name_space, TokenSpan prompt, size_t reused);

// The last few. One thread at a time.
class WarmedPrompts {
 public:
  void Add(WarmedPrompt warmed);
  // As UsedOf, of all together; those that are used are forgotten.
  size_t Take(NamespaceId name_space, TokenSpan prompt, size_t reused);

 private:
  std::list<WarmedPrompt> warmed_;  // oldest first
};

}  // namespace cairn

#endif  // CAIRN_SCHED_WARM_PROMPT_H_
