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

struct PrefetchBudgetOptions {
  double computed_share_max = 1.25;
  size_t first_tokens = 1024;
  size_t tokens_per_minute = 0;  // prefetched tokens per minute; 0: as many as the loan allows
};

// PrefetchBudget: bounds how many tokens may be prefetched before a request needs them
// (sched/steps/prefetcher.h).
//
// Prefetched tokens are a loan. A request that continues from them repays it, because it is spared
// the same tokens. Including loans that are never repaid, the machine computes at most 1.25 times
// the tokens it would have computed without prefetch (plus a first loan):
//
//   computed + prefetched  <=  1.25 * (computed + used) + first_tokens
//
// So the bound also holds when turns come so fast that no prefetch is ever finished, and for
// clients that never come back.
//
// Pure; one thread at a time.
class PrefetchBudget {
 public:
  explicit PrefetchBudget(const PrefetchBudgetOptions& options);

  // Requests computed `tokens` tokens on their own time.
  void OnComputed(size_t tokens) { computed_ += tokens; }
  // `tokens` tokens were prefetched.
  void OnPrefetched(size_t tokens, double now_ms);
  // A request continued from `tokens` prefetched tokens.
  void OnUsed(size_t tokens) { used_ += tokens; }

  // Returns how many tokens may be prefetched now: at most the rest of the loan, and of the
  // minute's tokens if these are limited.
  size_t Allowed(double now_ms) const;
  // The rest of the loan; only requests add to it.
  size_t LoanLeft() const;

  uint64_t prefetched() const { return prefetched_; }
  uint64_t used() const { return used_; }

 private:
  double MinuteTokens(double now_ms) const;

  const PrefetchBudgetOptions options_;
  uint64_t computed_ = 0;
  uint64_t prefetched_ = 0;
  uint64_t used_ = 0;
  // A token bucket that holds one minute's tokens and refills continuously.
  double minute_tokens_ = 0;  // its level at `filled_ms_`
  double filled_ms_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_REQUEST_PREFETCH_PROMPT_H_
