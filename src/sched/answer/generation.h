// Generation: carries the events of a request from the thread that computes it to the thread that
// sends it.
//
//   Scheduler (context thread) ── Push ──>  [ progress, …, text, …, done ]  ── Next ──> HTTP thread
//                              <──────────────── Cancel, Abandon ─────────────────────
//
// All answers of a request come through one Generation, each event with the number of its answer.
// Who sends the events on to a client bounds how many wait: a client that reads slowly then pauses
// its answers (sched/queue/running_requests.h).
//
// Threads: every call is safe from any thread.

#ifndef CAIRN_SCHED_ANSWER_GENERATION_H_
#define CAIRN_SCHED_ANSWER_GENERATION_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/tokens.h"
#include "sched/answer/reuse_report.h"
#include "sched/answer/token_logprobs.h"

namespace cairn {

enum class FinishReason {
  kStop,       // the model ended its answer, or a stop text came
  kLength,     // tokens_max or the context was reached
  kCancelled,  // a caller ended it, or the client disconnected
};

// The cost of a request. Times are those of the request's own work; waiting in the queue is
// separate.
struct GenerationCost {
  size_t prompt_tokens = 0;
  size_t reused_tokens = 0;  // of the prompt, not prefilled again
  double queue_ms = 0;
  double prompt_ms = 0;  // up to the first token, including the restore of a checkpoint
  size_t generated_tokens = 0;
  size_t reasoning_tokens = 0;  // the part of generated_tokens between reasoning tags
  double generated_ms = 0;
  size_t drafted_tokens = 0;    // verified by speculative decoding
  size_t accepted_tokens = 0;   // of those, and of generated_tokens
  size_t pinned_texts = 0;      // texts of the prompt that were changed back to their first version
  size_t dropped_messages = 0;  // the conversation's oldest, which did not fit
  // The prompt's tokens before the last place whose state is kept for the time that the client
  // wants (PromptShape::marks). It may be where a state can be cut, a little before the mark.
  size_t kept_tokens = 0;
  size_t shifted_tokens = 0;  // dropped by context shift during the answer

  size_t prefill_tokens() const { return prompt_tokens - reused_tokens; }
};

struct GenerationEvent {
  enum class Kind {
    kProgress,  // a slot was found, or a chunk of the prompt was computed
    kText,
    kDone,
    kFailed,
  };
  Kind kind = Kind::kText;
  size_t answer = 0;  // index among the answers of the request
  std::string text;   // whole UTF-8 characters
  // With kText: the tokens whose text begins here. With kDone: those whose text was not sent, such
  // as a stop text's and the one that ended the answer.
  Tokens tokens = {};
  // With kText, if log-probabilities were requested: those of the same tokens. The text may then be
  // empty, because some tokens have none.
  std::vector<TokenLogprob> logprobs;
  // With kText, once, before any text: those of the prompt's tokens after the first one, if they
  // were requested.
  std::vector<TokenLogprob> prompt_logprobs = {};
  // With kProgress: the prompt tokens that are done, including reused ones. `cost` has the prompt's
  // figures so far.
  size_t processed_tokens = 0;
  FinishReason reason = FinishReason::kStop;
  bool context_full = false;  // with kLength: the context ended the answer, not tokens_max
  std::string stop_text;      // the stop text that ended the answer; empty if none did
  size_t slot = 0;            // with kDone: the slot of the answer; 0 if it had none
  // With kText: the cost so far.
  GenerationCost cost;
  // With kProgress and kDone of the first answer: how the prompt was obtained. nullptr if it got no
  // slot.
  std::shared_ptr<const ReuseReport> report = {};
  Error error;
};

class Generation {
 public:
  Generation() = default;
  // A part of `whole`, which gets all its events: an answer's number is that of this generation
  // plus `first_answer`. The part is cancelled and paused with the whole. Nobody takes events of
  // the part.
  Generation(std::shared_ptr<Generation> whole, size_t first_answer)
      : whole_(std::move(whole)), first_answer_(first_answer) {}

  // `watcher` is called with every event by the thread that takes it, before Next returns it. Call
  // before the first Next.
  void SetWatcher(std::function<void(const GenerationEvent&)> watcher) {
    watcher_ = std::move(watcher);
  }
  // Waits up to `timeout` for the next event; nullopt if none came. No event of an answer follows
  // its kDone or kFailed.
  std::optional<GenerationEvent> Next(std::chrono::milliseconds timeout);
  // As Next, but leaves the event in place and returns its kind.
  std::optional<GenerationEvent::Kind> AwaitKind(std::chrono::milliseconds timeout);
  // For answers that are sent on while they grow: behind() holds from when `events_max` events wait
  // for Next until half of them do. By default any number may wait. REQUIRES: events_max > 0.
  void BoundWaiting(size_t events_max);
  // Whether the client is so far behind that nothing should be added to the answers. Each of them
  // may still get what it was about to get.
  bool behind() const {
    return whole_ ? whole_->behind() : behind_.load(std::memory_order_relaxed);
  }
  // Does nothing after Fail.
  void Push(GenerationEvent event);
  // Ends all answers with `error`, behind the events that came before. For a caller who knows that
  // the context thread does not come back; that thread pushes kFailed itself.
  void Fail(Error error);

  // Stops the work on all answers at the next chunk; each answer is what was generated by then.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const {
    return cancelled_.load(std::memory_order_relaxed) || (whole_ && whole_->cancelled());
  }
  // As Cancel, but because the client is gone or the server shuts down: a partial answer is a
  // failure.
  void Abandon() {
    abandoned_.store(true, std::memory_order_relaxed);
    Cancel();
  }
  // Returns why no more events of the answers will come; nullopt if they continue, or `event` ended
  // one well. `event` is one of this generation. A partial answer must not be taken for a complete
  // one by a client that is still connected, as at the start of a shutdown.
  std::optional<Error> FailureOf(const GenerationEvent& event) const;

  // The first answer has computed its prompt: the others can begin there.
  void MarkPromptPrefilled() { prompt_prefilled_.store(true, std::memory_order_relaxed); }
  bool prompt_read() const { return prompt_prefilled_.load(std::memory_order_relaxed); }

 private:
  std::optional<GenerationEvent> Take(std::chrono::milliseconds timeout);
  bool HasEvent() const REQUIRES(mutex_) { return !events_.empty() || failed_; }
  // Returns whether there is an event.
  bool Await(std::chrono::milliseconds timeout) REQUIRES(mutex_);
  void UpdateBehind() REQUIRES(mutex_);

  const std::shared_ptr<Generation> whole_;  // null unless this is a part
  const size_t first_answer_ = 0;
  std::function<void(const GenerationEvent&)> watcher_;
  Mutex mutex_;
  CondVar arrived_;
  std::deque<GenerationEvent> events_ GUARDED_BY(mutex_);
  size_t waiting_max_ GUARDED_BY(mutex_) = SIZE_MAX;  // see BoundWaiting
  std::optional<Error> failed_ GUARDED_BY(mutex_);    // set by Fail
  std::atomic<bool> behind_ = false;
  std::atomic<bool> cancelled_ = false;
  std::atomic<bool> abandoned_ = false;
  std::atomic<bool> prompt_prefilled_ = false;
};

// OpenGenerations: the generations whose events somebody still takes.
//
// The queue and the running requests belong to the context thread. This list lets another thread
// end all requests when the context thread never comes back.
//
// Threads: any.
class OpenGenerations {
 public:
  void Add(const std::shared_ptr<Generation>& generation);
  // Ends all of them with `error` (Generation::Fail), and from then on each that is added.
  void FailAll(const Error& error);

 private:
  Mutex mutex_;
  std::vector<std::weak_ptr<Generation>> open_ GUARDED_BY(mutex_);  // some may have ended
  std::unique_ptr<const Error> error_ GUARDED_BY(mutex_);           // nullptr until FailAll
};

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_GENERATION_H_
