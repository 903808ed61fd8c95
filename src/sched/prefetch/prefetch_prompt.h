// PrefetchPrompt: how a conversation is expected to come back, up to where its next message begins.
// Whoever knows conversations makes it (api/prompt/next_turn.h); the scheduler prefetches it while
// nothing else wants the machine (sched/prefetch/prefetcher.h).
//
//   answered    [system][user 1]<think>…</think>[answer 1]
//   comes back  [system][user 1][answer 1][user 2 …
//               '-- is prefetched ------'  and a checkpoint taken at its end
//
// Plain data.

#ifndef CAIRN_SCHED_PREFETCH_PREFETCH_PROMPT_H_
#define CAIRN_SCHED_PREFETCH_PREFETCH_PROMPT_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "base/provenance.h"
#include "base/tokens.h"
#include "cache/checkpoint_cache.h"

namespace cairn {

struct PrefetchPrompt {
  NamespaceId name_space = 0;
  Tokens tokens;
  // Of these, the ones that the answered prompt began with: a later request that has them too is
  // the same conversation going on, and what was to be prefetched for it is not wanted any more.
  size_t answered_tokens = 0;
  // The conversation may also come back with its answer as it was generated, so what the slot holds
  // of that is kept.
  bool keeps_answer = false;
  // Of the answered request (see FinishedAnswer): one that was admitted later and goes on from
  // there has come already. Nothing: none has.
  std::optional<uint64_t> admission = {};
};

// The part of one that was prefetched, and that a request which goes on from it is spared.
struct PrefetchedPrompt {
  PrefetchPrompt prompt;
  // In the order of computing. A range that was computed twice is in it twice.
  std::vector<TokenRange> chunks = {};

  void Add(const TokenRange& chunk);
};

// The account of prefetched tokens that did not serve a request yet. One thread at a time.
class PrefetchedPrompts {
 public:
  void Add(PrefetchedPrompt prefetched);
  // Of the tokens that were prefetched, how many a request with `prompt` is spared, as it goes on
  // behind `reused` tokens. Whatever the prompt begins with is accounted for then: what it was not
  // spared it computes itself, so no later one owes that to prefetching. The rest of a prompt
  // that was prefetched may still serve another. `unfinished`: one that is not added yet, or null.
  size_t Take(NamespaceId name_space, TokenSpan prompt, size_t reused,
              PrefetchedPrompt* unfinished = nullptr);

 private:
  std::list<PrefetchedPrompt> prefetched_;  // oldest first
  size_t tokens_ = 0;                       // of their prompts
};

}  // namespace cairn

#endif  // CAIRN_SCHED_PREFETCH_PREFETCH_PROMPT_H_
