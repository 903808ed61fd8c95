// Random conversations through scheduler, cache and engine together. Between two requests a person
// adds a turn, edits the last or an earlier one, repeats, forks, or uses a template that strips old
// reasoning. Several people may share slots and a system prefix, and send requests at the same
// time; some send a prompt twice at once. The server may be stopped between two turns and started
// again.
//
// `exact`: every answer is that of an engine without a cache. `live`: every answer is that of an
// engine that was given some of the turns before it, in order and without an interruption.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cache/cache_overview.h"
#include "sched/scheduler.h"
#include "testing/base/played_share.h"
#include "testing/engine/fake_engine.h"
#include "testing/sched/lying_drafter.h"
#include "testing/sched/played_conversation.h"
#include "testing/sched/played_history.h"
#include "testing/store/fake_disk.h"

namespace cairn {
namespace {

using test::History;
using test::Played;

constexpr test::MessageTokens kMessageTokens = {FakeEngine::kMessageStart, FakeEngine::kMessageEnd};
constexpr test::PersonLetters kLetters = {200, 60, 60, 20, 50};

struct Scenario {
  uint64_t seed;
  MemoryClass memory_class;
  ReuseMode reuse;
  size_t people = 1;
  std::string placement = "near-end,user-turns";
  std::string eviction = "lru";
  // One restored state in this many is refused; 0: none.
  uint64_t refuse_one_in = 0;
  size_t slots = 1;
  // People who send requests at the same time.
  size_t together = 1;
  bool twins = false;  // some prompts are sent twice at once
  // Tokens that the slots may hold together; 0: each has all the room it needs.
  size_t cells = 0;
  size_t answer_tokens_max = 40;
  bool segments = true;  // else slots are stored as full states
  // false: each slot has a stream of its own, and a fork is a copy.
  bool one_buffer = true;
  // One turn in this many follows a restart, and an object may have vanished; 0: there is no disk.
  uint64_t restart_one_in = 0;
  size_t beside_tokens_max = 0;
  bool drafts = false;  // most of them wrong, verified with the answers

  // Half of the scenarios strip reasoning of earlier turns.
  bool strips_reasoning() const { return seed / 2 % 2 == 0; }
};

// Half of the scenarios cut prompts at messages, the other half on the grid alone.
Tokens MessageStarts(const Scenario& scenario) {
  return scenario.seed / 4 % 2 == 0 ? Tokens{kMessageTokens.start} : Tokens{};
}

// Half of those have gaps between boundaries that grow, and faster than a server's.
size_t GapDivisor(const Scenario& scenario) {
  return scenario.seed / 8 % 2 == 0 ? 4 : 0;
}

GenerationParams Params(size_t tokens_max) {
  GenerationParams params;
  params.tokens_max = tokens_max;
  return params;
}

// Every call takes a time chosen by a seed, between a microsecond and a second, so that
// measurements differ from seed to seed, resume paths are expensive or cheap, and a seed is
// reproducible. For one thread.
class SteppingClock final : public Clock {
 public:
  explicit SteppingClock(uint64_t seed) : random_(seed) {}
  double NowMs() const override {
    return now_ms_ += static_cast<double>(uint64_t{1} << random_() % 20) / 1000;
  }

 private:
  mutable std::mt19937_64 random_;
  mutable double now_ms_ = 0;
};

struct Done : SlotCounters {
  uint64_t preempted = 0;
  uint64_t waited_for_prefix = 0;
  uint64_t taken_in = 0;
  uint64_t lost = 0;
  uint64_t drafted_tokens = 0;
  uint64_t accepted_tokens = 0;

  void Add(const SchedulerStats& stats) {
    for (const DraftStats& drafts : stats.drafts) {
      drafted_tokens += drafts.drafted_tokens;
      accepted_tokens += drafts.accepted_tokens;
    }
    preempted += stats.preempted;
    waited_for_prefix += stats.waited_for_prefix;
    taken_in += stats.cache.taken_in;
    lost += stats.cache.lost;
    AddWays(stats.slot_counters);
  }
  void Add(const Done& done) {
    preempted += done.preempted;
    waited_for_prefix += done.waited_for_prefix;
    taken_in += done.taken_in;
    lost += done.lost;
    drafted_tokens += done.drafted_tokens;
    accepted_tokens += done.accepted_tokens;
    AddWays(done);
  }

 private:
  void AddWays(const SlotCounters& stats) {
    forked += stats.forked;
    full_states_set += stats.full_states_set;
    checkpoints_restored += stats.checkpoints_restored;
    assembled += stats.assembled;
    offloaded += stats.offloaded;
    failed += stats.failed;
  }
};

class ConversationRun {
 public:
  explicit ConversationRun(const Scenario& scenario)
      : scenario_(scenario),
        clock_(scenario.seed),
        random_(scenario.seed),
        clicks_(scenario.seed),
        pauses_(scenario.seed),
        histories_(EngineOptions(scenario), Params(scenario.answer_tokens_max),
                   scenario.strips_reasoning(), scenario.reuse) {
    Start();
    const std::string header = scenario.people > 1 ? std::string(150, 'H') : "";
    for (size_t i = 0; i < scenario.people; ++i) {
      people_.push_back(std::make_unique<Client>(
          Client{test::Person(scenario.seed + 1000 * i, kLetters, header)}));
    }
  }

  void Play(int turns) {
    for (int turn = 0; turn < turns; ++turn) {
      if (scenario_.restart_one_in > 0) Restart();
      std::shuffle(people_.begin(), people_.end(), random_);
      const size_t asking = 1 + random_() % std::min(scenario_.together, people_.size());
      if (scenario_.refuse_one_in > 0 && random_() % scenario_.refuse_one_in == 0) {
        server_->engine.RefuseNextStates(1);
      }
      std::vector<test::PlayedPrompt> prompts;
      for (size_t i = 0; i < asking; ++i) {
        prompts.push_back(test::Render(people_[i]->person.messages(), scenario_.strips_reasoning(),
                                       kMessageTokens));
      }
      std::vector<Twin> twins;
      const std::vector<std::string> answers = Ask(prompts, &twins);
      server_->cache.CheckInvariants();
      EXPECT_EQ(server_->engine.mixed_states(), 0u);
      std::vector<Asked> asked;
      for (const Twin& twin : twins) {
        asked.push_back(
            {prompts[twin.of].tokens, TextOf(twin.generation.get()), people_[twin.of].get()});
      }
      for (size_t i = 0; i < asking; ++i) {
        asked.push_back({prompts[i].tokens, answers[i], people_[i].get()});
      }
      Expect(std::move(asked));
      if (::testing::Test::HasFailure()) return;
      for (size_t i = 0; i < asking; ++i) people_[i]->person.Change(answers[i]);
    }
  }

  // Sums over all its lives.
  Done done() const {
    Done sum = done_;
    sum.Add(server_->scheduler.stats());
    return sum;
  }

 private:
  struct Server {
    Server(const Scenario& scenario, const Clock* clock, test::FakeDisk* disk, uint64_t life)
        : engine(EngineOptions(scenario)),
          cache(Cache(scenario), *MakePlacement(scenario.placement, Placement()),
                *MakeEviction(scenario.eviction),
                scenario.restart_one_in > 0 ? MakeTieredStore(disk) : MakeRamStore()),
          scheduler(&engine, &cache, clock, Scheduling(scenario, life)) {
      cache.SetSavedAs({{1, 1}, {{0, 0}}});
    }
    static SchedulerOptions Scheduling(const Scenario& scenario, uint64_t life) {
      SchedulerOptions options;
      options.reuse = scenario.reuse;
      options.leave_grid = true;
      options.message_starts = MessageStarts(scenario);
      options.boundary_gap_divisor = GapDivisor(scenario);
      options.queue_limit = 64;
      options.slots.first_lineage = life << 32;
      options.slots.beside_tokens_max = scenario.beside_tokens_max;
      if (scenario.drafts) {
        options.drafts.make = &test::MakeLyingDrafter;
        options.drafts.adapts = false;
        options.drafts.in_exact = true;
      }
      return options;
    }

    FakeEngine engine;
    CheckpointCache cache;
    Scheduler scheduler;
  };

  void Start() {
    disk_.Restart();
    server_ = std::make_unique<Server>(scenario_, &clock_, &disk_, ++lives_);
  }

  // At shutdown there is sometimes time to save all, sometimes a little; the disk may lag behind.
  void Restart() {
    disk_.SetWrites(random_() % 4 != 0);
    if (random_() % 2 == 0) server_->scheduler.SaveAll(static_cast<double>(random_() % 200));
    server_->cache.CheckInvariants();
    const auto names = disk_.names();
    if (!names.empty() && random_() % 2 == 0) disk_.Lose(names[random_() % names.size()]);
    if (random_() % scenario_.restart_one_in != 0) return;
    done_.Add(server_->scheduler.stats());
    server_ = nullptr;
    Start();
  }

  struct Client {
    test::Person person;
    // Uninterrupted conversations, each a list of prompts, that led to the states seen so far.
    std::set<History> histories = {{}};
  };

  // A second request for a prompt.
  struct Twin {
    size_t of = 0;
    std::shared_ptr<Generation> generation;
  };

  static PlacementOptions Placement() {
    PlacementOptions options;
    options.every_nt_tokens = 96;
    options.batch_tokens = 48;
    return options;
  }
  static FakeEngineOptions EngineOptions(const Scenario& scenario) {
    FakeEngineOptions options;
    options.memory_class = scenario.memory_class;
    options.grid_tokens = 16;
    options.message_starts = MessageStarts(scenario);
    options.boundary_gap_divisor = GapDivisor(scenario);
    options.chunk_tokens_max = 48;
    options.window_tokens = 40;
    options.seed = scenario.seed;
    options.slots = scenario.slots;
    options.cells = scenario.cells;
    options.segments = scenario.segments;
    options.one_buffer = scenario.one_buffer;
    const bool may_lack = !options.segments && options.memory_class == MemoryClass::kAttention;
    if (may_lack && scenario.seed % 3 == 0) options.kept_window_tokens = 40;  // as with --swa-full
    if (scenario.drafts) options.letters = 2;
    if (scenario.drafts) options.rollback_states = scenario.seed % 4;
    if (scenario.cells > 0) {
      options.context_tokens = scenario.cells;
      options.end_one_in = 150;
    }
    return options;
  }
  // Small enough that in some runs checkpoints are evicted all the time.
  static CacheOptions Cache(const Scenario& scenario) {
    CacheOptions options;
    // An answer whose slot was preempted is unchanged only if all its state was kept.
    const bool small = scenario.seed % 2 == 0 && scenario.cells == 0;
    options.ram_bytes_max = small ? 6000 : 1 << 20;
    return options;
  }

  // Sometimes preloads a checkpoint. Returns nullptr if none is preloaded, or it does not fit.
  std::shared_ptr<Generation> BringOneBack() {
    if (clicks_() % 3 != 0) return nullptr;
    const auto held = CacheOverview(&server_->cache).HeldBy(0, 0, SIZE_MAX, 0);
    if (held.empty()) return nullptr;
    const Checkpoint& checkpoint = held[clicks_() % held.size()].checkpoint;
    // A prompt's end is preloaded as that prompt without an answer, a conversation of its own.
    if (checkpoint.logits_bytes > 0) return nullptr;
    GenerationRequest request;
    request.prompt = *CacheOverview(&server_->cache).PathOfHeld(0, checkpoint.id);
    request.shape.tokens = request.prompt.size();
    request.params.tokens_max = 0;
    request.preloads = true;
    histories_.SeePreload(request.prompt);
    auto generation = server_->scheduler.Submit(std::move(request));
    return generation ? *generation : nullptr;
  }
  std::shared_ptr<Generation> Submit(const test::PlayedPrompt& prompt) {
    GenerationRequest request;
    request.prompt = prompt.tokens;
    request.shape = prompt.shape;
    request.params = Params(scenario_.answer_tokens_max);
    auto generation = *server_->scheduler.Submit(std::move(request));
    // The disk sometimes returns nothing for a while.
    disk_.SetReads(pauses_() % 2 == 0);
    for (uint64_t steps = random_() % 4; steps > 0; --steps) server_->scheduler.Step();
    disk_.SetReads(true);
    return generation;
  }

  static std::string TextOf(Generation* generation) {
    std::string text;
    while (auto event = generation->Next(std::chrono::milliseconds(0))) text += event->text;
    return text;
  }

  std::vector<std::string> Ask(const std::vector<test::PlayedPrompt>& prompts,
                               std::vector<Twin>* twins) {
    const uint64_t before = server_->engine.decoded_tokens();
    const uint64_t evicted_before = server_->scheduler.stats().preempted;
    std::vector<std::shared_ptr<Generation>> generations;
    const auto brought = BringOneBack();
    for (size_t i = 0; i < prompts.size(); ++i) {
      const bool twice = scenario_.twins && random_() % 2 == 0;
      if (twice) twins->push_back({i, Submit(prompts[i])});
      generations.push_back(Submit(prompts[i]));
    }
    while (server_->scheduler.Step()) {
    }
    if (brought != nullptr) generations.push_back(brought);
    std::vector<std::string> answers;
    size_t cost_tokens = 0;
    for (const auto& generation : generations) {
      std::string& text = answers.emplace_back();
      GenerationEvent last;
      while (auto event = generation->Next(std::chrono::milliseconds(0))) {
        text += event->text;
        last = *event;
      }
      EXPECT_EQ(last.kind, GenerationEvent::Kind::kDone) << last.error.message;
      EXPECT_LE(last.cost.reused_tokens, last.cost.prompt_tokens);
      cost_tokens += last.cost.prefill_tokens() + last.cost.generated_tokens;
      // Where rejected tokens take a snapshot, the accepted ones are decoded again.
      cost_tokens += 2 * last.cost.drafted_tokens;
    }
    if (twins->empty() && server_->scheduler.stats().preempted == evicted_before) {
      EXPECT_LE(server_->engine.decoded_tokens() - before, cost_tokens);
    }
    if (brought != nullptr) {
      EXPECT_EQ(answers.back(), "");
      answers.pop_back();
    }
    return answers;
  }

  struct Asked {
    Tokens prompt;
    std::string answer;
    Client* client;
  };

  void Expect(std::vector<Asked> all) {
    for (const Asked& asked : all) histories_.See(asked.prompt, asked.answer);
    if (scenario_.reuse == ReuseMode::kExact) {
      for (const Asked& asked : all) EXPECT_EQ(asked.answer, histories_.ColdAnswer(asked.prompt));
      return;
    }
    // An answer may continue from one that was given at the same time.
    for (size_t unexplained = all.size() + 1; unexplained > all.size();) {
      unexplained = all.size();
      std::erase_if(all, [this](const Asked& asked) { return Explain(asked); });
    }
    EXPECT_TRUE(all.empty()) << "no uninterrupted conversation gives this answer";
  }

  bool Explain(const Asked& asked) {
    // An answer may be so short that several conversations give it, so all of them are kept.
    std::set<History>& own = asked.client->histories;
    std::set<History> found = histories_.Explain(own, asked.prompt, asked.answer);
    // A slot may hold another person's conversation that begins in the same way.
    for (size_t i = 0; found.empty() && i < people_.size(); ++i) {
      if (people_[i].get() == asked.client) continue;
      found = histories_.Explain(people_[i]->histories, asked.prompt, asked.answer);
    }
    const bool is_explained = !found.empty();
    own.merge(found);
    return is_explained;
  }

  const Scenario scenario_;
  const SteppingClock clock_;
  test::FakeDisk disk_;
  uint64_t lives_ = 0;
  std::unique_ptr<Server> server_;
  Done done_;  // in earlier lives
  std::mt19937_64 random_;
  std::mt19937_64 clicks_;
  std::mt19937_64 pauses_;  // of the disk
  std::vector<std::unique_ptr<Client>> people_;
  test::Histories histories_;
};

constexpr std::array<MemoryClass, 4> kClasses = {MemoryClass::kAttention,
                                                 MemoryClass::kSlidingWindow,
                                                 MemoryClass::kRecurrent, MemoryClass::kHybrid};

constexpr std::array<const char*, 8> kPlacements = {
    "auto", "none", "every-nb", "every-nt", "near-end", "user-turns", "eog", "marconi"};
constexpr std::array<const char*, 6> kEvictions = {"value",        "lru",     "fifo",
                                                   "closest-pair", "marconi", "none"};

// Plays conversations `first` to `last` (see Played) with every kind of memory, and sums up what
// was done.
Done PlayMany(uint64_t first, uint64_t last, int turns,
              const std::function<void(Scenario*)>& change) {
  Done sum;
  const uint64_t end = first + Played(last + 1 - first);
  for (uint64_t seed = first; seed < end; ++seed) {
    for (const MemoryClass memory_class : kClasses) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << MemoryClassName(memory_class));
      Scenario scenario{seed, memory_class, ReuseMode::kLive};
      change(&scenario);
      ConversationRun run(scenario);
      run.Play(turns);
      if (::testing::Test::HasFailure()) return sum;
      sum.Add(run.done());
    }
  }
  return sum;
}

TEST(ConversationProperty, ExactReuseAnswersAsAnEngineWithoutACache) {
  const auto done = PlayMany(1, 1000, 10, [](Scenario* s) { s->reuse = ReuseMode::kExact; });
  EXPECT_GT(done.checkpoints_restored, Played(1000));
}

TEST(ConversationProperty, ExactReuseOfManyPeopleUnderEveryPolicyAnswersAsAnEngineWithoutACache) {
  const auto done = PlayMany(2001, 3500, 14, [](Scenario* s) {
    s->reuse = ReuseMode::kExact;
    s->people = 1 + s->seed % 4;
    s->placement = kPlacements[s->seed % kPlacements.size()];
    s->eviction = kEvictions[s->seed / 2 % kEvictions.size()];
  });
  EXPECT_GT(done.offloaded, Played(1000));
  EXPECT_GT(done.assembled, Played(1000));
}

TEST(ConversationProperty, LiveReuseAnswersAsAnUninterruptedConversation) {
  PlayMany(1, 20, 8, [](Scenario*) {});
}

TEST(ConversationProperty, LiveReuseOfManyPeopleAnswersAsTheirUninterruptedConversations) {
  const auto done = PlayMany(5001, 5020, 14, [](Scenario* s) {
    s->people = 3;
    s->placement = s->seed % 3 == 0 ? "near-end,user-turns" : "auto";
    s->eviction = "value";
  });
  EXPECT_GT(done.offloaded, Played(100));
  EXPECT_GT(done.assembled, Played(100));
}

TEST(ConversationProperty, ExactReuseWithOneStreamASlotAnswersAsAnEngineWithoutACache) {
  const auto done = PlayMany(8001, 8500, 14, [](Scenario* s) {
    s->reuse = ReuseMode::kExact;
    s->segments = s->seed % 2 == 0;
    s->one_buffer = false;
    s->slots = 1 + s->seed / 2 % 3;
    s->people = 2 + s->seed % 4;
    s->together = 1 + s->seed % 3;
    s->twins = s->seed % 5 == 0;
    s->placement = kPlacements[s->seed % kPlacements.size()];
  });
  EXPECT_GT(done.waited_for_prefix, Played(100));
  EXPECT_GT(done.full_states_set, Played(250));
  EXPECT_GT(done.assembled, Played(250));
  EXPECT_GT(done.forked, Played(100));
}

TEST(ConversationProperty, LiveReuseOfSeveralSlotsAnswersAsUninterruptedConversations) {
  const auto done = PlayMany(9001, 9012, 12, [](Scenario* s) {
    s->slots = 2 + s->seed % 3;
    s->people = 2 + s->seed % 4;
    s->together = 1 + s->seed % 4;
    s->segments = s->seed % 5 != 0;
    s->one_buffer = s->seed % 2 == 0;
  });
  EXPECT_GT(done.forked, Played(50));
  EXPECT_GT(done.assembled, Played(20));
}

TEST(ConversationProperty, SlotsThatAreEmptiedForOthersGoOnAsIfTheyHadStayed) {
  for (const ReuseMode reuse : {ReuseMode::kLive, ReuseMode::kExact}) {
    const auto done = PlayMany(9101, 9124, 10, [reuse](Scenario* s) {
      s->reuse = reuse;
      s->slots = 2 + s->seed % 3;
      s->people = 3 + s->seed % 3;
      s->together = 1 + s->seed % 3;
      s->beside_tokens_max = 1 + s->seed % 200;
    });
    EXPECT_GT(done.offloaded, Played(100));
    EXPECT_GT(done.assembled, Played(100));
  }
}

TEST(ConversationProperty, ThoseThatWaitForAnothersReadingGetUninterruptedConversationsToo) {
  const auto done = PlayMany(9601, 9616, 6, [](Scenario* s) {
    s->slots = 2 + s->seed % 3;
    s->people = 3;
    s->together = 3;
    s->twins = true;
    s->placement = kPlacements[s->seed % kPlacements.size()];
  });
  EXPECT_GT(done.waited_for_prefix, Played(100));
}

TEST(ConversationProperty, SlotsThatOutgrowTheContextGoOnWhereTheyWere) {
  const auto done = PlayMany(9501, 9520, 4, [](Scenario* s) {
    s->slots = 3;
    s->people = 4;
    s->together = 4;
    s->cells = 1200;
    s->answer_tokens_max = 200;
    s->segments = s->seed % 4 != 0;
  });
  EXPECT_GT(done.preempted, Played(5));
}

TEST(ConversationProperty, ExactAnswersStayAColdRunsWhenTheServerIsStartedAgain) {
  const auto done = PlayMany(10001, 10300, 12, [](Scenario* s) {
    s->reuse = ReuseMode::kExact;
    s->restart_one_in = 1 + s->seed % 3;
    s->people = 1 + s->seed % 4;
    s->slots = 1 + s->seed / 2 % 3;
    s->segments = s->seed % 4 != 0;
    s->one_buffer = s->seed % 3 == 0;
    s->refuse_one_in = s->seed % 5 == 0 ? 3 : 0;
    s->placement = kPlacements[s->seed % kPlacements.size()];
  });
  EXPECT_GT(done.taken_in, Played(1000));
  EXPECT_GT(done.lost, Played(100));
}

TEST(ConversationProperty, ConversationsGoOnAsIfTheServerHadNeverBeenStartedAgain) {
  const auto done = PlayMany(10501, 10530, 10, [](Scenario* s) {
    s->restart_one_in = 1 + s->seed % 3;
    s->people = 1 + s->seed % 3;
    s->slots = 1 + s->seed / 2 % 2;
    s->segments = s->seed % 4 != 0;
    s->placement = s->seed % 3 == 0 ? "near-end,user-turns" : "auto";
    s->eviction = "value";
  });
  EXPECT_GT(done.taken_in, Played(100));
}

// Half of the drafted tokens are right, because answers consist of two letters.
TEST(ConversationProperty, DraftsThatLieChangeNoAnswer) {
  const auto may_draft = [](Scenario* s) {
    s->drafts = true;
    s->slots = 1 + s->seed / 2 % 3;
    s->people = 1 + s->seed % 3;
    s->together = 1 + s->seed % 3;
    s->twins = s->seed % 5 == 0;
    s->cells = s->slots > 1 && s->seed % 3 == 0 ? 1200 : 0;
    s->segments = s->seed % 4 != 0;
  };
  Done done = PlayMany(11001, 11004, 8, may_draft);
  done.Add(PlayMany(11101, 11200, 10, [&](Scenario* s) {
    s->reuse = ReuseMode::kExact;
    may_draft(s);
  }));
  EXPECT_GT(done.drafted_tokens, Played(10000));
  EXPECT_GT(done.accepted_tokens, done.drafted_tokens / 4);
  EXPECT_LT(done.accepted_tokens, done.drafted_tokens);
}

TEST(ConversationProperty, StatesThatAreRefusedCostReadingAndNothingElse) {
  const auto done = PlayMany(7001, 7200, 12, [](Scenario* s) {
    s->reuse = ReuseMode::kExact;
    s->people = 1 + s->seed % 3;
    s->slots = 1 + s->seed / 2 % 3;
    s->refuse_one_in = 3;
  });
  EXPECT_GT(done.failed, Played(100));
}

}  // namespace
}  // namespace cairn
