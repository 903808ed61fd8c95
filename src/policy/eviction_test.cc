#include "policy/eviction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace cairn {
namespace {

// Checkpoints of 100 bytes on one path, at these positions, made and used in this order.
std::vector<EvictionCandidate> Path(const std::vector<size_t>& positions) {
  std::vector<EvictionCandidate> candidates(positions.size());
  for (size_t i = 0; i < positions.size(); ++i) {
    EvictionCandidate& candidate = candidates[i];
    candidate.id = i + 1;
    candidate.position = positions[i];
    candidate.bytes = 100;
    candidate.checkpoint_class = CheckpointClass::kTurn;
    candidate.created_tick = candidate.used_tick = i + 1;
    candidate.age_ticks = positions.size() - i;
    candidate.ancestor_position = i > 0 ? positions[i - 1] : 0;
    candidate.descendant_position = i + 1 < positions.size() ? positions[i + 1] : 0;
    candidate.recompute_tokens = candidate.position - candidate.ancestor_position;
    candidate.branches = candidate.descendant_position > 0 ? 1 : 0;
  }
  return candidates;
}

size_t Victim(std::string_view name, const std::vector<EvictionCandidate>& candidates) {
  return (*MakeEviction(name))->Victim(candidates).value();
}

TEST(Eviction, LruEvictsWhatWasNotUsedLongest) {
  auto candidates = Path({100, 200, 300});
  candidates[0].used_tick = 9;
  EXPECT_EQ(Victim("lru", candidates), 1u);
}

TEST(Eviction, FifoEvictsTheOldestHoweverOftenItIsUsed) {
  auto candidates = Path({100, 200, 300});
  candidates[0].used_tick = 9;
  candidates[0].uses = 5;
  EXPECT_EQ(Victim("fifo", candidates), 0u);
}

TEST(Eviction, NoneGivesNothingUp) {
  EXPECT_EQ((*MakeEviction("none"))->Victim(Path({100})), std::nullopt);
}

TEST(Eviction, ClosestPairThinsWhereCheckpointsStandClosest) {
  EXPECT_EQ(Victim("closest-pair", Path({4000, 5000, 5200, 9000})), 1u);
  // Of the two candidates, the one that leaves the smaller gap is evicted.
  EXPECT_EQ(Victim("closest-pair", Path({1000, 5000, 5200, 6000})), 2u);
}

TEST(Eviction, ClosestPairKeepsTheFirstAndTheLastOfAPath) {
  EXPECT_EQ(Victim("closest-pair", Path({10, 4000, 8000, 8010})), 2u);
  EXPECT_EQ(Victim("closest-pair", Path({10, 20, 8000, 9000})), 1u);
}

TEST(Eviction, ClosestPairFallsBackToTheLongestUnused) {
  auto candidates = Path({100, 200});
  candidates[0].used_tick = 9;
  EXPECT_EQ(Victim("closest-pair", candidates), 1u);
}

TEST(Eviction, MarconiWeighsRecencyAgainstWhatReadingAgainTakes) {
  auto candidates = Path({1000, 2000, 3000});
  candidates[1].recompute_tokens = 10;
  EXPECT_EQ(Victim("marconi", candidates), 1u);
  candidates[1].recompute_tokens = 1000;
  EXPECT_EQ(Victim("marconi", candidates), 0u);
}

TEST(Eviction, MarconiSparesBranchingPoints) {
  auto candidates = Path({1000, 2000, 3000});
  candidates[0].branches = 2;
  EXPECT_EQ(Victim("marconi", candidates), 1u);
  for (auto& candidate : candidates) candidate.branches = 2;
  EXPECT_EQ(Victim("marconi", candidates), 0u);
}

TEST(Eviction, ValueEvictsWhatIsCheapToReadAgain) {
  EXPECT_EQ(Victim("value", Path({4000, 8000, 8064, 12000})), 2u);
}

TEST(Eviction, ValueEvictsTheLargerOfTwoThatCostTheSame) {
  auto candidates = Path({1000, 2000});
  candidates[1].bytes = 1000;
  EXPECT_EQ(Victim("value", candidates), 1u);
}

TEST(Eviction, ValueSparesTheClassesThatAreWantedMore) {
  auto candidates = Path({1000, 2000, 3000});
  candidates[0].checkpoint_class = CheckpointClass::kHeader;
  candidates[1].checkpoint_class = CheckpointClass::kQuery;
  candidates[2].checkpoint_class = CheckpointClass::kInterval;
  EXPECT_EQ(Victim("value", candidates), 2u);
}

TEST(Eviction, ValueSparesWhatWasUsed) {
  auto candidates = Path({1000, 2000, 3000});
  candidates[0].uses = 6;
  EXPECT_EQ(Victim("value", candidates), 1u);
}

TEST(Eviction, ValueEvictsYesterdaysFavouriteInTheEnd) {
  auto candidates = Path({1000, 2000, 3000});
  candidates[1].uses = 50;
  candidates[1].age_ticks = 10;
  EXPECT_NE(Victim("value", candidates), 1u);
  candidates[1].age_ticks = 10000;
  EXPECT_EQ(Victim("value", candidates), 1u);
}

TEST(Eviction, ValueEvictsWhatAConversationHasPassed) {
  auto candidates = Path({100, 200, 300});
  for (EvictionCandidate& candidate : candidates) {
    candidate.checkpoint_class = CheckpointClass::kPrompt;
  }
  candidates[1].passed = true;
  candidates[1].uses = 1;  // by the conversation's next prompt
  EXPECT_EQ(Victim("value", candidates), 1u);
  // Other conversations need a system prefix too.
  candidates[1].checkpoint_class = CheckpointClass::kHeader;
  EXPECT_EQ(Victim("value", candidates), 0u);
}

TEST(Eviction, ValueEvictsWhatLeadsNowhereFirst) {
  auto candidates = Path({1000, 2000, 8000});
  candidates[2].leads_nowhere = true;
  EXPECT_EQ(Victim("value", candidates), 2u);
}

TEST(Eviction, ValueEvictsWhatASlotHoldsTooBeforeWhatNobodyHolds) {
  auto candidates = Path({100, 200, 8000});
  candidates[2].kind = CandidateKind::kSegment;
  candidates[2].in_slot = true;
  EXPECT_EQ(Victim("value", candidates), 2u);
}

TEST(Eviction, AmongEqualsTheLongestUnusedGoesByEveryPolicy) {
  auto candidates = Path({1000, 2000, 3000, 4000});
  for (auto& candidate : candidates) {
    candidate.age_ticks = 0;
    candidate.recompute_tokens = 0;
  }
  candidates[0].used_tick = 9;
  candidates[1].used_tick = 8;
  for (const char* name : {"lru", "marconi", "value"}) EXPECT_EQ(Victim(name, candidates), 2u);
}

TEST(Eviction, EveryPolicyNamesACandidateAndTheSameOneInAnyOrder) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<EvictionCandidate> candidates(1 + random() % 20);
    for (size_t i = 0; i < candidates.size(); ++i) {
      candidates[i] = {i + 1, 1 + random() % 5000, random() % 3 * 50};
      candidates[i].checkpoint_class = CheckpointClass(1 + random() % 11);
      candidates[i].created_tick = random() % 9;
      candidates[i].used_tick = random() % 9;
      candidates[i].age_ticks = 9 - candidates[i].used_tick;
      candidates[i].uses = random() % 3;
      candidates[i].ancestor_position = random() % candidates[i].position;
      candidates[i].descendant_position =
          random() % 2 == 0 ? 0 : candidates[i].position + 1 + random() % 99;
      candidates[i].recompute_tokens = candidates[i].position - candidates[i].ancestor_position;
      candidates[i].branches = random() % 3;
    }
    for (const char* name : {"closest-pair", "fifo", "lru", "marconi", "value"}) {
      SCOPED_TRACE(std::string(name) + ", seed " + std::to_string(seed));
      const size_t victim = Victim(name, candidates);
      ASSERT_LT(victim, candidates.size());
      auto shuffled = candidates;
      std::shuffle(shuffled.begin(), shuffled.end(), random);
      EXPECT_EQ(shuffled[Victim(name, shuffled)].id, candidates[victim].id);
    }
  }
}

TEST(Eviction, AnUnknownNameIsToldTheKnownOnes) {
  EXPECT_NE(
      MakeEviction("mru").error().message.find("closest-pair, fifo, lru, marconi, none, value"),
      std::string::npos);
}

}  // namespace
}  // namespace cairn
