// LoRA adapters in the scheduler: requests with different sets side by side, of several keys, over
// restarts. Every answer is that of an engine that computes with the set alone and has no cache.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "sched/request/adapter_name_space.h"
#include "testing/base/played_share.h"
#include "testing/sched/scheduler_fixture.h"
#include "testing/store/fake_disk.h"

namespace cairn::adapters_test {
namespace {

using test::Bench;
using test::kClasses;
using test::SteppingClock;
using test::TokensOf;

constexpr size_t kSlots = 3;
constexpr size_t kSeeds = 12;
constexpr size_t kLives = 3;
constexpr size_t kRoundsInALife = 12;

const std::vector<AdapterScales>& AllScales() {
  static const std::vector<AdapterScales> all = {{0, 0}, {1, 0}, {0, 1}, {0.5, 1}};
  return all;
}

FakeEngineOptions EngineOptions(MemoryClass memory_class, size_t slots) {
  FakeEngineOptions options = Bench::EngineOptions(memory_class);
  options.slots = slots;
  options.adapters = 2;
  return options;
}

SchedulerOptions Exact(LineageId first_lineage = 1) {
  SchedulerOptions options;
  options.reuse = ReuseMode::kExact;
  options.slots.first_lineage = first_lineage;
  return options;
}

struct Question {
  NamespaceId key = 0;
  AdapterScales scales;
  std::string prompt;
};

// The answers of engines that have answered nothing before.
class ColdAnswers {
 public:
  explicit ColdAnswers(MemoryClass memory_class) : memory_class_(memory_class) {}

  const std::string& Of(const Question& question) {
    auto [found, is_new] = known_.try_emplace({question.scales, question.prompt});
    if (is_new) {
      Bench bench(EngineOptions(memory_class_, 1), Exact());
      GenerationRequest request = Bench::Request(TokensOf(question.prompt));
      request.name_space = WithAdapters(0, *bench.engine.adapter_sets()->SetOf(question.scales));
      found->second = bench.Run(std::move(request)).text;
    }
    return found->second;
  }

 private:
  const MemoryClass memory_class_;
  std::map<std::pair<AdapterScales, std::string>, std::string> known_;
};

// One process lifetime of a server. A namespace gets its name with its first request.
class Life {
 public:
  Life(test::FakeDisk* disk, MemoryClass memory_class, LineageId first_lineage)
      : engine_(EngineOptions(memory_class, kSlots)),
        cache_(CacheOptions{}, *MakePlacement("near-end,user-turns"), *MakeEviction("value"),
               MakeTieredStore(disk)),
        scheduler_(&engine_, &cache_, &clock_, Exact(first_lineage)) {
    disk->Restart();
    saved_as_.fingerprint = {7, 7};
    saved_as_.awaits_names = true;
    cache_.SetSavedAs(saved_as_);
  }

  std::vector<Bench::Answer> AskTogether(const std::vector<Question>& questions) {
    std::vector<std::shared_ptr<Generation>> generations;
    for (const Question& question : questions) {
      GenerationRequest request = Bench::Request(TokensOf(question.prompt));
      request.name_space = Name(question);
      generations.push_back(*scheduler_.Submit(std::move(request)));
    }
    while (scheduler_.Step()) {
    }
    std::vector<Bench::Answer> answers;
    for (const auto& generation : generations) answers.push_back(Bench::Collect(generation.get()));
    return answers;
  }
  void SaveAll() { EXPECT_TRUE(scheduler_.SaveAll(1e6)); }
  void CheckInvariants() const { cache_.CheckInvariants(); }

 private:
  NamespaceId Name(const Question& question) {
    const auto set = *engine_.adapter_sets()->SetOf(question.scales);
    const NamespaceId name_space = WithAdapters(question.key, set);
    const uint64_t name = Hash64(*engine_.adapter_sets()->DigestOf(set), question.key + 1);
    if (!saved_as_.NameOf(name_space)) {
      saved_as_.name_spaces.Add(name_space, name);
      cache_.SetSavedAs(saved_as_);
    }
    return name_space;
  }

  SteppingClock clock_;
  FakeEngine engine_;
  CheckpointCache cache_;
  Scheduler scheduler_;
  SavedAs saved_as_;
};

// Conversations that grow, all of them from the same beginning, so that only the namespace keeps
// their states apart.
class Players {
 public:
  explicit Players(uint64_t seed) : random_(seed) {
    for (const NamespaceId key : {0, 1}) {
      for (const AdapterScales& scales : AllScales())
        talks_.push_back({key, scales, std::string(150, 's')});
    }
  }

  // Between one and all slots' worth of questions.
  std::vector<Question> Next() {
    std::shuffle(talks_.begin(), talks_.end(), random_);
    const size_t count = 1 + random_() % (kSlots + 1);
    std::vector<Question> questions;
    for (size_t i = 0; i < count; ++i) {
      talks_[i].prompt += std::string(20 + random_() % 60, static_cast<char>('a' + random_() % 3));
      questions.push_back(talks_[i]);
    }
    return questions;
  }

 private:
  std::mt19937_64 random_;
  std::vector<Question> talks_;
};

TEST(Adapters, NoStateCrossesSetsWhateverIsAsked) {
  size_t reused = 0;
  for (const MemoryClass memory_class : kClasses) {
    ColdAnswers cold(memory_class);
    for (uint64_t seed = 0; seed < test::Played(kSeeds); ++seed) {
      SCOPED_TRACE(std::string(MemoryClassName(memory_class)) + ", seed " + std::to_string(seed));
      test::FakeDisk disk;
      Players players(seed);
      for (size_t life_number = 1; life_number <= kLives; ++life_number) {
        Life life(&disk, memory_class, life_number << 20U);
        for (size_t round = 0; round < kRoundsInALife; ++round) {
          const std::vector<Question> questions = players.Next();
          const auto answers = life.AskTogether(questions);
          for (size_t i = 0; i < questions.size(); ++i) {
            ASSERT_EQ(answers[i].text, cold.Of(questions[i])) << "round " << round;
            reused += answers[i].end.cost.reused_tokens;
          }
          life.CheckInvariants();
        }
        life.SaveAll();
      }
    }
  }
  EXPECT_GT(reused, test::Played(10'000));
}

TEST(Adapters, ChangeTheAnswerAndReuseStaysWithinTheirSet) {
  Bench bench(EngineOptions(MemoryClass::kHybrid, 2), {});
  const auto ask = [&](const AdapterScales& scales) {
    GenerationRequest request = Bench::Request(TokensOf(std::string(300, 'q')));
    request.name_space = WithAdapters(0, *bench.engine.adapter_sets()->SetOf(scales));
    return bench.Run(std::move(request));
  };
  const Bench::Answer plain = ask({0, 0});
  const Bench::Answer adapted = ask({1, 0});
  EXPECT_NE(plain.text, adapted.text);
  EXPECT_EQ(adapted.end.cost.reused_tokens, 0u);
  EXPECT_EQ(ask({1, 0}).end.cost.reused_tokens, 300u);
  EXPECT_EQ(ask({0, 0}).text, plain.text);
}

TEST(Adapters, ARequestKeepsItsSetUntilItEnds) {
  Bench bench(EngineOptions(MemoryClass::kHybrid, 1), {});
  AdapterSets* const sets = bench.engine.adapter_sets();
  const auto request_in = [](AdapterSets::Number set) {
    GenerationRequest request = Bench::Request(TokensOf(std::string(100, 'q')));
    request.name_space = WithAdapters(0, set);
    return request;
  };
  auto ask_for_many_others = [sets, scale = 2.0F]() mutable {
    for (size_t i = 0; i < AdapterSets::kSetsMax; ++i) ASSERT_TRUE(sets->SetOf({0, scale++}));
  };
  const AdapterSets::Number first = *sets->SetOf({1, 0});
  const std::string answer = bench.Run(request_in(first)).text;
  ask_for_many_others();
  EXPECT_FALSE(sets->Keeps(first)) << "no request has it";
  EXPECT_EQ(bench.scheduler.Submit(request_in(first)).error().code, ErrorCode::kUnavailable);

  const AdapterSets::Number again = *sets->SetOf({1, 0});
  EXPECT_NE(again, first);
  const auto generation = bench.scheduler.Submit(request_in(again));
  ASSERT_TRUE(generation.has_value());
  ask_for_many_others();
  EXPECT_TRUE(sets->Keeps(again)) << "a request waits that has it";
  bench.scheduler.Step();
  ask_for_many_others();
  EXPECT_TRUE(sets->Keeps(again)) << "a request runs that has it";
  while (bench.scheduler.Step()) {
  }
  EXPECT_EQ(Bench::Collect(generation->get()).text, answer);
  ask_for_many_others();
  EXPECT_FALSE(sets->Keeps(again));
}

TEST(Adapters, MoreSetsAreNoLargerShare) {
  FairShares shares;
  shares.SetActive({1, 2});
  shares.Charge(WithAdapters(1, 5), 10);
  shares.Charge(WithAdapters(1, 6), 10);
  shares.Charge(2, 15);
  EXPECT_EQ(shares.UsedMs(WithAdapters(1, 7)), 20);
  EXPECT_EQ(shares.UsedMs(2), 15);
}

}  // namespace
}  // namespace cairn::adapters_test
