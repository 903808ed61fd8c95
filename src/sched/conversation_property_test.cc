// Random conversations against the whole of scheduler, cache and engine. What people do between
// two requests: add a turn, edit the last or an earlier one, ask again, fork, or have a template
// that strips old reasoning.
//
// `exact`: every answer is that of an engine without a cache. `live`: every answer is that of an
// engine that was given some of the turns before it, in order and without an interruption.

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "engine/fake_engine.h"
#include "sched/played_conversation.h"
#include "sched/scheduler.h"

namespace cairn {
namespace {

constexpr size_t kAnswerTokensMax = 40;
constexpr test::MessageTokens kMessageTokens = {FakeEngine::kMessageStart, FakeEngine::kMessageEnd};
constexpr test::PersonLetters kLetters = {200, 60, 60, 20, 50};

GenerationParams Params() {
  GenerationParams params;
  params.tokens_max = kAnswerTokensMax;
  return params;
}

// An engine without a cache that has read `prompts`, one after the other, and answered each.
// Returns the last answer.
std::string PlainAnswer(const FakeEngineOptions& options, const std::vector<Tokens>& prompts) {
  FakeEngine engine(options);
  test::PlainPlayer player(&engine);
  std::string answer;
  for (const Tokens& prompt : prompts) {
    if (!player.Continues(prompt)) player.Forget();
    player.Read(prompt);
    answer = player.Generate(Params());
  }
  return answer;
}

struct Scenario {
  uint64_t seed;
  MemoryClass memory_class;
  ReuseMode reuse;
};

class ConversationRun {
 public:
  explicit ConversationRun(const Scenario& scenario)
      : scenario_(scenario),
        engine_(EngineOptions(scenario)),
        cache_(Cache(scenario), *MakePlacement("near-end,user-turns"), *MakeEviction("lru"),
               MakeRamStore()),
        scheduler_(&engine_, &cache_, &clock_, {scenario.reuse, 64}),
        person_(scenario.seed, kLetters) {}

  void Play(int turns) {
    for (int turn = 0; turn < turns; ++turn) {
      const bool strips_reasoning = scenario_.seed / 2 % 2 == 0;
      const test::PlayedPrompt prompt =
          test::Render(person_.messages(), strips_reasoning, kMessageTokens);
      const std::string answer = Ask(prompt);
      Expect(prompt.tokens, answer);
      cache_.CheckInvariants();
      if (::testing::Test::HasFailure()) return;
      person_.Change(answer);
    }
  }

 private:
  static FakeEngineOptions EngineOptions(const Scenario& scenario) {
    FakeEngineOptions options;
    options.memory_class = scenario.memory_class;
    options.grid_tokens = 16;
    options.piece_tokens_max = 48;
    options.window_tokens = 40;
    options.seed = scenario.seed;
    return options;
  }
  // Small enough that checkpoints are given up all the time in some runs.
  static CacheOptions Cache(const Scenario& scenario) {
    CacheOptions options;
    options.ram_bytes_max = scenario.seed % 2 == 0 ? 1200 : 1 << 20;
    return options;
  }

  std::string Ask(const test::PlayedPrompt& prompt) {
    GenerationRequest request;
    request.prompt = prompt.tokens;
    request.shape = prompt.shape;
    request.params = Params();
    const uint64_t before = engine_.decoded_tokens();
    auto generation = scheduler_.Submit(std::move(request));
    EXPECT_TRUE(generation.has_value());
    while (scheduler_.Step()) {
    }
    std::string text;
    GenerationEvent last;
    while (auto event = (*generation)->Next(std::chrono::milliseconds(0))) {
      text += event->text;
      last = *event;
    }
    EXPECT_EQ(last.kind, GenerationEvent::Kind::kDone);
    EXPECT_LE(last.cost.read_tokens(), prompt.tokens.size());
    EXPECT_LE(engine_.decoded_tokens() - before,
              last.cost.read_tokens() + last.cost.generated_tokens);
    return text;
  }

  void Expect(const Tokens& prompt, const std::string& answer) {
    const FakeEngineOptions options = EngineOptions(scenario_);
    if (scenario_.reuse == ReuseMode::kExact) {
      EXPECT_EQ(answer, PlainAnswer(options, {prompt}));
      return;
    }
    // An answer may be so short that several conversations give it, so all of them are kept.
    std::set<std::vector<Tokens>> found;
    for (const std::vector<Tokens>& history : histories_) {
      for (size_t kept = 0; kept <= history.size(); ++kept) {
        std::vector<Tokens> path(history.begin(), history.begin() + static_cast<ptrdiff_t>(kept));
        path.push_back(prompt);
        if (PlainAnswer(options, path) == answer) found.insert(std::move(path));
      }
    }
    EXPECT_FALSE(found.empty()) << "no uninterrupted conversation gives this answer";
    histories_.merge(found);
  }

  const Scenario scenario_;
  SteadyClock clock_;
  FakeEngine engine_;
  CheckpointCache cache_;
  Scheduler scheduler_;
  test::Person person_;
  // Uninterrupted conversations, each a list of prompts, that led to states met so far.
  std::set<std::vector<Tokens>> histories_ = {{}};
};

constexpr std::array<MemoryClass, 4> kClasses = {MemoryClass::kAttention,
                                                 MemoryClass::kSlidingWindow,
                                                 MemoryClass::kRecurrent, MemoryClass::kHybrid};

void PlayMany(uint64_t conversations, int turns, ReuseMode reuse) {
  for (uint64_t seed = 1; seed <= conversations; ++seed) {
    for (const MemoryClass memory_class : kClasses) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << MemoryClassName(memory_class));
      ConversationRun({seed, memory_class, reuse}).Play(turns);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(ConversationProperty, ExactReuseAnswersAsAnEngineWithoutACache) {
  PlayMany(1000, 10, ReuseMode::kExact);
}

TEST(ConversationProperty, LiveReuseAnswersAsAnUninterruptedConversation) {
  PlayMany(40, 8, ReuseMode::kLive);
}

}  // namespace
}  // namespace cairn
