// Scheduler: the one thread that owns the engine's context. This is the header of sched/ that
// others include.
//
// Requests wait in a queue until a slot is free; Step() does one bounded thing for each kind of
// work there is and comes back:
//
//   queue ─> admit ──> resume ──> read a piece ──> … ──> decode a token ──> … ──> finish
//                       │            │                    └ of every answer, in one computation;
//                       │            │                      `exact` decodes each alone
//                       │            └ of one prompt, the first by sched/queue_order.h, and only as
//                       │              often as running answers can bear (sched/time_share.h);
//                       │              checkpoint where the cache planned one
//                       └ the slot, and the furthest point reachable without reading
//                         (sched/slot_keeper.h)
//
// A prompt that begins as one that is being read waits in the queue for that much of it
// (sched/in_flight.h). Others pass those that wait so, but leave them a slot.
//
// When the slots together outgrow the context, free ones are offloaded first; then the request that
// came last gives up its slot and goes on later where it was.
//
// Between two steps a request may be cancelled; the checkpoints it took stay.
//
// Threads: Submit and Stop from any thread; what is asked of slots, from any but the context's;
// Run, Step and the destructor from the context thread.

#ifndef CAIRN_SCHED_SCHEDULER_H_
#define CAIRN_SCHED_SCHEDULER_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/histogram.h"
#include "base/log.h"
#include "base/memory_watch.h"
#include "cache/cache_budget.h"
#include "cache/checkpoint_cache.h"
#include "cache/resume.h"
#include "engine/engine.h"
#include "sched/generation.h"
#include "sched/idle_work.h"
#include "sched/in_flight.h"
#include "sched/prefetch_budget.h"
#include "sched/prefetch_prompt.h"
#include "sched/prompt_sources.h"
#include "sched/queue_order.h"
#include "sched/queue_room.h"
#include "sched/reasoning_meter.h"
#include "sched/request_observer.h"
#include "sched/save_lag.h"
#include "sched/schedule_trace.h"
#include "sched/slot_keeper.h"
#include "sched/stop_text.h"
#include "sched/time_share.h"

namespace cairn {

struct GenerationParams {
  SamplingParams sampling;
  size_t tokens_max = SIZE_MAX;
  std::vector<std::string> stop_texts;
  bool ignore_end = false;  // go on past the model's own end of an answer
  // Control tokens with these texts are part of the answer's text; all others have none.
  std::vector<std::string> control_texts;
  // Of a context that is full, --context-shift keeps so many first tokens beside BOS; -1: the
  // prompt.
  int64_t keep_tokens = 0;
  // Report each token's log-probability, and those of so many likeliest ones beside it.
  std::optional<size_t> logprobs;
  ReasoningParams reasoning = {};
};

// What a client's callback hears of an answer. What it points to lives as long as the call.
struct FinishedAnswer {
  TokenSpan tokens;            // without the one that ended it
  std::string_view stop_text;  // that ended it, if one did
  FinishReason reason = FinishReason::kStop;
  uint64_t admission = 0;  // in the order in which requests got slots
};

struct GenerationRequest {
  NamespaceId name_space = 0;
  Tokens prompt;
  PromptShape shape;
  GenerationParams params;
  bool reuse = true;   // false: read all of the prompt
  size_t answers = 1;  // each drawn with a seed one higher, unless every seed is a new one
  std::optional<size_t> slot = {};  // wished for, see SlotNeeds; by the first answer
  size_t pinned_texts = 0;          // for the cost, which tells it
  size_t dropped_messages = 0;      // likewise
  // Nothing is asked but that whoever goes on from the prompt's end finds a slot there: the prompt
  // is a checkpoint's path, and need not be read to its last token (sched/bringing_back.cc). With
  // tokens_max 0.
  bool brings_back = false;
  // Called by the context thread, before the client hears of the end. Not when the answer failed.
  std::function<void(const FinishedAnswer& answer)> on_answer = {};
};

struct SchedulerOptions {
  ReuseMode reuse = ReuseMode::kLive;
  // Requests that may wait; more are refused.
  size_t queue_limit = 64;
  // A namespace that waits for a slot for so long gets one of the namespace that holds most of them
  // (sched/admission.cc).
  double share_wait_ms = 5000;
  // Of the time, that reading prompts may take while answers are on their way; see TimeShare.
  double prefill_share = 0.5;
  // From its arrival on; then a request ends with kTimedOut. 0: it may take as long as it takes.
  double request_ms_max = 0;
  // See SlotKeeper::Options.
  bool keep_ends = true;
  bool offload = true;
  LineageId first_lineage = 0;
  double unused_ms = 2000;
  PrefetchBudgetOptions warm = {};
  // At the start and after a sleep, bring headers back from a cache that saves into empty slots.
  bool warm_start = false;
  IdleWork* idle_work = nullptr;        // outlives the scheduler; null: none
  RequestObserver* observer = nullptr;  // outlives the scheduler; null: nobody
  // See SlotKeeper::Options.
  size_t move_tokens_min = 0;
  size_t beside_tokens_max = 0;
  // An answer that comes to the end of its context goes on (sched/context_shift.cc). Neither goes
  // with ReuseMode::kExact, and both have no effect where the engine does not shift.
  bool context_shift = false;
  // The engine's model is unloaded when nobody asked for so long (sched/sleeping.cc); negative:
  // never. Then Engine::Sleep must be possible.
  double sleep_after_ms = -1;
  // Looked at now and then; while memory is short the cache holds less (cache/cache_budget.h).
  MemoryWatch* memory = nullptr;  // outlives the scheduler; null: nobody looks
  size_t cache_bytes_max = 0;     // what the cache may hold when nothing is short
  LogSink log = {};               // may be empty
  TraceEvents* trace = nullptr;   // outlives the scheduler; null: nobody
};

// What one slot does.
struct SlotStats {
  size_t tokens = 0;  // that it holds
  bool busy = false;
  // Of the request at work, when busy.
  size_t prompt_tokens = 0;
  size_t generated_tokens = 0;
};

// Since the start; the last four are of now.
struct SchedulerStats {
  uint64_t requests = 0;
  uint64_t failed = 0;   // not among the requests
  uint64_t refused = 0;  // for want of room in the queue
  PromptSources prompt_sources;
  SecondsHistogram queue_times;        // until a slot was free
  SecondsHistogram first_token_times;  // from the arrival on
  // Of going back to what was not in a slot, by the slowest tier.
  SecondsHistogram ram_restore_times;
  SecondsHistogram disk_restore_times;
  SecondsHistogram save_lags;  // see SaveLag; none where nothing is saved
  uint64_t prompt_tokens = 0;
  uint64_t reused_tokens = 0;
  uint64_t generated_tokens = 0;
  uint64_t preempted = 0;  // slots, for want of room, in the middle of a request
  // Requests that let another read what both begin with although there was a slot for them.
  uint64_t waited_for_reader = 0;
  uint64_t prefetched_tokens = 0;       // read before anyone asked
  uint64_t prefetched_used_tokens = 0;  // of these, that requests went on behind
  size_t memory_left_bytes = 0;         // what this process might still use; 0: nobody has looked
  uint64_t sheddings = 0;               // times that the cache gave things up as memory was short
  uint64_t shed_bytes = 0;
  uint64_t memory_failures = 0;  // times that all at work failed for want of memory
  size_t unsaved_bytes = 0;  // about so many are worth saving and not on their way to a disk yet
  double prompt_ms = 0;
  double generated_ms = 0;
  uint64_t sleeps = 0;  // times the model was unloaded
  double wake_ms = 0;   // of loading it again, all times together
  SlotKeeper::Stats keeper;
  CacheStats cache;
  SavedStats saved;  // of now
  bool sleeping = false;
  std::vector<SlotStats> slots;
  size_t running = 0;
  size_t waiting = 0;
};

class Scheduler {
 public:
  // All three outlive the scheduler.
  Scheduler(Engine* engine, CheckpointCache* cache, const Clock* clock,
            const SchedulerOptions& options);

  // Several answers wait in the queue as one request each; all but the first until it has read the
  // prompt, so that they go on from there.
  // kTooLong: the prompt leaves no room for an answer. kInvalidArgument: it is empty, there is no
  // such slot, or never room for so many answers in the queue. kUnavailable: the queue is full, or
  // the scheduler is stopping.
  // REQUIRES: request.answers > 0.
  Result<std::shared_ptr<Generation>> Submit(GenerationRequest request);

  // These wait for the context thread, which must be another one, and do there what SlotKeeper does
  // under the same names. kUnavailable: the scheduler is stopping. A piece is taken between two
  // steps, so that other slots wait for one at most; between BeginSaving and EndSaving requests get
  // other slots, or wait.
  Result<size_t> EraseSlot(size_t slot, NamespaceId name_space);
  Result<SlotContent> BeginSaving(size_t slot, NamespaceId name_space);
  Result<Bytes> TakePiece(size_t slot, const SlotPart& piece);
  void EndSaving(size_t slot);
  Status CheckFree(size_t slot);
  Status RestoreSlot(size_t slot, SavedSlot saved);

  // Shows the cache to `look` on the context thread, which must be another one, between two steps,
  // and waits for that. It is nobody's request: a model that is unloaded stays so. kUnavailable:
  // the scheduler is stopping.
  Status Look(std::function<void(CheckpointCache* cache)> look);
  // The same for who does not wait for it: before anything that is submitted later. Any thread.
  Status PostLook(std::function<void(CheckpointCache* cache)> look);
  // Begins to save the next piece of all that is worth it, as for the end of the server. How many
  // bytes are left. Errors as Look's.
  Result<size_t> Flush();

  // How a conversation is expected to come back, likeliest first, to be read while nothing else
  // wants the machine. Any thread; the oldest are forgotten when there are too many.
  void Prefetch(std::vector<PrefetchPrompt> prompts);

  // Steps until Stop; then fails what is left. While there is nothing to do, prompts are read ahead
  // and what is worth it is handed to a cache that saves.
  void Run();
  void Stop();
  // Any thread: there may be news for the cache.
  void Wake();
  // After Run: hands all that is worth it to a cache that saves, for at most so long.
  // False: there was more.
  bool SaveAll(double ms_max);
  // One step; false: there is nothing to do.
  bool Step();
  // Reads a piece of what is expected to come; false: there is none, or it would be too much.
  // REQUIRES: Step has nothing to do.
  bool PrefetchNext();
  // Unloads the model if it was idle for sleep_after_ms. False: it was not, or the model is
  // unloaded already. Run does so by itself. REQUIRES: there is nothing to do.
  bool SleepIfIdle();

  SchedulerStats stats() const;

 private:
  // How much of a queued prompt is still to be read, when that was last looked at.
  struct ReadGuess {
    size_t tokens = 0;
    size_t shared_tokens = 0;                // with a slot in use, in whose cells they lie
    std::optional<uint64_t> admission = {};  // the last one then
  };
  struct Task {
    GenerationRequest request;
    std::shared_ptr<Generation> generation;
    size_t answer_index = 0;  // of those asked for
    uint64_t number = 0;      // in the order of arrival
    uint64_t admission = 0;   // in the order of admission; of the last one
    ReaderWait wait;          // while it is queued
    ReadGuess guess;          // likewise
    double submitted_ms = 0;
    double queued_ms = 0;  // since then, when it is or was last
    double admitted_ms = 0;
    double first_token_ms = 0;
    GenerationCost cost;
    std::unique_ptr<Sampler> sampler;
    ReasoningMeter reasoning;
    std::unique_ptr<StopText> text;
    HeldLogprobs logprobs;
    std::vector<Placement> plan;                // checkpoints still to take, nearest first
    std::vector<ClientMark> marks;              // of the request, where checkpoints can be
    std::optional<Token> next;                  // drawn, not decoded
    Tokens answer;                              // drawn, without the one that ended it
    double read_ms = 0;                         // of the pieces read so far
    size_t read_from = 0;                       // where reading began
    std::shared_ptr<const ReuseReport> report;  // of its first admission
    std::optional<size_t> slot;                 // while it has one
    // What is to be read before the next token is drawn: the prompt; after the slot was given up in
    // the middle of an answer, that too.
    Tokens reading;
    // Of what brings back: the last token of `reading` stands for what may come, and is not read.
    bool stands_in = false;
    CheckpointClass brought_class = CheckpointClass::kInterval;  // likewise: of its checkpoint

    bool refused = false;    // it makes room in the queue for somebody who waits with fewer
    bool preempted = false;  // its slot went to a namespace that had none
    double slot_ms = 0;      // when it got its slot, the last time

    bool answering() const { return next.has_value(); }
    // Whether it only waits to be told so.
    bool leaves_queue() const { return refused || generation->cancelled(); }
    // Or it waits for another answer's prompt.
    bool ready() const {
      return answer_index == 0 || generation->prompt_read() || generation->cancelled();
    }
  };
  // What is being read ahead.
  struct Prefetching {
    PrefetchedPrompt warmed;
    std::optional<size_t> slot = {};  // while nobody else wants one
  };
  // A request that got a slot for its prompt.
  struct Asked {
    NamespaceId name_space = 0;
    uint64_t admission = 0;
    Tokens prompt;
  };
  // What those that were passed in the queue will take.
  struct Reserved {
    size_t slots = 0;
    size_t tokens = 0;
  };

  Status CheckRequest(const GenerationRequest& request) const;

  // In slot_orders.cc.
  // Has the context thread do it, and waits.
  template <typename T>
  Result<T> Order(std::function<Result<T>()> order);
  // False: there was nothing to do.
  bool DoOrders();
  // For the context thread, which is told. `queue`: orders_, looks_ or posts_.
  Status Post(std::deque<std::function<void()>>* queue, std::function<void()> work);
  void ShowCache(const std::function<void(CheckpointCache* cache)>& look);
  // A look may walk over all of the cache, so answers go on between two of them.
  void DoLooks(size_t count_max);
  // Those that are there now, `count_max` at most; how many.
  size_t DoAll(std::deque<std::function<void()>>* queue, size_t count_max);

  // Moves those of the queue to running_, where they have no slot, to be ended.
  void TakeFromQueue(const std::function<bool(const Task&)>& leaves);
  // REQUIRES: mutex_ is held.
  Status MakeQueueRoom(const std::vector<Task>& newcomers);
  // A namespace that has waited long enough gets a slot of one that holds more.
  void PreemptForShare();
  // In tending.cc.
  void RunOnce();
  // False: there is none left.
  bool DoIdleWork();
  void EndIdleWork();
  bool HasWork() const;
  void SaveWhileBusy();
  // In memory.cc.
  void WatchMemory();
  void SayBudget(const MemoryRoom& room, size_t before, size_t freed);
  // There was no memory for something that everything needs. All that is at work fails, no slot
  // holds anything, and it goes on.
  void RecoverMemory();

  // One bounded thing for a cache that saves. False: there is nothing to do for it now.
  bool Tend(bool now);
  void WaitForWork();

  // Makes room at the end of a full slot, in context_shift.cc. False: the answer ends here.
  bool ShiftContext(Task* task);

  // In sleeping.cc.
  double UntilSleepMs() const;
  bool WakeEngine();
  // False: there is no work, or the engine does not wake and whoever waited has been told.
  // REQUIRES: it sleeps.
  bool WakeForWork();
  void FailQueued(const Error& error);
  void Say(LogLevel level, const std::string& line) const;

  // In admission.cc.
  // Tells who has something to do.
  void ShareFairly();
  bool AdmitNext();
  // Who is ready, as places in the queue, who comes first first.
  std::vector<size_t> QueueInOrder();
  // Of all that is ready. Matching a prompt takes its time, and other threads submit meanwhile.
  void GuessReads();
  void GuessRead(Task* task);
  // That reading so many tokens will take, as far as is known.
  double ReadMs(size_t tokens) const;
  std::optional<Task> NextTask();
  bool MayAdmit(const Task& task, const Reserved& reserved) const;
  void Admit(Task taken);

  // In waiting.cc.
  // Compares those in the queue with those that read, each pair once.
  void MeetReaders();
  // `reach`: how far `waiter` gets now without reading, once that is known.
  void Meet(Task* waiter, Task* reader, std::optional<size_t>* reach);
  static bool MayWait(const Task& task);
  // Whether it reads its prompt, for the first time.
  static bool Reads(const Task& task);
  // That it waits for; null: that one is no longer at work.
  const Task* ReaderOf(const Task& waiter) const;
  bool Waits(const Task& task) const;

  // In warming.cc.
  // False: there is none to bring back.
  bool BringHeaderBack();
  bool TakePrefetchPrompt();
  // False: there is nothing to read, or no slot to read it in.
  bool BeginPrefetching();
  // False: it cannot be read.
  bool ReadAhead(size_t tokens_max);
  void EndPrefetching();
  // Its slot is free for all; what was read stays.
  void PausePrefetching();
  // A request came: what was expected of its conversation is not any more, be it expected already
  // or only when it is rendered.
  void ForgetPrefetched(const Task& task);
  // Whether the conversation went on before it was rendered.
  bool IsLate(const PrefetchPrompt& prompt) const;
  // It goes on behind `reused` tokens. How many of them were read ahead.
  size_t CountPrefetched(const GenerationRequest& request, size_t reused);

  // In bringing_back.cc.
  // Before it gets its slot. True: there was nothing to do, and it has ended.
  bool IsBroughtBack(Task* task);
  // How far it is read.
  size_t GoalOf(const Task& task) const;
  // Once it has its slot; it may end there.
  void PlanBringingBack(Task* task);
  void EndBringingBack(Task* task);

  // In reading.cc.
  void Resume(Task* task);
  // What is known of a prompt, in slots and in the cache. To be asked before it gets its slot.
  ReuseReport Nearest(const GenerationRequest& request, const CheckpointCache::MatchResult& match);
  void CountRestore(const ReuseReport& report);
  // Keeps what is stored at the mark, if it is.
  void KeepMark(const Task& task, const ClientMark& mark);
  bool ReadNext();
  // Null: nobody reads.
  Task* NextReader();
  // As one of those that read. Who waits for it in the queue lends it its place.
  Contender AsReader(const Task& task) const;
  // Up to where the task's tokens are read in pieces; those behind are read one by one.
  size_t PromptEnd(const Task& task) const;
  void PrefillChunk(Task* task);
  void EndReading(Task* task, std::span<const float> logits);
  bool HasAnswering() const;
  // Of those that have a slot.
  size_t UnreadTokens() const;

  void FinishCancelled();
  void FailOverdue();
  // Tells stats() what the slots do now.
  void PublishSlots();
  void CountForTrace(const std::vector<SlotStats>& slots);
  bool DecodeAnswers();
  // False: there was no room, and some of the tasks may be gone.
  bool DecodeBatch(std::span<Task* const> tasks);
  void SampleToken(Task* task, std::span<const float> logits);
  void PreemptForRoom(Task* task);
  void Requeue(Task* task);
  Slot& SlotOf(const Task& task) { return keeper_.slot(*task.slot); }
  void PushText(Task* task, std::string text);
  void PushProgress(const Task& task);
  void Finish(Task* finished, FinishReason reason);
  void FailTask(Task* failed, Error error);
  // Takes the task out of running_. `why`, in a word, for who looks on.
  Task Remove(Task* task, std::string_view why);
  // Tells the observer, if there is one. `slot_tokens`: what its slot held, 0 when it had none.
  void Observe(const Task& task, EndedBy ended_by, std::optional<size_t> slot,
               size_t slot_tokens) const;
  size_t SlotTokens(const Task& task) const;

  Engine* const engine_;
  CheckpointCache* const cache_;
  const Clock* const clock_;
  const SchedulerOptions options_;
  const size_t grid_tokens_;

  // Owned by the context thread.
  SlotKeeper keeper_;
  ScheduleTrace trace_;
  std::list<Task> running_;  // admitted, in the order of arrival
  FairShares shares_;
  TimeShare time_;
  SaveLag save_lag_;
  IdleWork* idle_work_;  // null once it has ended
  PrefetchBudget prefetch_budget_;
  CacheBudget cache_budget_;
  double memory_ms_ = 0;  // when it was last looked at
  std::optional<Prefetching> prefetching_;
  PrefetchedPrompts prefetched_;
  std::deque<Asked> asked_;  // the last few
  // Still to be brought back; nothing: not looked for yet.
  std::optional<std::vector<CheckpointCache::StoredHeader>> headers_;
  uint64_t last_admission_ = 0;
  double saved_ms_ = 0;  // when SaveWhileBusy last did something
  double busy_ms_ = 0;   // when there was last something to do
  bool asleep_ = false;
  std::string why_asleep_;  // why it did not wake when it was last tried

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Task> queue_;                     // guarded by mutex_
  std::deque<std::function<void()>> orders_;   // guarded by mutex_
  std::deque<std::function<void()>> looks_;    // guarded by mutex_
  std::deque<std::function<void()>> posts_;    // looks nobody waits for; guarded by mutex_
  std::deque<PrefetchPrompt> prefetch_queue_;  // guarded by mutex_
  bool prefetch_news_ = false;                 // guarded by mutex_
  uint64_t last_number_ = 0;                   // guarded by mutex_
  bool stopping_ = false;                      // guarded by mutex_
  bool woken_ = false;                         // guarded by mutex_
  SchedulerStats stats_;                       // guarded by mutex_
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SCHEDULER_H_
