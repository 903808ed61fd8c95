#include "sched/scheduler.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "base/check.h"
#include "engine/embed/embedding_architectures.h"
#include "sched/request/adapter_name_space.h"
#include "sched/request/generation_request.h"

namespace cairn {
namespace {

// A wake-up without work this rarely costs nothing noticeable.
constexpr double kWaitMsMax = 60'000;
// Other processes may come to need the memory.
constexpr double kMemoryWaitMsMax = 5'000;
// How long the thread sleeps at most while all requests wait for the disk: one may be cancelled.
constexpr double kLoadWaitMs = 50;
// The same while one waits for a remote store, whose lookups have a time limit of that order.
constexpr double kFetchWaitMs = 5;
// The same while all requests wait for their clients to read. A client still has half of its bound
// to read when its answer goes on, so it sees no gap.
constexpr double kPauseWaitMs = 10;

SlotPoolOptions SlotPoolOptionsOf(const SchedulerOptions& options, const CutRules& cuts) {
  SlotPoolOptions pool{options.slots};
  pool.mode = options.reuse;
  pool.cuts = cuts;
  pool.leave_grid = options.leave_grid && options.reuse == ReuseMode::kLive;
  pool.trace = options.trace;
  return pool;
}

DecoderOptions DecoderOptionsOf(const SchedulerOptions& options) {
  const bool exact = options.reuse == ReuseMode::kExact;
  const bool may_draft = !exact || options.drafts.in_exact;
  return {exact, may_draft && options.drafts.on(), options.context_shift};
}

// Saves the next part as at the server's shutdown. The slots of an unloaded model are empty.
void SaveStep(bool unloaded, CacheSaver* saver) {
  if (unloaded) {
    saver->StepWhileUnloaded();
  } else {
    saver->Step(/*now=*/true);
  }
}

}  // namespace

Scheduler::Scheduler(Engine* engine, CheckpointCache* cache, const Clock* clock,
                     const SchedulerOptions& options)
    : engine_(engine),
      cache_(cache),
      clock_(clock),
      options_(options),
      rules_(engine, options),
      slots_(engine, cache, clock, SlotPoolOptionsOf(options, rules_.cuts())),
      archive_(&slots_.pool, &slots_.offloader),
      accounts_(engine->slots(), options.pace, options.trace),
      draft_model_(options.drafts.model.engine == nullptr
                       ? nullptr
                       : new DraftModel(engine, clock, accounts_.pace.get(), &accounts_.stats,
                                        options.drafts.model, options.slots)),
      queue_(options.queue_limit),
      running_(engine, cache, clock, &slots_.pool, &slots_.offloader, &accounts_.stats,
               &accounts_.trace, &queue_,
               AnswerReporter(cache, clock, &slots_.pool, &slots_.offloader, &accounts_.stats,
                              &accounts_.trace, &save_lag_, options.observer)),
      admission_(
          cache, clock, &slots_.pool, &slots_.restorer, &accounts_.shares, &accounts_.stats,
          {options.share_wait_ms, options.slow_reader_ms}, &queue_, &running_,
          {.prefix = {engine, cache, &slots_.pool, &slots_.restorer, &rules_, &queue_, &running_},
           .loads = {cache, clock, &slots_.restorer, &accounts_.stats, engine->slots(), &running_},
           .fetches = {engine, cache, clock, &slots_.restorer, &accounts_.stats, options.remote},
           .exchange = {cache, clock, &slots_.offloader, &slots_.restorer, &running_},
           .fills = {cache, clock, &slots_.restorer, &accounts_.shares, &running_}}),
      decoder_(engine, clock, &slots_.pool, &slots_.offloader, &accounts_,
               DecoderOptionsOf(options), &running_,
               Speculation(engine, clock, &slots_.pool, &accounts_.stats, options.drafts,
                           draft_model_.get())),
      prefetcher_(cache, clock, &slots_, &rules_, &accounts_.stats, &accounts_.trace,
                  options.prefetch, options.warm_start),
      prefill_(engine, cache, clock, &slots_, &rules_, &accounts_,
               {options.media, options.drafts.make != nullptr}, &queue_, &running_, &decoder_,
               &prefetcher_),
      memory_governor_(cache, clock, &accounts_.stats, options.memory, options.cache_bytes_max,
                       options.log),
      cache_saver_(cache, clock, &slots_.offloader, &slots_.restorer, &accounts_.stats, &save_lag_),
      idle_unloader_(engine, cache, clock, &slots_.pool, &slots_.offloader, &accounts_.stats,
                     &accounts_.trace, {options.sleep_after_ms, options.log}, draft_model_.get()),
      prefix_reporter_(engine, cache, clock, &slots_.pool, rules_.exact(), options.prefixes),
      slot_commands_(cache, &slots_.pool, &archive_, &accounts_.stats, options.idle_work, &mailbox_,
                     &idle_unloader_, &running_),
      idle_work_(options.idle_work) {
  CHECK(!rules_.exact() || (options.slots.move_tokens_min == 0 && !options.context_shift));
}

Status Scheduler::CheckRequest(const GenerationRequest& request) const {
  CHECK(request.answers > 0);
  const size_t queue_limit = options_.queue_limit;
  if (IsEncoder(engine_->info().architecture)) return tl::unexpected(WritesNoAnswers());
  if (request.prompt.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "the prompt is empty; it needs at least one token");
  }
  if (request.prompt.size() >= engine_->context_tokens()) {
    return tl::unexpected(
        PromptTooLong(std::to_string(request.prompt.size()), engine_->context_tokens()));
  }
  if (request.slot && *request.slot >= engine_->slots()) {
    return Fail(ErrorCode::kInvalidArgument, "there is no slot " + std::to_string(*request.slot) +
                                                 "; slots are numbered from 0 to " +
                                                 std::to_string(engine_->slots() - 1) +
                                                 ", and -1 is any");
  }
  if (request.answers > 1 && request.answers > queue_limit) {
    return Fail(ErrorCode::kInvalidArgument,
                std::to_string(request.answers) + " answers were requested, but the queue holds " +
                    std::to_string(queue_limit) +
                    "; request fewer or start the server with a larger --queue-limit");
  }
  return {};
}

Result<std::shared_ptr<Generation>> Scheduler::Submit(GenerationRequest request) {
  if (Status good = CheckRequest(request); !good) return tl::unexpected(good.error());
  if (AdapterSets* const sets = engine_->adapter_sets()) {
    auto held = sets->Hold(AdapterSetOf(request.name_space));
    if (!held) return tl::unexpected(held.error());
    request.adapters_held = *std::move(held);
  }
  // `exact` resumes at cuts alone, and a prompt's end is seldom one.
  if (rules_.exact()) request.shape.reply_follows = false;
  auto generation =
      std::make_shared<Generation>(std::exchange(request.part_of, nullptr), request.first_answer);
  const double now_ms = clock_->NowMs();
  std::vector<QueuedRequest> answers(request.answers);
  for (size_t i = 1; i < answers.size(); ++i) {
    answers[i].request = request;
    answers[i].request.slot.reset();
    answers[i].request.params.prompt_logprobs.reset();
  }
  answers.front().request = std::move(request);
  for (size_t i = 0; i < answers.size(); ++i) {
    QueuedRequest& answer = answers[i];
    uint32_t& seed = answer.request.params.sampling.seed;
    if (seed != SamplingParams{}.seed) seed += static_cast<uint32_t>(i);
    answer.generation = generation;
    answer.answer_index = i;
    answer.times.submitted_ms = answer.times.queued_ms = now_ms;
    // Set here, so that a request that leaves the queue without a slot ends like any other.
    answer.cost.prompt_tokens = answer.request.prompt.size();
    answer.text = std::make_unique<StopText>(answer.request.params.stop_texts);
  }
  if (Status queued = queue_.Push(std::move(answers)); !queued) {
    return tl::unexpected(queued.error());
  }
  open_generations_.Add(generation);
  InterruptIdleWork();
  mailbox_.Wake();
  return generation;
}

Status Scheduler::Look(std::function<void(CheckpointCache* cache)> look) {
  return mailbox_.Call<void>(Mailbox::Kind::kLook, [this, look = std::move(look)]() -> Status {
    ShowCache(look);
    return {};
  });
}

Status Scheduler::PostLook(std::function<void(CheckpointCache* cache)> look) {
  return mailbox_.Post(Mailbox::Kind::kPost, [this, look = std::move(look)] { ShowCache(look); });
}

void Scheduler::ShowCache(const std::function<void(CheckpointCache* cache)>& look) {
  RefreshCache(cache_, clock_->NowMs());
  look(cache_);
  // Before the caller goes on, who may ask for the figures at once.
  accounts_.stats.Update([this](SchedulerStats* stats) { stats->cache = cache_->stats(); });
}

void Scheduler::DoLooks(size_t count_max) {
  mailbox_.Do(Mailbox::Kind::kPost);
  mailbox_.Do(Mailbox::Kind::kLook, count_max);
}

Result<size_t> Scheduler::Flush() {
  size_t left = 0;
  Status done = Look([this, &left](CheckpointCache* /*cache*/) {
    SaveStep(idle_unloader_.unloaded(), &cache_saver_);
    left = accounts_.stats.unsaved_bytes();
  });
  if (!done) return tl::unexpected(done.error());
  return left;
}

Result<size_t> Scheduler::SetCacheLimit(size_t bytes) {
  size_t freed_bytes = 0;
  Status done = Look([this, bytes, &freed_bytes](CheckpointCache* /*cache*/) {
    freed_bytes = memory_governor_.SetLimit(bytes);
  });
  if (!done) return tl::unexpected(done.error());
  return freed_bytes;
}

void Scheduler::SetDraining(bool draining) {
  draining_ = draining;
  if (options_.remote != nullptr) options_.remote->SetDraining(draining);
  mailbox_.Wake();
}

void Scheduler::Prefetch(std::vector<PrefetchPrompt> prompts) {
  prefetcher_.Add(std::move(prompts));
  mailbox_.Wake();
}

void Scheduler::Stop() {
  queue_.Close();
  InterruptIdleWork();
  mailbox_.Stop();
}

void Scheduler::LoseEngine(const Error& error) {
  queue_.Close();
  open_generations_.FailAll(error);
}

void Scheduler::Run() {
  while (!mailbox_.stopping()) {
    try {
      RunOnce();
    } catch (const std::bad_alloc&) {
      RecoverMemory();
    }
  }
  EndIdleWork();
  DoLooks(SIZE_MAX);
  prefetcher_.Pause();
  if (idle_unloader_.unloaded()) idle_unloader_.SetReason("the server is shutting down");
  DoCommands();
  // A client that was saving a slot gets no further result.
  archive_.EndAllSaving();
  FailEverything({ErrorCode::kUnavailable, "the server is shutting down"});
}

void Scheduler::RunOnce() {
  memory_governor_.Watch();
  prefix_reporter_.StepWhileBusy();
  DoLooks(1);
  if (HasWork()) {
    EndIdleWork();
    const bool busy = Step();
    SaveWhileBusy();
    if (!busy) WaitForOthers();
  } else if (DoIdleWork()) {
    // One chunk was computed; a request may have arrived meanwhile.
  } else if (!draining_ && PrefetchNext()) {
    SaveWhileBusy();
  } else if (!SaveNext(draining_) && !SleepIfIdle()) {
    WaitForWork();
  }
}

// The store wakes this thread when an object has been read, and EncodedMedia likewise.
void Scheduler::WaitForOthers() {
  if (admission_.fetches()) {
    mailbox_.Wait(kFetchWaitMs);
  } else if (running_.has_paused()) {
    mailbox_.Wait(kPauseWaitMs);
  } else if (admission_.loads() || prefill_.waits_for_media()) {
    mailbox_.Wait(kLoadWaitMs);
  }
}

bool Scheduler::SaveNext(bool now) {
  if (cache_saver_.Step(now)) return true;
  return draft_model_ != nullptr && !idle_unloader_.unloaded() && draft_model_->Save(now);
}

uint64_t Scheduler::UnsavedBytes() const {
  return accounts_.stats.unsaved_bytes() +
         (draft_model_ == nullptr ? 0 : draft_model_->unsaved_bytes());
}

void Scheduler::SaveWhileBusy() {
  // A drained server's conversations go on elsewhere, so their states are worth the time of the
  // running answers.
  if (draining_) {
    SaveStep(idle_unloader_.unloaded(), &cache_saver_);
  } else {
    cache_saver_.StepWhileBusy();
  }
  if (draft_model_ != nullptr) draft_model_->SaveWhileBusy();
}

bool Scheduler::DoIdleWork() {
  if (idle_work_ == nullptr) return false;
  if (!idle_work_->Step()) EndIdleWork();
  return true;
}

void Scheduler::InterruptIdleWork() const {
  if (options_.idle_work != nullptr) options_.idle_work->Interrupt();
}

void Scheduler::EndIdleWork() {
  if (idle_work_ != nullptr) std::exchange(idle_work_, nullptr)->End();
}

// Queued requests cannot begin while all slots are being saved, and the end of saving is a command.
// A slot used for prefetch is free for a request.
bool Scheduler::HasWork() const {
  if (!running_.empty() || admission_.fills() || mailbox_.has_commands()) return true;
  const bool has_free = slots_.pool.has_free() || prefetcher_.has_slot();
  return has_free && !queue_.empty();
}

void Scheduler::WaitForWork() {
  double wait_ms = std::min(idle_unloader_.UntilUnloadMs(), kWaitMsMax);
  if (options_.memory != nullptr) wait_ms = std::min(wait_ms, kMemoryWaitMsMax);
  // By then there may be more to save, or the budget may allow more prefetch.
  if (UnsavedBytes() > 0 || prefetcher_.is_unfinished()) {
    wait_ms = std::min(wait_ms, CacheSaver::kIntervalMs);
  }
  prefix_reporter_.Report();
  mailbox_.Wait(wait_ms);
}

bool Scheduler::SaveAll(double ms_max) {
  const double end_ms = clock_->NowMs() + ms_max;
  while (clock_->NowMs() < end_ms) {
    if (SaveNext(true)) continue;
    if (UnsavedBytes() == 0) return true;
    // The disk may refuse writes for longer than a shutdown may take.
    if (cache_->saved_stats().takes_nothing()) return false;
    // The queue to the disk is full.
    mailbox_.WaitForWake(CacheSaver::kIntervalMs);
  }
  return false;
}

bool Scheduler::Step() {
  if (idle_unloader_.unloaded() && !LoadForWork()) return false;
  memory_governor_.Watch();
  TraceSpan span = accounts_.trace.Span("step");
  prefetcher_.Pause();
  running_.EndLeaving();
  FailOverdue();
  running_.UpdatePauses();
  admission_.UpdateShares();
  const bool commanded = DoCommands();
  admission_.UpdateWaits();
  const bool loaded = admission_.UpdateLoads();
  bool stored = false;
  bool admitted = false;
  // Those that wait at the same moment are one group (PromptGroup).
  do {
    stored = admission_.PrepareSlots() || stored;
    if (!AdmitNext()) break;
    admitted = true;
    admission_.UpdateWaits();
    admission_.UpdateLoads();
  } while (prefill_.MayWaitForMore());
  const bool preempted = !admitted && admission_.PreemptPaused();
  if (!admitted && !preempted) admission_.PreemptForShare();
  // Done before a new prompt takes cells behind the idle ones, because attention passes over all
  // cells up to the last in use.
  const size_t coming_tokens = running_.unprefilled_tokens();
  while (slots_.offloader.OffloadIdle(coming_tokens) && !running_.has_decoding()) {
  }
  const bool prefilled = prefill_.Step();
  const bool answers_wait = prefilled && prefill_.AnswersCanWait();
  const bool decoded = !answers_wait && decoder_.DecodeAnswers();
  running_.PublishSlots();
  const bool runs = running_.has_unpaused() && !prefill_.waits_for_media();
  const bool busy =
      commanded || loaded || stored || admitted || preempted || prefilled || decoded || runs;
  if (busy) idle_unloader_.OnBusy();
  accounts_.trace.EndStep(&span, busy);
  return busy;
}

// Charges the time of the restore, and of making a sampler with its grammar.
bool Scheduler::AdmitNext() {
  std::optional<QueuedRequest> next = admission_.TakeNext();
  if (!next) return false;
  const NamespaceId name_space = next->request.name_space;
  const double begin_ms = clock_->NowMs();
  RunningRequest* const request = running_.Admit(std::move(*next));
  if (request != nullptr) prefill_.Resume(request);
  accounts_.shares.Charge(name_space, clock_->NowMs() - begin_ms);
  return true;
}

void Scheduler::FailOverdue() {
  if (options_.request_ms_max <= 0) return;
  const double begun_before_ms = clock_->NowMs() - options_.request_ms_max;
  running_.FailIf(
      [&](const RequestState& request) { return request.times.submitted_ms < begun_before_ms; },
      {ErrorCode::kTimedOut,
       "the request took longer than --request-timeout; its prefilled tokens stay in the cache, so "
       "a retry continues from them"});
}

void Scheduler::FailEverything(const Error& error) {
  running_.FailIf([](const RequestState&) { return true; }, error);
}

bool Scheduler::PrefetchNext() {
  if (idle_unloader_.unloaded()) {
    prefetcher_.Clear();
    return false;
  }
  if (!prefetcher_.Step()) return false;
  running_.PublishSlots();
  idle_unloader_.OnBusy();
  return true;
}

bool Scheduler::SleepIfIdle() {
  if (slots_.pool.saving() || HasWork()) idle_unloader_.OnBusy();
  if (idle_unloader_.UntilUnloadMs() > 0) return false;
  prefetcher_.End();
  if (!idle_unloader_.Unload()) return false;
  running_.PublishSlots();
  return true;
}

bool Scheduler::LoadForWork() {
  if (!HasWork()) return false;
  if (idle_unloader_.Load()) {
    prefetcher_.OnModelLoaded();
    return true;
  }
  DoCommands();  // each returns the reason of its failure
  FailEverything({ErrorCode::kUnavailable, idle_unloader_.reason()});
  return false;
}

void Scheduler::RecoverMemory() {
  LogTo(options_.log, LogLevel::kError,
        "out of memory: all running requests fail, and all slots are emptied");
  prefetcher_.Abort();
  admission_.EndFills();
  running_.FailAll({ErrorCode::kUnavailable,
                    "the server is out of memory; try again later, or send a shorter prompt"});
  prefill_.WantMedia();
  for (size_t slot = 0; !idle_unloader_.unloaded() && slot < engine_->slots(); ++slot) {
    slots_.pool.EmptyAfterFailure(slot);
  }
  if (draft_model_ != nullptr && !idle_unloader_.unloaded()) draft_model_->EmptySlots();
  memory_governor_.OnFailedAllocation();
  accounts_.stats.Update([](SchedulerStats* stats) { ++stats->memory.failures; });
}

SchedulerStats Scheduler::stats() const {
  SchedulerStats stats = accounts_.stats.Read();
  stats.open.waiting = queue_.size();
  stats.refused = queue_.refused();
  stats.saved = cache_->saved_stats();
  if (options_.remote != nullptr) stats.remote = options_.remote->figures();
  if (options_.media != nullptr) stats.media = options_.media->stats();
  return stats;
}

}  // namespace cairn
