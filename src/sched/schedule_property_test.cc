// Thousands of seeded schedules of up to 64 clients on a clock that only computing moves: requests
// that come while others are read or answered, clients that vanish, that read nothing until the
// end, that come back when the queue was full, that run out of time, prompts that are read ahead
// and never asked for, and a model that is unloaded between requests, and may refuse to be loaded
// again.
//
// Every answer is that of an engine without a cache; nobody is starved; the budget holds after each
// step, and each step gets something done.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "engine/fake_engine.h"
#include "sched/played_conversation.h"
#include "sched/scheduler.h"

namespace cairn {
namespace {

constexpr double kReadMsPerToken = 0.4;
constexpr double kPieceMs = 2;
constexpr double kDecodeMs = 5;
constexpr double kDecodeMsPerAnswer = 0.5;
constexpr double kWakeMs = 30;

constexpr Token kGenerationPrompt = '>';

// Computing takes time, about as much as on a processor; nothing else does.
class TimedEngine final : public FakeEngine {
 public:
  TimedEngine(const FakeEngineOptions& options, ManualClock* clock)
      : FakeEngine(options), clock_(clock) {}

  Status Decode(SeqId seq, size_t position, TokenSpan tokens) override {
    clock_->Advance(kPieceMs + kReadMsPerToken * static_cast<double>(tokens.size()));
    return FakeEngine::Decode(seq, position, tokens);
  }
  Status DecodeEach(std::span<const NextToken> tokens) override {
    clock_->Advance(kDecodeMs + kDecodeMsPerAnswer * static_cast<double>(tokens.size()));
    return FakeEngine::DecodeEach(tokens);
  }
  Status Wake() override {
    clock_->Advance(kWakeMs);
    return FakeEngine::Wake();
  }

 private:
  ManualClock* const clock_;
};

struct Schedule {
  uint64_t seed = 1;
  size_t clients = 8;
  size_t turns = 3;
  MemoryClass memory_class = MemoryClass::kHybrid;
  size_t slots = 4;
  size_t queue_limit = 64;
  size_t name_spaces = 1;
  size_t headers = 3;  // that clients share; 0: none shares anything
  size_t cells = 0;    // 0: each slot has all the room it wants
  size_t ram_bytes_max = 1 << 20;
  double prefill_share = 0.5;
  double request_ms_max = 0;
  size_t vanishing_percent = 0;
  bool warms = false;
  uint64_t pause_ms_max = 500;  // between an answer and the next question
  double sleep_after_ms = -1;   // see SchedulerOptions
  size_t refused_wakes_percent = 0;
  size_t beside_tokens_max = 0;  // likewise
};

struct Asked {
  size_t client = 0;
  NamespaceId name_space = 0;
  Tokens prompt;
  double submitted_ms = 0;
  std::optional<double> vanishes_ms = {};
  bool wakes = false;  // the model
  std::shared_ptr<Generation> generation = {};
  // Once it has ended.
  std::string text = {};
  GenerationEvent end = {};
  bool ended = false;

  double admitted_ms() const { return submitted_ms + end.cost.queue_ms; }
};

// How it went, of many schedules.
struct Told {
  size_t answered = 0;
  size_t cancelled = 0;
  size_t refused = 0;
  size_t timed_out = 0;
  uint64_t given_up = 0;
  uint64_t warmed = 0;
  uint64_t reused = 0;
  uint64_t reused_after_sleep = 0;  // by those whose request woke the model
  size_t slept = 0;                 // schedules in which the model was unloaded
  size_t refused_to_wake = 0;       // ... and once not loaded again
};

class ScheduleRun {
 public:
  explicit ScheduleRun(const Schedule& schedule)
      : schedule_(schedule),
        random_(schedule.seed),
        engine_(EngineOptions(schedule), &clock_),
        cache_(CacheOptions{.ram_bytes_max = schedule.ram_bytes_max}, *MakePlacement("auto"),
               *MakeEviction("value"), MakeRamStore()),
        scheduler_(&engine_, &cache_, &clock_, Scheduling(schedule)) {
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
      const bool stepped = scheduler_.Step() || scheduler_.WarmNext();
      Collect();
      EXPECT_LE(cache_.stats().bytes, schedule_.ram_bytes_max);
      if (stepped) {
        EXPECT_NE(Done(), before) << "a step without progress";
      } else if (!SkipToNext()) {
        break;
      }
      ASSERT_LT(++idle_steps, 200'000u) << "it never ends";
    }
    cache_.CheckInvariants();
    Check();
  }

  void AddTo(Told* told) const {
    for (const Asked& asked : ended_) {
      const bool failed = asked.end.kind == GenerationEvent::Kind::kFailed;
      const bool gone = !failed && asked.end.reason == FinishReason::kCancelled;
      (failed ? told->timed_out : gone ? told->cancelled : told->answered) += 1;
      told->reused += asked.end.cost.reused_tokens;
      if (asked.wakes) told->reused_after_sleep += asked.end.cost.reused_tokens;
    }
    told->refused += refused_;
    told->given_up += scheduler_.stats().given_up;
    told->warmed += scheduler_.stats().warmed_tokens;
    if (scheduler_.stats().sleeps > 0) ++told->slept;
    if (unwoken_ > 0) ++told->refused_to_wake;
  }

 private:
  struct Client {
    NamespaceId name_space = 0;
    Tokens prompt;  // so far
    double asks_ms = 0;
    size_t turns = 0;
    bool waits = false;  // for an answer
    bool again = false;  // the queue was full
  };

  static FakeEngineOptions EngineOptions(const Schedule& schedule) {
    FakeEngineOptions options;
    options.memory_class = schedule.memory_class;
    options.grid_tokens = 16;
    options.piece_tokens_max = 64;
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
    options.prefill_share = schedule.prefill_share;
    options.beside_tokens_max = schedule.beside_tokens_max;
    options.request_ms_max = schedule.request_ms_max;
    options.sleep_after_ms = schedule.sleep_after_ms;
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

  // What a template puts behind the last message is no part of the next prompt, so none goes on
  // from the very end of another, off the grid.
  static void Append(const Tokens& more, Tokens* prompt) {
    if (prompt->back() == kGenerationPrompt) prompt->pop_back();
    prompt->insert(prompt->end(), more.begin(), more.end());
    prompt->push_back(kGenerationPrompt);
  }

  // Whatever a step may change for the better.
  std::tuple<uint64_t, uint64_t, size_t, size_t, uint64_t, size_t> Done() const {
    const SchedulerStats stats = scheduler_.stats();
    return {engine_.decoded_tokens(), stats.warmed_tokens, stats.running, stats.waiting,
            stats.given_up,           ended_.size()};
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

  // A slow reader's events wait for it; here all wait until the end.
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
      if (IsUnwoken(asked)) {
        ++unwoken_;
        AskAgain(&client);
        continue;
      }
      client.asks_ms = clock_.NowMs() + static_cast<double>(random_() % schedule_.pause_ms_max);
      if (schedule_.warms) WarmFor(asked);
      ended_.push_back(std::move(asked));
    }
    std::erase_if(asked_, [](const Asked& asked) { return asked.ended; });
  }

  // It came while the model was unloaded, and heard that it stays so.
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

  // Sometimes as it will come back, mostly not.
  void WarmFor(const Asked& asked) {
    Tokens tokens = asked.prompt;
    Append(Words(1 + random_() % 200), &tokens);
    if (random_() % 4 == 0) clients_[asked.client].prompt = tokens;
    const size_t answered = CommonPrefix(tokens, asked.prompt);
    scheduler_.Warm({{asked.name_space, std::move(tokens), answered, false}});
  }

  // False: nobody will ask any more.
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

  // Nobody asks for long enough, as the context thread will notice then.
  void SleepAt(double sleeps_ms) {
    clock_.Advance(sleeps_ms - clock_.NowMs());
    const bool was_asleep = engine_.asleep();
    EXPECT_EQ(scheduler_.SleepIfIdle(), !was_asleep);
    EXPECT_TRUE(engine_.asleep());
    EXPECT_LE(cache_.stats().bytes, schedule_.ram_bytes_max);
    for (const SlotStats& slot : scheduler_.stats().slots) EXPECT_EQ(slot.tokens, 0u);
    // What may be asked is no reason to load the model.
    if (schedule_.warms && !ended_.empty()) WarmFor(ended_.back());
    EXPECT_FALSE(scheduler_.Step() || scheduler_.WarmNext());
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
    test::PlainPlayer player(&engine);
    player.Read(prompt);
    return player.Generate(Params());
  }

  void Check() const {
    EXPECT_TRUE(asked_.empty()) << asked_.size() << " were never answered";
    for (const Asked& asked : ended_) {
      const std::string whole = PlainAnswer(asked.prompt);
      if (asked.end.kind == GenerationEvent::Kind::kFailed) {
        EXPECT_EQ(asked.end.error.code, ErrorCode::kTimedOut) << asked.end.error.message;
        EXPECT_TRUE(whole.starts_with(asked.text));
      } else if (asked.end.reason == FinishReason::kCancelled) {
        EXPECT_TRUE(asked.vanishes_ms.has_value());
        EXPECT_TRUE(whole.starts_with(asked.text));
      } else {
        EXPECT_EQ(asked.text, whole);
      }
    }
    const bool plain = schedule_.headers == 0 && scheduler_.stats().given_up == 0;
    if (plain) CheckOrder();
  }

  // Nobody passes whoever has waited for longer than its prompt takes to read.
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
  TimedEngine engine_;
  CheckpointCache cache_;
  Scheduler scheduler_;
  std::vector<Client> clients_;
  std::vector<Asked> asked_;
  std::vector<Asked> ended_;
  size_t refused_ = 0;
  size_t unwoken_ = 0;
};

constexpr std::array<MemoryClass, 4> kClasses = {MemoryClass::kAttention,
                                                 MemoryClass::kSlidingWindow,
                                                 MemoryClass::kRecurrent, MemoryClass::kHybrid};

Told PlayMany(uint64_t first, uint64_t last, const std::function<void(Schedule*)>& change) {
  Told told;
  for (uint64_t seed = first; seed <= last; ++seed) {
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

TEST(ScheduleProperty, EveryAnswerIsRightHoweverRequestsComeTogether) {
  const Told told = PlayMany(1, 800, [](Schedule*) {});
  EXPECT_EQ(told.cancelled + told.timed_out + told.refused, 0u);
  EXPECT_GT(told.reused, 100'000u);
}

TEST(ScheduleProperty, NobodyPassesWhoHasWaitedForLongerThanItReads) {
  const Told told = PlayMany(1001, 1500, [](Schedule* s) {
    s->headers = 0;
    s->clients = 8 + s->seed % 9;
    s->name_spaces = 1 + s->seed % 3;
    s->slots = 1 + s->seed % 3;
  });
  EXPECT_GT(told.answered, 10'000u);
}

TEST(ScheduleProperty, ClientsThatVanishTakeNobodyWithThem) {
  const Told told = PlayMany(2001, 2500, [](Schedule* s) { s->vanishing_percent = 30; });
  EXPECT_GT(told.cancelled, 1000u);
  EXPECT_GT(told.answered, 3000u);
}

TEST(ScheduleProperty, AFullQueueRefusesAndSixtyFourClientsAreAnsweredAllTheSame) {
  const Told told = PlayMany(3001, 3060, [](Schedule* s) {
    s->clients = 64;
    s->queue_limit = 4 + s->seed % 40;
    s->name_spaces = 1 + s->seed % 5;
    s->vanishing_percent = 10;
  });
  EXPECT_GT(told.refused, 1000u);
  EXPECT_GT(told.answered, 10'000u);
}

TEST(ScheduleProperty, WhatIsReadAheadChangesNoAnswer) {
  const Told told = PlayMany(4001, 4500, [](Schedule* s) {
    s->warms = true;
    s->ram_bytes_max = s->seed % 3 == 0 ? 20'000 : 1 << 20;
    s->vanishing_percent = 5;
  });
  EXPECT_GT(told.warmed, 10'000u);
}

TEST(ScheduleProperty, SlotsThatOutgrowTheContextGiveWayAndComeBack) {
  const Told told = PlayMany(5001, 5300, [](Schedule* s) {
    s->cells = 3000;
    s->slots = 3 + s->seed % 3;
    s->clients = 6 + s->seed % 10;
    s->warms = s->seed % 2 == 0;
  });
  EXPECT_GT(told.answered, 5000u);
}

TEST(ScheduleProperty, WhoRunsOutOfTimeIsToldAndTheOthersAreNot) {
  const Told told = PlayMany(6001, 6300, [](Schedule* s) {
    s->request_ms_max = 400;
    s->prefill_share = s->seed % 2 == 0 ? 1 : 0.2;
  });
  EXPECT_GT(told.timed_out, 500u);
  EXPECT_GT(told.answered, 1000u);
}

TEST(ScheduleProperty, AModelThatIsUnloadedBetweenRequestsAnswersAsOneThatStays) {
  const Told told = PlayMany(7001, 7800, [](Schedule* s) {
    s->clients = 1 + s->seed % 7;
    s->headers = s->seed % 4 < 3 ? 3 : 0;
    s->pause_ms_max = 2000;
    s->sleep_after_ms = static_cast<double>(s->seed % 7 * 30);
    s->refused_wakes_percent = s->seed % 2 == 0 ? 40 : 0;
    s->warms = s->seed % 3 == 0;
    s->cells = s->seed % 5 == 0 ? 3000 : 0;
    s->ram_bytes_max = s->seed % 11 == 0 ? 20'000 : 1 << 20;
    s->vanishing_percent = s->seed % 13 == 0 ? 20 : 0;
    s->request_ms_max = s->seed % 17 == 0 ? 400 : 0;
  });
  EXPECT_GT(told.slept, 700u);
  EXPECT_GT(told.refused_to_wake, 200u);
  EXPECT_GT(told.answered, 8000u);
  EXPECT_GT(told.reused_after_sleep, 500'000u);
}

}  // namespace
}  // namespace cairn
