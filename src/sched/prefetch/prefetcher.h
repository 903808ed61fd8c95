// Prefetcher: computes prompts before they are asked for, while nobody waits. How a conversation
// comes back is known but for its next message (sched/prefetch/prefetch_prompt.h). It is computed
// chunk by chunk in a slot that stays free, so that a request that comes waits for one chunk at
// most and may have every slot. Chunks that were computed by then stay in the slot, and the request
// goes on from them.
//
// After the start and after the model was loaded again it also brings back the prompt prefixes
// that most conversations begin with, from a cache that saves.
//
// Threads: Add from any thread; the rest from the context thread.

#ifndef CAIRN_SCHED_PREFETCH_PREFETCHER_H_
#define CAIRN_SCHED_PREFETCH_PREFETCHER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "base/tokens.h"
#include "cache/checkpoint_cache.h"
#include "sched/generation_request.h"
#include "sched/prefetch/prefetch_budget.h"
#include "sched/prefetch/prefetch_prompt.h"
#include "sched/scheduler_context.h"

namespace cairn {

class Prefetcher {
 public:
  // `context` outlives it.
  explicit Prefetcher(SchedulerContext* context)
      : context_(context), budget_(context->options.prefetch) {}

  // Prompts to be computed, likeliest first. The oldest are forgotten when there are too many.
  void Add(std::vector<PrefetchPrompt> prompts);
  // The model is not loaded for a prompt that nobody may ask for.
  void Clear();

  // Computes the next chunk, or brings a prefix back. False: there is none, or the budget is used
  // up. REQUIRES: no request waits, and the model is loaded.
  bool Step();
  // Its slot is free for all; chunks that were computed stay.
  void Pause();
  // Ends the prompt that is being computed, if there is one.
  void End();
  // Forgets it: after a failure, slots hold nothing.
  void Abort() { current_.reset(); }
  // Whether it holds a slot, which a request may have.
  bool has_slot() const { return current_ && current_->slot; }
  bool is_unfinished() const { return current_.has_value(); }

  // A request got a slot: its conversation is not prefetched any more, be its prompt here already
  // or only when it is rendered.
  void OnRequest(const GenerationRequest& request, uint64_t admission);
  // Requests had so many tokens computed, which the budget lends a part of.
  void OnPrefilled(size_t tokens) { budget_.OnComputed(tokens); }
  // The request goes on behind `reused` tokens. Returns how many of them were prefetched.
  size_t CountUsed(const GenerationRequest& request, size_t reused);
  // The model was unloaded and is loaded again: slots are empty.
  void OnModelLoaded() { prefixes_.reset(); }

 private:
  struct Current {
    PrefetchedPrompt prefetched;
    std::optional<size_t> slot = {};  // while no request wants one
  };
  // A request that got a slot for its prompt.
  struct Asked {
    NamespaceId name_space = 0;
    uint64_t admission = 0;
    Tokens prompt;
  };

  // False: there is none to bring back.
  bool RestorePrefix();
  // Whether a slot holds these tokens, or no slot is empty.
  bool HasNoUseFor(TokenSpan tokens) const;
  bool TakePrompt();
  // False: there is nothing to compute, or no slot to compute it in.
  bool Begin();
  // False: it is done, or cannot go on.
  bool ComputeChunk(size_t tokens_max);
  size_t ChunkEnd(const Slot& slot, size_t end, size_t tokens_max) const;
  // Whether the conversation went on before its prompt was rendered.
  bool IsLate(const PrefetchPrompt& prompt) const;
  void Publish();

  SchedulerContext* const context_;
  PrefetchBudget budget_;
  std::optional<Current> current_;
  PrefetchedPrompts prefetched_;
  std::deque<Asked> asked_;  // the last few
  // Still to be brought back; nothing: not looked for yet.
  std::optional<std::vector<StoredPrefix>> prefixes_;

  std::mutex mutex_;
  std::deque<PrefetchPrompt> prompts_;  // guarded by mutex_
};

}  // namespace cairn

#endif  // CAIRN_SCHED_PREFETCH_PREFETCHER_H_
