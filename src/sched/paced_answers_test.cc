// How running answers and prompts share the time (policy/answer_pace.h), on a clock that only
// computing moves.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/sched/scheduler_fixture.h"

namespace cairn::paced_answers_test {
namespace {

using test::Bench;
using test::kClasses;
using test::Text;

// About those of a small model on two cores.
struct Speeds {
  double chunk_ms = 5;
  double prefill_ms_per_token = 3;
  double step_ms = 6;
  double step_ms_per_answer = 5;
};

// Records when the next tokens of answers were decoded.
class TimedEngine final : public FakeEngine {
 public:
  TimedEngine(const FakeEngineOptions& options, const Speeds& speeds, ManualClock* clock)
      : FakeEngine(options), speeds_(speeds), clock_(clock) {}

  Status Decode(SeqId seq, size_t position, TokenSpan tokens) override {
    const double ms =
        speeds_.chunk_ms + speeds_.prefill_ms_per_token * static_cast<double>(tokens.size());
    clock_->Advance(ms);
    prefill_ms += ms;
    return FakeEngine::Decode(seq, position, tokens);
  }
  Status DecodeEach(std::span<const NextToken> tokens) override {
    clock_->Advance(speeds_.step_ms +
                    speeds_.step_ms_per_answer * static_cast<double>(tokens.size()));
    steps_ms.push_back(clock_->NowMs());
    slots_of_last_step.clear();
    for (const NextToken& next : tokens) slots_of_last_step.push_back(next.seq);
    return FakeEngine::DecodeEach(tokens);
  }

  Status DecodeChunks(std::span<const SeqChunk> chunks, ChunkLogits logits) override {
    together.push_back(chunks.size());
    return FakeEngine::DecodeChunks(chunks, logits);
  }

  double prefill_ms = 0;
  std::vector<size_t> together;  // the chunks of each computation of several
  std::vector<double> steps_ms;
  std::vector<SeqId> slots_of_last_step;

 private:
  const Speeds speeds_;
  ManualClock* const clock_;
};

struct TimedBench {
  explicit TimedBench(const Speeds& speeds, MemoryClass memory_class = MemoryClass::kHybrid,
                      const AnswerPaceOptions& pace = {}, ReuseMode reuse = ReuseMode::kLive)
      : engine(EngineOptions(memory_class), speeds, &clock),
        cache(CacheOptions{}, *MakePlacement("auto"), *MakeEviction("value"), MakeRamStore()),
        scheduler(&engine, &cache, &clock, Scheduling(pace, reuse)) {}

  static FakeEngineOptions EngineOptions(MemoryClass memory_class) {
    FakeEngineOptions options = test::Slots(16, memory_class);
    options.context_tokens = 1 << 17;
    return options;
  }
  static SchedulerOptions Scheduling(const AnswerPaceOptions& pace, ReuseMode reuse) {
    SchedulerOptions options;
    options.reuse = reuse;
    options.pace = pace;
    return options;
  }

  std::shared_ptr<Generation> Ask(Tokens prompt, size_t tokens_max) {
    return *scheduler.Submit(Bench::Request(std::move(prompt), tokens_max));
  }
  bool HasText(Generation* generation) {
    while (auto event = generation->Next(std::chrono::milliseconds(0))) {
      if (!event->text.empty()) return true;
    }
    return false;
  }
  // Steps until the answer has a token. Returns the time then.
  double StepToFirstToken(Generation* generation) {
    while (!HasText(generation) && scheduler.Step()) {
    }
    return clock.NowMs();
  }
  // The longest time between two steps of the answers in [begin_ms, end_ms], and their number.
  double LongestGap(double begin_ms, double end_ms) const {
    double longest_ms = 0;
    double last_ms = begin_ms;
    for (const double step_ms : engine.steps_ms) {
      if (step_ms <= begin_ms || step_ms > end_ms) continue;
      longest_ms = std::max(longest_ms, step_ms - last_ms);
      last_ms = step_ms;
    }
    return std::max(longest_ms, end_ms - last_ms);
  }
  size_t Steps(double begin_ms, double end_ms) const {
    return static_cast<size_t>(
        std::count_if(engine.steps_ms.begin(), engine.steps_ms.end(),
                      [&](double at) { return at > begin_ms && at <= end_ms; }));
  }

  ManualClock clock;
  TimedEngine engine;
  CheckpointCache cache;
  Scheduler scheduler;
};

constexpr size_t kEndless = 100'000;

TEST(PacedAnswers, KeepTheirRateAndNoLongGapWhileALongPromptIsPrefilled) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    const Speeds fast{
        .chunk_ms = 2, .prefill_ms_per_token = 1, .step_ms = 4, .step_ms_per_answer = 0.5};
    TimedBench bench(fast, memory_class);
    const auto answer = bench.Ask(Text(100), kEndless);
    bench.StepToFirstToken(answer.get());
    const auto reader = bench.Ask(Text(30'000, 'y'), 1);
    const double begin_ms = bench.clock.NowMs();
    const double before_ms = bench.engine.prefill_ms;
    const double end_ms = bench.StepToFirstToken(reader.get());
    EXPECT_LE(bench.LongestGap(begin_ms, end_ms), 300);
    for (double at = begin_ms; at + 1000 <= end_ms; at += 100) {
      // Tokens come in groups, one after every chunk.
      ASSERT_GE(bench.Steps(at, at + 1000), 11u) << "from " << at;
    }
    const double seconds = (end_ms - begin_ms) / 1000;
    EXPECT_GE(static_cast<double>(bench.Steps(begin_ms, end_ms)), 14.5 * seconds);
    EXPECT_GE((bench.engine.prefill_ms - before_ms) / (end_ms - begin_ms), 0.9);
    answer->Cancel();
  }
}

TEST(PacedAnswers, LeaveNineTenthsOfTheTimeToPromptsThatComeTogether) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    TimedBench bench({}, memory_class);
    std::vector<std::shared_ptr<Generation>> answers;
    for (char letter = 'a'; letter < 'i'; ++letter) {
      answers.push_back(bench.Ask(Text(130, letter), kEndless));
    }
    double last_ms = 0;
    for (const auto& answer : answers) {
      last_ms = std::max(last_ms, bench.StepToFirstToken(answer.get()));
    }
    EXPECT_GE(bench.engine.prefill_ms / last_ms, 0.85);
    EXPECT_LE(bench.LongestGap(bench.engine.steps_ms.front(), last_ms), 300);
    for (const auto& answer : answers) answer->Cancel();
  }
}

// When clients that ask at the same moment have their first tokens, and their answers.
struct Crowd {
  double last_first_ms = 0;
  double end_ms = 0;
  double prefill_ms = 0;
};

Crowd PlayCrowd(size_t clients, size_t answer_tokens, const AnswerPaceOptions& pace) {
  TimedBench bench({}, MemoryClass::kHybrid, pace);
  std::vector<std::shared_ptr<Generation>> answers;
  for (size_t i = 0; i < clients; ++i) {
    answers.push_back(bench.Ask(Text(130, static_cast<char>('a' + i)), answer_tokens));
  }
  Crowd crowd;
  for (const auto& answer : answers) {
    crowd.last_first_ms = std::max(crowd.last_first_ms, bench.StepToFirstToken(answer.get()));
  }
  while (bench.scheduler.Step()) {
  }
  crowd.end_ms = bench.clock.NowMs();
  crowd.prefill_ms = bench.engine.prefill_ms;
  return crowd;
}

TEST(PacedAnswers, OfManyClientsBeginAndEndSoonerThanWithHalfOfTheTimeEach) {
  for (const auto& [clients, tokens] : {std::pair<size_t, size_t>{4, 64}, {8, 256}, {16, 64}}) {
    SCOPED_TRACE(testing::Message() << clients << " clients, " << tokens << " tokens");
    const Crowd rate = PlayCrowd(clients, tokens, {});
    const Crowd half = PlayCrowd(clients, tokens, {.name = "share", .prefill_share = 0.5});
    EXPECT_LT(rate.last_first_ms, 0.85 * half.last_first_ms);
    EXPECT_LT(rate.end_ms, half.end_ms);
    EXPECT_LT(rate.last_first_ms, 1.3 * rate.prefill_ms) << "as if there were no answers";
    const std::string key = std::to_string(clients) + "x" + std::to_string(tokens);
    const auto put = [&](const char* of, double ms) {
      RecordProperty(key + "_" + of, static_cast<int>(ms));
    };
    put("rate_last_first_ms", rate.last_first_ms);
    put("rate_end_ms", rate.end_ms);
    put("half_last_first_ms", half.last_first_ms);
    put("half_end_ms", half.end_ms);
    put("prefill_ms", rate.prefill_ms);
  }
}

TEST(PacedAnswers, OfACrowdBeginTogetherBehindItsPrompts) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    TimedBench bench({}, memory_class);
    std::vector<std::shared_ptr<Generation>> answers;
    for (char letter = 'a'; letter < 'p'; ++letter) {
      answers.push_back(bench.Ask(Text(130, letter), 64));
    }
    double last_ms = 0;
    for (const auto& answer : answers) {
      last_ms = std::max(last_ms, bench.StepToFirstToken(answer.get()));
    }
    EXPECT_EQ(bench.engine.steps_ms.size(), 1u) << "the one behind the last prompt";
    EXPECT_LE(last_ms, 1.05 * bench.engine.prefill_ms);
    while (bench.scheduler.Step()) {
    }
    EXPECT_EQ(bench.engine.steps_ms.size(), 63u) << "all of them for all answers";
  }
}

TEST(PacedAnswers, OfACrowdHaveTheirPromptsPrefilledInOneUbatch) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    TimedBench bench(Speeds{}, memory_class);
    std::vector<std::shared_ptr<Generation>> crowd;
    for (size_t i = 0; i < 8; ++i) {
      crowd.push_back(bench.Ask(Text(100, static_cast<char>('a' + i)), 4));
    }
    bench.StepToFirstToken(crowd.front().get());
    if (memory_class == MemoryClass::kSlidingWindow) {
      EXPECT_TRUE(bench.engine.together.empty());
      continue;
    }
    // A ubatch of 512 tokens has room for eight chunks of 64, and then for all the rest.
    EXPECT_EQ(bench.engine.together, (std::vector<size_t>{8, 8}));
  }
}

TEST(PacedAnswers, HavePromptsOfTheirOwnWithReuseExact) {
  TimedBench bench(Speeds{}, MemoryClass::kHybrid, {}, ReuseMode::kExact);
  const auto first = bench.Ask(Text(100, 'a'), 4);
  const auto second = bench.Ask(Text(100, 'b'), 4);
  bench.StepToFirstToken(first.get());
  bench.StepToFirstToken(second.get());
  EXPECT_TRUE(bench.engine.together.empty());
}

TEST(PacedAnswers, DoNotWaitForPromptsThatCameLaterOrAreLong) {
  TimedBench bench({});
  const auto first = bench.Ask(Text(130, 'a'), 64);
  const auto second = bench.Ask(Text(130, 'b'), 64);
  const auto endless = bench.Ask(Text(20'000, 'c'), 64);
  bench.scheduler.Step();
  const auto later = bench.Ask(Text(130, 'd'), 64);
  bench.StepToFirstToken(first.get());
  EXPECT_TRUE(bench.HasText(second.get()));
  EXPECT_LE(bench.clock.NowMs(), 2 * (3 * 5 + 130 * 3) + 20) << "two prompts and a step";
  EXPECT_FALSE(bench.HasText(later.get()));
  bench.StepToFirstToken(later.get());
  EXPECT_FALSE(bench.HasText(endless.get()));
}

TEST(PacedAnswers, BeginWhenTheOtherPromptsOfTheirGroupLeave) {
  TimedBench bench({});
  const auto first = bench.Ask(Text(130, 'a'), 64);
  const auto second = bench.Ask(Text(1500, 'b'), 64);
  while (bench.engine.prefill_ms < 1000 && bench.scheduler.Step()) {
  }
  EXPECT_FALSE(bench.HasText(first.get())) << "held for the second";
  second->Cancel();
  bench.scheduler.Step();
  EXPECT_TRUE(bench.HasText(first.get()));
}

// libllama computes them one after the other otherwise, if each slot has a stream of its own.
TEST(PacedAnswers, AreDecodedInTheOrderOfTheirSlots) {
  TimedBench bench({});
  std::vector<std::shared_ptr<Generation>> answers;
  for (const size_t slot : {3, 0, 2, 1}) {
    GenerationRequest request = Bench::Request(Text(50, static_cast<char>('a' + slot)), kEndless);
    request.slot = slot;
    answers.push_back(*bench.scheduler.Submit(std::move(request)));
  }
  for (const auto& answer : answers) bench.StepToFirstToken(answer.get());
  bench.scheduler.Step();
  EXPECT_EQ(bench.engine.slots_of_last_step, (std::vector<SeqId>{0, 1, 2, 3}));
  for (const auto& answer : answers) answer->Cancel();
}

TEST(PacedAnswers, OfOneTokenEndBehindTheirOwnPrompts) {
  TimedBench bench({});
  const auto one = bench.Ask(Text(130, 'a'), 1);
  const auto other = bench.Ask(Text(1500, 'b'), 64);
  EXPECT_LT(bench.StepToFirstToken(one.get()), 500);
  other->Cancel();
}

TEST(PacedAnswers, GetATokenAfterEachChunkWhereAChunkTakesLongerThanAnyGap) {
  const Speeds slow{
      .chunk_ms = 10, .prefill_ms_per_token = 30, .step_ms = 400, .step_ms_per_answer = 0};
  TimedBench bench(slow);
  const auto answer = bench.Ask(Text(100), kEndless);
  bench.StepToFirstToken(answer.get());
  const auto reader = bench.Ask(Text(1280, 'y'), 1);
  const double begin_ms = bench.clock.NowMs();
  const double end_ms = bench.StepToFirstToken(reader.get());
  EXPECT_LE(bench.LongestGap(begin_ms, end_ms), 10 + 64 * 30 + 400)
      << "a step of the grid, and the answer's own";
  EXPECT_GE(bench.Steps(begin_ms, end_ms), 19u);
  answer->Cancel();
}

TEST(PacedAnswers, AreTheSameWhateverThePace) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    std::vector<std::string> expected;
    for (const PolicySummary& policy : AnswerPaceSummaries()) {
      SCOPED_TRACE(policy.name);
      TimedBench bench({}, memory_class, {.name = std::string(policy.name)});
      std::vector<std::shared_ptr<Generation>> answers;
      for (size_t i = 0; i < 8; ++i) {
        const auto letter = static_cast<char>('a' + i);
        answers.push_back(bench.Ask(Text(40 + 300 * i, letter), 20 + 10 * i));
        for (size_t steps = 0; steps < i; ++steps) bench.scheduler.Step();
      }
      while (bench.scheduler.Step()) {
      }
      std::vector<std::string> texts;
      for (const auto& answer : answers) texts.push_back(Bench::Collect(answer.get()).text);
      if (expected.empty()) expected = texts;
      EXPECT_EQ(texts, expected);
    }
  }
}

// One key fills the queue with long prompts; another's answer goes on, and its next turn is short.
TEST(PacedAnswers, OfOneKeyGoOnBesideTheManyPromptsOfAnother) {
  TimedBench bench({});
  GenerationRequest chat = Bench::Request(Text(100), kEndless);
  chat.name_space = 2;
  const auto answer = *bench.scheduler.Submit(std::move(chat));
  bench.StepToFirstToken(answer.get());
  std::vector<std::shared_ptr<Generation>> many;
  for (size_t i = 0; i < 15; ++i) {
    GenerationRequest request = Bench::Request(Text(2000, static_cast<char>('a' + i)), 4);
    request.name_space = 1;
    many.push_back(*bench.scheduler.Submit(std::move(request)));
  }
  const double begin_ms = bench.clock.NowMs();
  while (bench.clock.NowMs() < begin_ms + 20'000 && bench.scheduler.Step()) {
  }
  EXPECT_LE(bench.LongestGap(begin_ms, bench.clock.NowMs()), 300);
  EXPECT_GE(bench.Steps(begin_ms, begin_ms + 20'000), 130u);
  GenerationRequest next = Bench::Request(Text(120, 'z'), 1);
  next.name_space = 2;
  const double asked_ms = bench.clock.NowMs();
  const auto turn = *bench.scheduler.Submit(std::move(next));
  EXPECT_LE(bench.StepToFirstToken(turn.get()) - asked_ms, 3000);
  answer->Cancel();
}

}  // namespace
}  // namespace cairn::paced_answers_test
