// Prefetcher: computes expected prompts while the server is idle. The next prompt of a conversation
// is known except for its new message (sched/request/prefetch_prompt.h). It is computed chunk by
// chunk in a slot that counts as free, so a new request waits for one chunk at most and may take
// any slot. Chunks computed by then stay in the slot, and the request continues from them.
//
// At the start, and after the model was loaded again, it also preloads the last conversation, and
// the prompt prefixes that most conversations begin with, from a cache that saves.
//
// Threads: Add from any thread; the rest from the context thread.

#ifndef CAIRN_SCHED_STEPS_PREFETCHER_H_
#define CAIRN_SCHED_STEPS_PREFETCHER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/tokens.h"
#include "cache/checkpoint_cache.h"
#include "sched/answer/schedule_trace.h"
#include "sched/context/prompt_rules.h"
#include "sched/context/scheduler_stats.h"
#include "sched/request/generation_request.h"
#include "sched/request/prefetch_prompt.h"
#include "sched/slots/restorer.h"

namespace cairn {

class Prefetcher {
 public:
  // All must outlive this object. `warm_start`: see SchedulerOptions.
  Prefetcher(CheckpointCache* cache, const Clock* clock, ModelSlots* slots,
             const PromptRules* rules, StatsBoard* stats, ScheduleTrace* trace,
             const PrefetchBudgetOptions& budget, bool warm_start)
      : cache_(cache),
        clock_(clock),
        slots_(slots),
        rules_(rules),
        stats_(stats),
        trace_(trace),
        warm_start_(warm_start),
        budget_(budget) {}

  // Adds prompts to be computed, likeliest first. Drops the oldest when there are too many.
  void Add(std::vector<PrefetchPrompt> prompts);
  // Drops all prompts. Called while the model is unloaded: it is not loaded for a mere expectation.
  void Clear();

  // Computes the next chunk, or preloads a prefix. Returns false if there is none, the budget is
  // used up, or the disk is being waited for. REQUIRES: no request waits, and the model is loaded.
  bool Step();
  // Releases its slot; computed chunks stay in it.
  void Pause();
  // Ends the prompt that is being computed, if there is one.
  void End();
  // Drops the prompt that is being computed. Called after a failure, when all slots are empty.
  void Abort();
  // Whether it occupies a slot, which a request may take.
  bool has_slot() const { return current_ && current_->slot; }
  bool is_unfinished() const { return current_.has_value(); }

  // A request got a slot: prompts expected for its conversation are dropped, those added already
  // and those added later.
  void OnRequest(const GenerationRequest& request, uint64_t admission);
  // Requests computed `tokens` tokens, which add to the budget.
  void OnPrefilled(size_t tokens) { budget_.OnComputed(tokens); }
  // The request continues after `reused` tokens. Returns how many of them were prefetched.
  size_t CountUsed(const GenerationRequest& request, size_t reused);
  // The model was unloaded and loaded again, so slots are empty.
  void OnModelLoaded();

 private:
  struct Current {
    PrefetchedPrompt prefetched;
    std::optional<size_t> slot = {};  // nullopt while a request has taken it
  };
  // A request that got a slot for its prompt.
  struct Asked {
    NamespaceId name_space = 0;
    uint64_t admission = 0;
    Tokens prompt;
  };

  enum class Begun : uint8_t { kYes, kLoading, kNothing };

  // Returns false if there is no prefix to preload, or if it is being read from disk.
  bool RestorePrefix();
  // Has a slot resume to the prefix's end. kNothing if no slot should, or can.
  Begun Restore(const StoredPrefix& prefix);
  // Whether a slot holds these tokens already, or no slot is empty.
  bool HasNoUseFor(TokenSpan tokens) const;
  bool TakePrompt();
  // Takes a slot. kNothing if there is nothing to compute, or no slot to compute it in. kLoading
  // while the state that the slot gets is being read from disk.
  Begun Begin();
  // Begins to read from disk what the slot would resume from. Returns whether some of it is still
  // to be read. One load at a time; EndLoad ends it.
  bool IsLoading(const SlotNeeds& needs);
  void EndLoad();
  // Returns false if the prompt is complete, or cannot be continued.
  bool ComputeChunk(size_t tokens_max);
  // Whether the conversation continued before its expected prompt was rendered.
  bool IsLate(const PrefetchPrompt& prompt) const;
  void Publish();

  CheckpointCache* const cache_;
  const Clock* const clock_;
  ModelSlots* const slots_;
  const PromptRules* const rules_;
  StatsBoard* const stats_;
  ScheduleTrace* const trace_;
  const bool warm_start_;
  PrefetchBudget budget_;
  std::optional<Current> current_;
  PrefetchedPrompts prefetched_;
  std::deque<Asked> asked_;  // the latest requests
  // Prefixes still to be preloaded; nullopt: not looked up yet.
  std::optional<std::vector<StoredPrefix>> prefixes_;
  DiskLoader::LoadId load_ = 0;  // 0: none

  Mutex mutex_;
  std::deque<PrefetchPrompt> prompts_ GUARDED_BY(mutex_);
};

}  // namespace cairn

#endif  // CAIRN_SCHED_STEPS_PREFETCHER_H_
