// Random conversations against the whole of scheduler, cache and engine. What people do between
// two requests: add a turn, edit the last or an earlier one, ask again, fork, or have a template
// that strips old reasoning. Several people may share the one slot, and a header.
//
// `exact`: every answer is that of an engine without a cache. `live`: every answer is that of an
// engine that was given some of the turns before it, in order and without an interruption.

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <random>
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
  size_t people = 1;
  std::string placement = "near-end,user-turns";
  std::string eviction = "lru";
  // One state in so many is refused when it comes back; 0: none.
  uint64_t refuse_one_in = 0;
};

class ConversationRun {
 public:
  explicit ConversationRun(const Scenario& scenario)
      : scenario_(scenario),
        engine_(EngineOptions(scenario)),
        cache_(Cache(scenario), *MakePlacement(scenario.placement, Placement()),
               *MakeEviction(scenario.eviction), MakeRamStore()),
        scheduler_(&engine_, &cache_, &clock_, {scenario.reuse, 64}),
        random_(scenario.seed) {
    const std::string header = scenario.people > 1 ? std::string(150, 'H') : "";
    for (size_t i = 0; i < scenario.people; ++i) {
      people_.push_back({test::Person(scenario.seed + 1000 * i, kLetters, header)});
    }
  }

  void Play(int turns) {
    for (int turn = 0; turn < turns; ++turn) {
      Asker& asker = people_[random_() % people_.size()];
      const bool strips_reasoning = scenario_.seed / 2 % 2 == 0;
      const test::PlayedPrompt prompt =
          test::Render(asker.person.messages(), strips_reasoning, kMessageTokens);
      if (scenario_.refuse_one_in > 0 && random_() % scenario_.refuse_one_in == 0) {
        engine_.RefuseNextStates(1);
      }
      const std::string answer = Ask(prompt);
      Expect(prompt.tokens, answer, &asker);
      cache_.CheckInvariants();
      if (::testing::Test::HasFailure()) return;
      asker.person.Change(answer);
    }
  }

  SchedulerStats stats() const { return scheduler_.stats(); }

 private:
  struct Asker {
    test::Person person;
    // Uninterrupted conversations, each a list of prompts, that led to states met so far.
    std::set<std::vector<Tokens>> histories = {{}};
  };

  static PlacementOptions Placement() {
    PlacementOptions options;
    options.every_nt_tokens = 96;
    return options;
  }
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
    options.ram_bytes_max = scenario.seed % 2 == 0 ? 6000 : 1 << 20;
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

  void Expect(const Tokens& prompt, const std::string& answer, Asker* asker) {
    const FakeEngineOptions options = EngineOptions(scenario_);
    if (scenario_.reuse == ReuseMode::kExact) {
      EXPECT_EQ(answer, PlainAnswer(options, {prompt}));
      return;
    }
    // An answer may be so short that several conversations give it, so all of them are kept.
    std::set<std::vector<Tokens>> found;
    for (const std::vector<Tokens>& history : asker->histories) {
      for (size_t kept = 0; kept <= history.size(); ++kept) {
        std::vector<Tokens> path(history.begin(), history.begin() + static_cast<ptrdiff_t>(kept));
        path.push_back(prompt);
        if (PlainAnswer(options, path) == answer) found.insert(std::move(path));
      }
    }
    EXPECT_FALSE(found.empty()) << "no uninterrupted conversation gives this answer";
    asker->histories.merge(found);
  }

  const Scenario scenario_;
  SteadyClock clock_;
  FakeEngine engine_;
  CheckpointCache cache_;
  Scheduler scheduler_;
  std::mt19937_64 random_;
  std::vector<Asker> people_;
};

constexpr std::array<MemoryClass, 4> kClasses = {MemoryClass::kAttention,
                                                 MemoryClass::kSlidingWindow,
                                                 MemoryClass::kRecurrent, MemoryClass::kHybrid};

constexpr std::array<const char*, 8> kPlacements = {
    "auto", "none", "every-nb", "every-nt", "near-end", "user-turns", "eog", "marconi"};
constexpr std::array<const char*, 6> kEvictions = {"value",        "lru",     "fifo",
                                                   "closest-pair", "marconi", "none"};

// Plays conversations `first` to `last` with every kind of memory. Adds up what was done.
SlotKeeper::Stats PlayMany(uint64_t first, uint64_t last, int turns,
                           const std::function<void(Scenario*)>& change) {
  SlotKeeper::Stats sum;
  for (uint64_t seed = first; seed <= last; ++seed) {
    for (const MemoryClass memory_class : kClasses) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << MemoryClassName(memory_class));
      Scenario scenario{seed, memory_class, ReuseMode::kLive};
      change(&scenario);
      ConversationRun run(scenario);
      run.Play(turns);
      if (::testing::Test::HasFailure()) return sum;
      const SlotKeeper::Stats stats = run.stats().keeper;
      sum.checkpoints_restored += stats.checkpoints_restored;
      sum.joined += stats.joined;
      sum.parked += stats.parked;
      sum.failed += stats.failed;
    }
  }
  return sum;
}

TEST(ConversationProperty, ExactReuseAnswersAsAnEngineWithoutACache) {
  const auto done = PlayMany(1, 1000, 10, [](Scenario* s) { s->reuse = ReuseMode::kExact; });
  EXPECT_GT(done.checkpoints_restored, 1000u);
}

TEST(ConversationProperty, ExactReuseOfManyPeopleUnderEveryPolicyAnswersAsAnEngineWithoutACache) {
  const auto done = PlayMany(2001, 3500, 14, [](Scenario* s) {
    s->reuse = ReuseMode::kExact;
    s->people = 1 + s->seed % 4;
    s->placement = kPlacements[s->seed % kPlacements.size()];
    s->eviction = kEvictions[s->seed / 2 % kEvictions.size()];
  });
  EXPECT_GT(done.parked, 1000u);
  EXPECT_GT(done.joined, 1000u);
}

TEST(ConversationProperty, LiveReuseAnswersAsAnUninterruptedConversation) {
  PlayMany(1, 40, 8, [](Scenario*) {});
}

TEST(ConversationProperty, LiveReuseOfManyPeopleAnswersAsTheirUninterruptedConversations) {
  const auto done = PlayMany(5001, 5040, 14, [](Scenario* s) {
    s->people = 3;
    s->placement = s->seed % 3 == 0 ? "near-end,user-turns" : "auto";
    s->eviction = "value";
  });
  EXPECT_GT(done.parked, 100u);
  EXPECT_GT(done.joined, 100u);
}

TEST(ConversationProperty, StatesThatAreRefusedCostReadingAndNothingElse) {
  const auto done = PlayMany(7001, 7200, 12, [](Scenario* s) {
    s->reuse = ReuseMode::kExact;
    s->people = 1 + s->seed % 3;
    s->refuse_one_in = 3;
  });
  EXPECT_GT(done.failed, 100u);
}

}  // namespace
}  // namespace cairn
