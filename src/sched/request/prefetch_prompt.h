// PrefetchPrompt: the prompt with which a conversation is expected to come back, up to where its
// next message begins. api/prompt/next_turn.h makes it; the scheduler prefetches it while idle
// (sched/steps/prefetcher.h).
//
//   answered    [system][user 1]<think>…</think>[answer 1]
//   comes back  [system][user 1][answer 1][user 2 …
//               '-- is prefetched ------'  and a checkpoint taken at its end
//
// Plain data.

#ifndef CAIRN_SCHED_REQUEST_PREFETCH_PROMPT_H_
#define CAIRN_SCHED_REQUEST_PREFETCH_PROMPT_H_

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
  // The part of the tokens that the answered prompt began with. A later request with the same
  // beginning is the conversation's next turn, and then its prefetch is no longer wanted.
  size_t answered_tokens = 0;
  // The conversation may also come back with its answer as it was generated, so the slot's copy of
  // the answer is kept.
  bool keeps_answer = false;
  // The admission of the answered request (see FinishedAnswer). A request that was admitted later
  // and continues from there is the next turn already. nullopt if there is none.
  std::optional<uint64_t> admission = {};
};

// The prefetched part of a prompt, which a request that continues from it need not compute.
struct PrefetchedPrompt {
  PrefetchPrompt prompt;
  // Ranges in the order of computing. A range that was computed twice is listed twice.
  std::vector<TokenRange> chunks = {};

  void Add(const TokenRange& chunk);
};

// PrefetchedPrompts: the account of prefetched tokens that have not served a request yet. One
// thread at a time.
class PrefetchedPrompts {
 public:
  void Add(PrefetchedPrompt prefetched);
  // Returns how many prefetched tokens a request with `prompt` is spared, as it continues after
  // `reused` tokens. Afterwards the whole common prefix is settled: the request computes what it
  // was not spared, so no later request owes that to prefetch. The rest of a prefetched prompt may
  // still serve another request. `unfinished`: one that is not added yet, or nullptr.
  size_t Take(NamespaceId name_space, TokenSpan prompt, size_t reused,
              PrefetchedPrompt* unfinished = nullptr);

 private:
  std::list<PrefetchedPrompt> prefetched_;  // oldest first
  size_t tokens_ = 0;                       // total of their prompts
};

}  // namespace cairn

#endif  // CAIRN_SCHED_REQUEST_PREFETCH_PROMPT_H_
