// For tests: seeded schedules of up to 64 clients on a clock that only computing moves. Requests
// arrive while others are prefilled or answered; clients disconnect, read nothing until the end,
// come back when the queue was full, or time out; prompts are prefetched and never requested; the
// model is unloaded between requests and may fail to load again; the engine fails.
//
// Every answer is that of an engine without a cache; no client is starved; the budget holds after
// each step, and each step makes progress.

#ifndef CAIRN_TESTING_SCHED_PLAYED_SCHEDULE_H_
#define CAIRN_TESTING_SCHED_PLAYED_SCHEDULE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "sched/scheduler.h"
#include "store/disk/disk_store.h"
#include "testing/base/played_share.h"
#include "testing/engine/fake_engine.h"
#include "testing/sched/memory_classes.h"
#include "testing/sched/played_conversation.h"

namespace cairn::test {

inline constexpr double kPrefillMsPerToken = 0.4;
inline constexpr double kChunkMs = 2;
inline constexpr double kDecodeMs = 5;
inline constexpr double kDecodeMsPerAnswer = 0.5;
inline constexpr double kWakeMs = 30;

inline constexpr Token kGenerationPrompt = '>';

// ScheduleEngine: only computing takes time, about as much as on a CPU. If configured so, a share
// of the calls fails in one of the ways that Engine allows.
class ScheduleEngine final : public FakeEngine {
 public:
  ScheduleEngine(const FakeEngineOptions& options, size_t failing_per_mille, ManualClock* clock)
      : FakeEngine(options),
        failing_per_mille_(failing_per_mille),
        random_(options.seed),
        clock_(clock) {}

  Status Decode(SeqId seq, size_t position, TokenSpan tokens) override {
    clock_->Advance(kChunkMs + kPrefillMsPerToken * static_cast<double>(tokens.size()));
    if (Fails()) return FailedDecode({seq});
    return FakeEngine::Decode(seq, position, tokens);
  }
  Status DecodeEach(std::span<const NextToken> tokens) override {
    clock_->Advance(kDecodeMs + kDecodeMsPerAnswer * static_cast<double>(tokens.size()));
    if (Fails()) {
      std::vector<SeqId> sequences;
      for (const NextToken& next : tokens) sequences.push_back(next.seq);
      return FailedDecode(sequences);
    }
    return FakeEngine::DecodeEach(tokens);
  }
  Result<Bytes> TakeSnapshot(SeqId seq) override {
    if (Fails()) return Failed(ErrorCode::kInternal);
    return FakeEngine::TakeSnapshot(seq);
  }
  Status Restore(SeqId seq, size_t position, std::span<const uint8_t> snapshot) override {
    if (Fails()) return FailedAndEmpty(seq, ErrorCode::kCorrupt);
    return FakeEngine::Restore(seq, position, snapshot);
  }
  Status Truncate(SeqId seq, size_t position) override {
    if (position > 0 && Fails()) return FailedAndEmpty(seq, ErrorCode::kInternal);
    return FakeEngine::Truncate(seq, position);
  }
  Result<Bytes> TakeSegment(SeqId seq, size_t begin, size_t end) override {
    if (Fails()) return Failed(ErrorCode::kInternal);
    return FakeEngine::TakeSegment(seq, begin, end);
  }
  Status Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> parts, size_t position,
                  std::optional<ByteSpan> snapshot) override {
    if (Fails()) return FailedAndEmpty(seq, OneOf(ErrorCode::kCorrupt, ErrorCode::kNoSpace));
    return FakeEngine::Assemble(seq, keep, parts, position, snapshot);
  }
  Status Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot) override {
    if (Fails()) return FailedAndEmpty(to, ErrorCode::kInternal);
    return FakeEngine::Fork(from, to, position, snapshot);
  }
  Status Drop(SeqId seq, size_t begin, size_t end) override {
    if (Fails()) return FailedAndEmpty(seq, ErrorCode::kInternal);
    return FakeEngine::Drop(seq, begin, end);
  }
  Result<Bytes> TakeFullState(SeqId seq) override {
    if (Fails()) return Failed(ErrorCode::kInternal);
    return FakeEngine::TakeFullState(seq);
  }
  Status SetFullState(SeqId seq, size_t position, ByteSpan whole) override {
    if (Fails()) return FailedAndEmpty(seq, OneOf(ErrorCode::kCorrupt, ErrorCode::kNoSpace));
    return FakeEngine::SetFullState(seq, position, whole);
  }
  Status Wake() override {
    clock_->Advance(kWakeMs);
    return FakeEngine::Wake();
  }

  size_t failures() const { return failures_; }

 private:
  bool Fails() {
    if (failing_per_mille_ == 0 || random_() % 1000 >= failing_per_mille_) return false;
    ++failures_;
    return true;
  }
  ErrorCode OneOf(ErrorCode a, ErrorCode b) { return random_() % 2 == 0 ? a : b; }
  static tl::unexpected<Error> Failed(ErrorCode code) { return Fail(code, "told to fail"); }
  Status FailedAndEmpty(SeqId seq, ErrorCode code) {
    Clear(seq);
    return Failed(code);
  }
  // Fails for lack of room, which changes nothing, or in the middle of the computation.
  Status FailedDecode(const std::vector<SeqId>& sequences) {
    if (random_() % 2 == 0) return Failed(ErrorCode::kNoSpace);
    for (const SeqId seq : sequences) Clear(seq);
    return Failed(ErrorCode::kInternal);
  }

  const size_t failing_per_mille_;
  std::mt19937_64 random_;
  ManualClock* const clock_;
  size_t failures_ = 0;
};

class ScheduleRun;

struct Schedule {
  uint64_t seed = 1;
  size_t clients = 8;
  size_t turns = 3;
  MemoryClass memory_class = MemoryClass::kHybrid;
  size_t slots = 4;
  size_t queue_limit = 64;
  size_t name_spaces = 1;
  size_t headers = 3;  // system prefixes that clients share; 0: they share none
  size_t cells = 0;    // 0: each slot has all the room it needs
  size_t ram_bytes_max = 1 << 20;
  AnswerPaceOptions pace = {};
  double request_ms_max = 0;
  size_t vanishing_percent = 0;
  bool warms = false;
  uint64_t pause_ms_max = 500;  // between an answer and the next request
  double sleep_after_ms = -1;   // see SchedulerOptions
  size_t refused_wakes_percent = 0;
  size_t beside_tokens_max = 0;  // see SchedulerOptions
  size_t failing_per_mille = 0;  // share of the calls to the engine
  ReuseMode reuse = ReuseMode::kLive;
  DiskStore* disk = nullptr;          // behind the cache, if there is one
  PrefixWatcher* prefixes = nullptr;  // see SchedulerOptions
  std::function<void(ScheduleRun* run)> after_step = {};
};

struct Asked {
  size_t client = 0;
  NamespaceId name_space = 0;
  Tokens prompt;
  double submitted_ms = 0;
  std::optional<double> vanishes_ms = {};
  bool wakes = false;  // the request loads the model
  std::shared_ptr<Generation> generation = {};
  // Set once the answer has ended.
  std::string text = {};
  GenerationEvent end = {};
  bool ended = false;

  double admitted_ms() const { return submitted_ms + end.cost.queue_ms; }
};

// The totals of many schedules.
struct Told {
  size_t answered = 0;
  size_t cancelled = 0;
  size_t refused = 0;
  size_t timed_out = 0;
  uint64_t preempted = 0;
  uint64_t warmed = 0;
  uint64_t reused = 0;
  uint64_t reused_after_sleep = 0;  // by requests that loaded the model
  size_t slept = 0;                 // schedules in which the model was unloaded
  size_t refused_to_wake = 0;       // ... and once failed to load again
  size_t failures = 0;              // of the engine
  size_t failed = 0;                // requests that ended with such a failure
};

class ScheduleRun {
 public:
  explicit ScheduleRun(const Schedule& schedule)
      : schedule_(schedule),
        random_(schedule.seed),
        engine_(EngineOptions(schedule), schedule.failing_per_mille, &clock_),
        cache_(CacheOptions{.ram_bytes_max = schedule.ram_bytes_max}, *MakePlacement("auto"),
               *MakeEviction("value"),
               schedule.disk == nullptr ? MakeRamStore() : MakeTieredStore(schedule.disk)),
        scheduler_(&engine_, &cache_, &clock_, Scheduling(schedule)) {
    if (schedule.disk != nullptr) {
      cache_.SetSavedAs({{1, 2}, {{0, 10}, {1, 11}, {2, 12}, {3, 13}, {4, 14}}});
    }
    for (size_t i = 0; i < schedule.clients; ++i) {
      Client& client = clients_.emplace_back();
      client.name_space = static_cast<NamespaceId>(i % schedule.name_spaces);
      const bool shares = schedule.headers > 0;
      client.prompt = shares ? Tokens(150, static_cast<Token>('A' + i % schedule.headers))
                             : Words(1 + random_() % 200);
      client.asks_ms = static_cast<double>(random_() % 2000);
    }
  }

  void Play() {
    size_t idle_steps = 0;
    while (!::testing::Test::HasFailure()) {
      Ask();
      Vanish();
      const auto before = Done();
      const bool stepped = scheduler_.Step() || scheduler_.PrefetchNext();
      Collect();
      EXPECT_LE(cache_.stats().bytes, schedule_.ram_bytes_max);
      if (schedule_.after_step) schedule_.after_step(this);
      if (stepped) {
        // A step may do no more than read objects from disk.
        EXPECT_TRUE(schedule_.disk != nullptr || Done() != before) << "a step without progress";
      } else if (scheduler_.stats().open.loading > 0) {
        cache_.TakeEvents();
      } else if (!SkipToNext()) {
        break;
      }
      ASSERT_LT(++idle_steps, 200'000u) << "it never ends";
    }
    cache_.CheckInvariants();
    Check();
  }

  CheckpointCache& cache() { return cache_; }
  Scheduler& scheduler() { return scheduler_; }
  const FakeEngine& engine() const { return engine_; }
  uint64_t Random() { return random_(); }
  // The last prompt of each client.
  std::vector<std::pair<NamespaceId, Tokens>> Prompts() const {
    std::vector<std::pair<NamespaceId, Tokens>> prompts;
    for (const Client& client : clients_) prompts.emplace_back(client.name_space, client.prompt);
    return prompts;
  }
  // Runs one more request to its end, alone. Returns how many tokens of its prompt were reused.
  size_t ReusedBy(NamespaceId name_space, const Tokens& prompt) {
    GenerationRequest request;
    request.name_space = name_space;
    request.prompt = prompt;
    request.shape.tokens = prompt.size();
    request.params.tokens_max = 1;
    auto submitted = scheduler_.Submit(std::move(request));
    EXPECT_TRUE(submitted.has_value());
    while (submitted && scheduler_.Step()) {
    }
    size_t reused = 0;
    while (auto event = (*submitted)->Next(std::chrono::milliseconds(0))) {
      reused = event->cost.reused_tokens;
    }
    return reused;
  }

  void AddTo(Told* told) const {
    for (const Asked& asked : ended_) {
      const bool failed = asked.end.kind == GenerationEvent::Kind::kFailed;
      const bool gone = !failed && asked.end.reason == FinishReason::kCancelled;
      const bool late = failed && asked.end.error.code == ErrorCode::kTimedOut;
      (late     ? told->timed_out
       : failed ? told->failed
       : gone   ? told->cancelled
                : told->answered) += 1;
      told->reused += asked.end.cost.reused_tokens;
      if (asked.wakes) told->reused_after_sleep += asked.end.cost.reused_tokens;
    }
    told->refused += refused_;
    told->failures += engine_.failures();
    told->preempted += scheduler_.stats().preempted;
    told->warmed += scheduler_.stats().prefetch.tokens;
    if (scheduler_.stats().sleep.count > 0) ++told->slept;
    if (unwoken_ > 0) ++told->refused_to_wake;
  }

 private:
  struct Client {
    NamespaceId name_space = 0;
    Tokens prompt;  // so far
    double asks_ms = 0;
    size_t turns = 0;
    bool waits = false;  // waits for an answer
    bool again = false;  // the queue was full
  };

  static FakeEngineOptions EngineOptions(const Schedule& schedule) {
    FakeEngineOptions options;
    options.memory_class = schedule.memory_class;
    options.grid_tokens = 16;
    options.chunk_tokens_max = 64;
    options.window_tokens = 40;
    options.slots = schedule.slots;
    options.cells = schedule.cells;
    options.context_tokens = schedule.cells > 0 ? schedule.cells : 1 << 14;
    options.seed = schedule.seed;
    return options;
  }
  static SchedulerOptions Scheduling(const Schedule& schedule) {
    SchedulerOptions options;
    options.queue_limit = schedule.queue_limit;
    options.pace = schedule.pace;
    options.slots.beside_tokens_max = schedule.beside_tokens_max;
    options.request_ms_max = schedule.request_ms_max;
    options.sleep_after_ms = schedule.sleep_after_ms;
    options.reuse = schedule.reuse;
    options.prefixes = schedule.prefixes;
    return options;
  }
  static GenerationParams Params() {
    GenerationParams params;
    params.tokens_max = 40;
    return params;
  }

  Tokens Words(size_t letters) {
    Tokens words(letters);
    for (Token& letter : words) letter = static_cast<Token>('a' + random_() % 26);
    return words;
  }

  // The generation prompt after the last message is not part of the next prompt, so no prompt
  // continues from the very end of another, off the grid.
  static void Append(const Tokens& more, Tokens* prompt) {
    if (prompt->back() == kGenerationPrompt) prompt->pop_back();
    prompt->insert(prompt->end(), more.begin(), more.end());
    prompt->push_back(kGenerationPrompt);
  }

  // Counters that show whether a step made progress, or tried in vain.
  std::array<uint64_t, 8> Done() const {
    const SchedulerStats stats = scheduler_.stats();
    size_t held = 0;
    for (const SlotStats& slot : stats.slots) held += slot.tokens;
    return {engine_.decoded_tokens(), stats.prefetch.tokens, stats.open.running, stats.open.waiting,
            stats.preempted,          ended_.size(),         engine_.failures(), held};
  }

  void Ask() {
    for (size_t i = 0; i < clients_.size(); ++i) {
      Client& client = clients_[i];
      if (client.waits || client.turns == schedule_.turns) continue;
      if (client.asks_ms > clock_.NowMs()) continue;
      if (!std::exchange(client.again, false)) {
        const Tokens more = Words(1 + random_() % (random_() % 8 == 0 ? 600 : 60));
        Append(more, &client.prompt);
      }
      Submit(i, &client);
    }
  }

  void Submit(size_t index, Client* client) {
    Asked asked;
    asked.client = index;
    asked.name_space = client->name_space;
    asked.prompt = client->prompt;
    asked.submitted_ms = clock_.NowMs();
    asked.wakes = engine_.asleep();
    GenerationRequest request;
    request.name_space = client->name_space;
    request.prompt = client->prompt;
    request.shape.tokens = client->prompt.size();
    request.params = Params();
    auto submitted = scheduler_.Submit(std::move(request));
    if (!submitted) {
      EXPECT_EQ(submitted.error().code, ErrorCode::kUnavailable);
      ++refused_;
      client->again = true;
      client->asks_ms = clock_.NowMs() + 1000;
      return;
    }
    asked.generation = *submitted;
    if (random_() % 100 < schedule_.vanishing_percent) {
      asked.vanishes_ms = clock_.NowMs() + static_cast<double>(random_() % 800);
    }
    client->waits = true;
    ++client->turns;
    asked_.push_back(std::move(asked));
  }

  void Vanish() {
    for (Asked& asked : asked_) {
      if (asked.vanishes_ms && *asked.vanishes_ms <= clock_.NowMs()) asked.generation->Cancel();
    }
  }

  // A slow client's events wait for it; here all wait until the end.
  void Collect() {
    for (Asked& asked : asked_) {
      while (auto event = asked.generation->Next(std::chrono::milliseconds(0))) {
        asked.text += event->text;
        asked.end = std::move(*event);
        asked.ended = asked.end.kind == GenerationEvent::Kind::kDone ||
                      asked.end.kind == GenerationEvent::Kind::kFailed;
      }
      if (!asked.ended) continue;
      Client& client = clients_[asked.client];
      client.waits = false;
      if (LeftTheQueue(asked)) {
        ++refused_;
        AskAgain(&client);
        continue;
      }
      if (IsUnwoken(asked)) {
        ++unwoken_;
        AskAgain(&client);
        continue;
      }
      client.asks_ms = clock_.NowMs() + static_cast<double>(random_() % schedule_.pause_ms_max);
      if (schedule_.warms) PrefetchFor(asked);
      ended_.push_back(std::move(asked));
    }
    std::erase_if(asked_, [](const Asked& asked) { return asked.ended; });
  }

  // Whether the request left the queue for a namespace with fewer waiting requests.
  bool LeftTheQueue(const Asked& asked) const {
    if (asked.end.kind != GenerationEvent::Kind::kFailed) return false;
    if (asked.end.error.message.find("queue is full") == std::string::npos) return false;
    EXPECT_EQ(asked.end.error.code, ErrorCode::kUnavailable);
    EXPECT_GT(schedule_.name_spaces, 1u);
    EXPECT_TRUE(asked.text.empty());
    return true;
  }

  // Whether the request came while the model was unloaded, and failed because it did not load.
  bool IsUnwoken(const Asked& asked) const {
    if (asked.end.kind != GenerationEvent::Kind::kFailed) return false;
    if (asked.end.error.code != ErrorCode::kUnavailable) return false;
    EXPECT_TRUE(asked.wakes && engine_.asleep()) << asked.end.error.message;
    EXPECT_TRUE(asked.text.empty());
    return true;
  }
  void AskAgain(Client* client) {
    --client->turns;
    client->again = true;
    client->asks_ms = clock_.NowMs() + 100;
  }

  // Sometimes expects the prompt that will come, mostly another one.
  void PrefetchFor(const Asked& asked) {
    Tokens tokens = asked.prompt;
    Append(Words(1 + random_() % 200), &tokens);
    if (random_() % 4 == 0) clients_[asked.client].prompt = tokens;
    const size_t answered = CommonPrefix(tokens, asked.prompt);
    scheduler_.Prefetch({{asked.name_space, std::move(tokens), answered, false}});
  }

  // Returns false if no client will send another request.
  bool SkipToNext() {
    std::optional<double> next_ms;
    for (const Client& client : clients_) {
      if (client.waits || client.turns == schedule_.turns) continue;
      next_ms = std::min(next_ms.value_or(client.asks_ms), client.asks_ms);
    }
    if (!next_ms) return false;
    const double sleeps_ms = clock_.NowMs() + schedule_.sleep_after_ms;
    if (schedule_.sleep_after_ms >= 0 && sleeps_ms < *next_ms) SleepAt(sleeps_ms);
    clock_.Advance(std::max(0.0, *next_ms - clock_.NowMs()));
    return true;
  }

  // No request comes for long enough, so that the context thread unloads the model.
  void SleepAt(double sleeps_ms) {
    clock_.Advance(sleeps_ms - clock_.NowMs());
    const bool was_asleep = engine_.asleep();
    EXPECT_EQ(scheduler_.SleepIfIdle(), !was_asleep);
    EXPECT_TRUE(engine_.asleep());
    EXPECT_LE(cache_.stats().bytes, schedule_.ram_bytes_max);
    for (const SlotStats& slot : scheduler_.stats().slots) EXPECT_EQ(slot.tokens, 0u);
    // An expected prompt is no reason to load the model.
    if (schedule_.warms && !ended_.empty()) PrefetchFor(ended_.back());
    EXPECT_FALSE(scheduler_.Step() || scheduler_.PrefetchNext());
    EXPECT_TRUE(engine_.asleep());
    if (!was_asleep && random_() % 100 < schedule_.refused_wakes_percent) {
      engine_.FailNextWakes(1);
    }
  }

  std::string PlainAnswer(const Tokens& prompt) const {
    FakeEngineOptions options = EngineOptions(schedule_);
    options.slots = 1;
    options.cells = 0;
    FakeEngine engine(options);
    PlainPlayer player(&engine);
    player.Read(prompt);
    return player.Generate(Params());
  }

  bool MayEndWith(ErrorCode code) const {
    if (code == ErrorCode::kTimedOut) return schedule_.request_ms_max > 0;
    return code == ErrorCode::kInternal && schedule_.failing_per_mille > 0;
  }

  void Check() const {
    EXPECT_TRUE(asked_.empty()) << asked_.size() << " were never answered";
    for (const Asked& asked : ended_) {
      const std::string whole = PlainAnswer(asked.prompt);
      if (asked.end.kind == GenerationEvent::Kind::kFailed) {
        EXPECT_TRUE(MayEndWith(asked.end.error.code)) << asked.end.error.message;
        EXPECT_TRUE(whole.starts_with(asked.text));
      } else if (asked.end.reason == FinishReason::kCancelled) {
        EXPECT_TRUE(asked.vanishes_ms.has_value());
        EXPECT_TRUE(whole.starts_with(asked.text));
      } else {
        EXPECT_EQ(asked.text, whole);
      }
    }
    const bool plain = schedule_.headers == 0 && scheduler_.stats().preempted == 0 &&
                       schedule_.failing_per_mille == 0;
    if (plain) CheckOrder();
  }

  // A request that has waited longer than its prefill takes is not passed by later ones.
  void CheckOrder() const {
    for (const Asked& first : ended_) {
      if (first.end.cost.prompt_tokens == 0) continue;
      const double patience_ms = 50 + static_cast<double>(first.prompt.size());
      for (const Asked& later : ended_) {
        if (later.name_space != first.name_space || later.end.cost.prompt_tokens == 0) continue;
        if (later.submitted_ms < first.submitted_ms + patience_ms) continue;
        EXPECT_LE(first.admitted_ms(), later.admitted_ms())
            << "asked at " << first.submitted_ms << " and " << later.submitted_ms;
      }
    }
  }

  const Schedule schedule_;
  std::mt19937_64 random_;
  ManualClock clock_;
  ScheduleEngine engine_;
  CheckpointCache cache_;
  Scheduler scheduler_;
  std::vector<Client> clients_;
  std::vector<Asked> asked_;
  std::vector<Asked> ended_;
  size_t refused_ = 0;
  size_t unwoken_ = 0;
};

// Plays schedules `first` to `last` (see Played). Returns the totals.
inline Told PlayMany(uint64_t first, uint64_t last, const std::function<void(Schedule*)>& change) {
  Told told;
  const uint64_t end = first + Played(last + 1 - first);
  for (uint64_t seed = first; seed < end; ++seed) {
    Schedule schedule;
    schedule.seed = seed;
    schedule.memory_class = kClasses[seed % kClasses.size()];
    schedule.slots = 1 + seed / 4 % 5;
    schedule.clients = 1 + seed % 12;
    if (seed % 3 == 0) schedule.beside_tokens_max = 64;
    change(&schedule);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ScheduleRun run(schedule);
    run.Play();
    if (::testing::Test::HasFailure()) return told;
    run.AddTo(&told);
  }
  return told;
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_SCHED_PLAYED_SCHEDULE_H_
