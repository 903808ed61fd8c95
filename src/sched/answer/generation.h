// Generation: one answer on its way from the thread that computes it to the thread that sends it.
//
//   Scheduler (context thread) ── Push ──>  [ progress, …, text, …, done ]  ── Next ──> HTTP thread
//                              <──────────────── Cancel, Abandon ─────────────────────
//
// Of a request that asked for several answers, all come by one Generation, each event with the
// number of its answer.
//
// Threads: every call is safe from any thread.

#ifndef CAIRN_SCHED_ANSWER_GENERATION_H_
#define CAIRN_SCHED_ANSWER_GENERATION_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sched/answer/reuse_report.h"
#include "sched/answer/token_logprobs.h"

namespace cairn {

enum class FinishReason {
  kStop,       // the model ended its answer, or a stop text came
  kLength,     // tokens_max or the context was reached
  kCancelled,  // somebody ended it, or the client went away
};

// What a request cost. Milliseconds are of the request's own work; waiting in the queue is apart.
struct GenerationCost {
  size_t prompt_tokens = 0;
  size_t reused_tokens = 0;  // of the prompt, not read again
  double queue_ms = 0;
  double prompt_ms = 0;  // up to the first token, going back to a checkpoint included
  size_t generated_tokens = 0;
  size_t reasoning_tokens = 0;  // of these, between the tags of reasoning
  double generated_ms = 0;
  size_t pinned_texts = 0;      // of the prompt, changed back to what they said first
  size_t dropped_messages = 0;  // the conversation's oldest, for want of room
  size_t shifted_tokens = 0;    // dropped while the answer was written, for want of room

  size_t prefill_tokens() const { return prompt_tokens - reused_tokens; }
};

struct GenerationEvent {
  enum class Kind {
    kProgress,  // a slot was found, or a piece of the prompt was read
    kText,
    kDone,
    kFailed,
  };
  Kind kind = Kind::kText;
  size_t answer = 0;  // which of those asked for
  std::string text;   // whole characters
  // With kText, of the tokens whose text begins here, when they were asked for. The text may then
  // be empty: some tokens have none.
  std::vector<TokenLogprob> logprobs;
  // With kProgress: the tokens of the prompt that are done, reused ones among them. Its cost has
  // the prompt's figures so far.
  size_t processed_tokens = 0;
  FinishReason reason = FinishReason::kStop;
  bool context_full = false;  // with kLength: the context ended it, not tokens_max
  std::string stop_text;      // the stop text that ended the answer, if one did
  size_t slot = 0;            // with kDone: that answered; 0 when none did
  // With kText: so far.
  GenerationCost cost;
  // With kProgress and kDone of the first answer: what became of the prompt. Null: it got no slot.
  std::shared_ptr<const ReuseReport> report = {};
  Error error;
};

class Generation {
 public:
  // Is shown every event by the thread that takes it, before that thread has it. Before the first
  // Next.
  void SetWatcher(std::function<void(const GenerationEvent&)> watcher) {
    watcher_ = std::move(watcher);
  }
  // Waits up to `timeout` for the next event; nothing: it did not come yet. After kDone or kFailed
  // nothing comes of that answer.
  std::optional<GenerationEvent> Next(std::chrono::milliseconds timeout);
  // As Next, but the event stays, and this is its kind.
  std::optional<GenerationEvent::Kind> AwaitKind(std::chrono::milliseconds timeout);
  void Push(GenerationEvent event);

  // The work on all answers stops at the next piece; what there is by then is the answer.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  // As Cancel, because the client is gone or the server ends; what there is by then is no answer.
  void Abandon() {
    abandoned_.store(true, std::memory_order_relaxed);
    Cancel();
  }
  // Why nothing more is to be had of the answers; nothing: they go on, or `event` ended one well.
  // An event of this generation. A beginning must not be taken for the answer where somebody
  // still hears it, as in the first moment of a server's end.
  std::optional<Error> FailureOf(const GenerationEvent& event) const;

  // The first answer has its prompt: the others can begin there.
  void MarkPromptRead() { prompt_read_.store(true, std::memory_order_relaxed); }
  bool prompt_read() const { return prompt_read_.load(std::memory_order_relaxed); }

 private:
  std::optional<GenerationEvent> Take(std::chrono::milliseconds timeout);
  // True: there is an event. `lock` holds mutex_.
  bool Await(std::unique_lock<std::mutex>* lock, std::chrono::milliseconds timeout);

  std::function<void(const GenerationEvent&)> watcher_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<GenerationEvent> events_;  // guarded by mutex_
  std::atomic<bool> cancelled_ = false;
  std::atomic<bool> abandoned_ = false;
  std::atomic<bool> prompt_read_ = false;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_GENERATION_H_
