#include "soak/plan.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>

#include "soak/report.h"
#include "soak/talk.h"

namespace cairn::soak {
namespace {

TEST(SoakPlan, MeetsEveryMemoryClassInTheShortestRun) {
  std::set<std::string> all;
  for (const SoakModel& model : kModels) all.insert(model.memory);
  for (const double hours : {0.0, 0.01, 0.08, 0.25, 24.0}) {
    const Lengths lengths = LengthsOf(hours);
    std::set<std::string> met;
    for (size_t number = 1; number <= lengths.rounds; ++number) {
      met.insert(PlanRound(1, number, lengths.round_s).model.memory);
    }
    EXPECT_EQ(met, all) << hours;
  }
}

TEST(SoakPlan, TakesAsLongAsItIsTold) {
  for (const double hours : {0.08, 0.25, 1.0, 24.0}) {
    const Lengths lengths = LengthsOf(hours);
    EXPECT_LE(lengths.round_s * static_cast<double>(lengths.rounds), hours * 3600 + 1) << hours;
    EXPECT_GE(lengths.round_s * static_cast<double>(lengths.rounds + 1), hours * 3600 - 1) << hours;
  }
}

TEST(SoakPlan, IsTheSameForTheSameSeed) {
  for (size_t number = 1; number < 20; ++number) {
    const RoundPlan one = PlanRound(7, number, 60);
    const RoundPlan same = PlanRound(7, number, 60);
    EXPECT_EQ(one.both, same.both);
    EXPECT_EQ(FlagsOfLife(one, 3), FlagsOfLife(same, 3));
    EXPECT_NE(one.seed, PlanRound(8, number, 60).seed);
  }
}

TEST(SoakPlan, GivesBothServersWhatDecidesAnAnswerAndTheirContextsTheSameSize) {
  for (size_t number = 1; number < 50; ++number) {
    const RoundPlan plan = PlanRound(7, number, 60);
    const Flags flags = FlagsOfLife(plan, number);
    for (const char* name : {"--reuse", "--ubatch-size", "--context-overflow", "-t", "--seed"}) {
      EXPECT_EQ(FlagOf(flags, name), FlagOf(plan.both, name)) << name;
    }
    EXPECT_EQ(FlagOf(plan.both, "--reuse"), plan.live ? "live" : "exact");
    EXPECT_EQ(std::stoul(FlagOf(flags, "-c")),
              std::stoul(FlagOf(flags, "-np")) * plan.context_tokens);
  }
}

TEST(SoakPlan, HasANeighbourAndLiveReuseInTheShortestRun) {
  size_t neighbours = 0;
  size_t live = 0;
  for (size_t number = 1; number <= kClassesMet; ++number) {
    neighbours += PlanRound(7, number, 60).neighbour ? 1 : 0;
    live += PlanRound(7, number, 60).live ? 1 : 0;
  }
  EXPECT_EQ(neighbours, 1u);
  EXPECT_EQ(live, 1u);
}

TEST(SoakPlan, TellsTheServerTheDisksBudgetToTheByte) {
  for (size_t number = 1; number <= 100; ++number) {
    const RoundPlan plan = PlanRound(7, number, 60);
    const double gib = std::stod(FlagOf(FlagsOfLife(plan, 1), "--cache-disk"));
    EXPECT_EQ(static_cast<uint64_t>(gib * (1 << 30)), plan.disk_bytes);
  }
}

TEST(SoakPlan, AllowsMemoryForWhatWaitsOnlyWhereTheDiskIsHeldUp) {
  EXPECT_EQ(QueueBytesMax({"--cache-ram", "4"}), 0u);
  EXPECT_EQ(QueueBytesMax({"--cache-ram", "4", "--disk-write-mib-s", "4"}), uint64_t{4} << 20);
}

TEST(SoakTalk, AsksTheSameForTheSameSeedAndAnswers) {
  Talker one({.seed = 5, .name = "a", .header_seed = 1});
  Talker same({.seed = 5, .name = "a", .header_seed = 1});
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(one.Next().body, same.Next().body);
    one.Heard({.text = "k"});
    same.Heard({.text = "k"});
  }
}

TEST(SoakTalk, GrowsPartsGoesBackAndComesInEveryApi) {
  Talker talker({.seed = 5, .name = "a", .header_seed = 1});
  std::set<Api> apis;
  std::set<std::string> asked;
  size_t again = 0;
  size_t longest = 0;
  for (int i = 0; i < 500; ++i) {
    const Question question = talker.Next();
    apis.insert(question.api);
    again += asked.insert(question.body.dump()).second ? 0 : 1;
    longest = std::max(longest, talker.talk().turns.size());
    talker.Heard({.text = "k"});
  }
  EXPECT_EQ(apis.size(), std::size(kApis));
  EXPECT_GT(again, 20u);
  EXPECT_GT(longest, 3u);
}

TEST(SoakReport, NamesTheSeedAndWhatWasWrong) {
  SoakResult soak;
  soak.seed = 77;
  RoundResult& round = soak.rounds.emplace_back();
  round.plan = PlanRound(77, 1, 60);
  round.counts = {{"answers checked", 12}, {"wrong answers", 1}};
  round.faults = {{"round 1: the text is wrong", "build/soak/fault-1.json"}};
  const std::string page = RenderReport(soak);
  for (const char* text : {"Seed 77", "| answers checked | 12 |", "| wrong answers | 1 |",
                           "the text is wrong", "fault-1.json"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text << " in:\n" << page;
  }
}

}  // namespace
}  // namespace cairn::soak
