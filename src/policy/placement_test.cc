#include "policy/placement.h"

#include <gtest/gtest.h>

#include "testing/policy/test_shapes.h"

namespace cairn::placement_test {
namespace {

using test::Conversation;

std::vector<Placement> Placed(std::string_view names, const PromptShape& shape) {
  std::vector<Placement> placements;
  (*MakePlacement(names, {.batch_tokens = 100}))->Place({shape, 100}, &placements);
  return placements;
}

TEST(Placement, NearEndCutsBeforeTheGenerationPromptAndAMicroBatchEarlier) {
  EXPECT_EQ(
      Placed("near-end", Conversation()),
      (std::vector<Placement>{{990, CheckpointClass::kPrompt}, {890, CheckpointClass::kLadder}}));
}

TEST(Placement, NearEndTakesTheEndOfAPromptThatIsNoChat) {
  PromptShape shape;
  shape.tokens = 80;
  EXPECT_EQ(Placed("near-end", shape), (std::vector<Placement>{{80, CheckpointClass::kPrompt}}));
}

TEST(Placement, UserTurnsLeavesToolResultsAlone) {
  EXPECT_EQ(
      Placed("user-turns", Conversation()),
      (std::vector<Placement>{{300, CheckpointClass::kHeader}, {700, CheckpointClass::kTurn}}));
}

TEST(Placement, EveryNtTakesMultiplesOfTokens) {
  std::vector<Placement> placements;
  const PromptShape shape = Conversation();
  (*MakePlacement("every-nt", {.every_nt_tokens = 400}))->Place({shape, 100}, &placements);
  EXPECT_EQ(placements, (std::vector<Placement>{{400, CheckpointClass::kInterval},
                                                {800, CheckpointClass::kInterval}}));
}

TEST(Placement, EveryNbTakesMultiplesOfBatches) {
  EXPECT_EQ(Placed("every-nb", Conversation()),
            (std::vector<Placement>{{300, CheckpointClass::kInterval},
                                    {600, CheckpointClass::kInterval},
                                    {900, CheckpointClass::kInterval}}));
}

TEST(Placement, EveryNbCountsBatchesAndNotMicroBatches) {
  PromptShape shape;
  shape.tokens = 5000;
  std::vector<Placement> placements;
  (*MakePlacement("every-nb", {.every_nb_batches = 1}))->Place({shape, 512}, &placements);
  EXPECT_EQ(placements, (std::vector<Placement>{{2048, CheckpointClass::kInterval},
                                                {4096, CheckpointClass::kInterval}}));
}

TEST(Placement, AnIntervalOfZeroIsNoInterval) {
  const PromptShape shape = Conversation();
  std::vector<Placement> placements;
  const PlacementOptions options{.every_nt_tokens = 0, .every_nb_batches = 0};
  (*MakePlacement("every-nt,every-nb", options))->Place({shape, 100}, &placements);
  EXPECT_TRUE(placements.empty());
}

TEST(Placement, EogTakesEveryMessagesEnd) {
  PromptShape shape = Conversation();
  shape.eog_ends = {297, 497};
  EXPECT_EQ(Placed("eog", shape),
            (std::vector<Placement>{{297, CheckpointClass::kTurn}, {497, CheckpointClass::kTurn}}));
}

TEST(Placement, MarconiTakesTheBranchAndTheEnd) {
  const PromptShape shape = Conversation();
  std::vector<Placement> placements;
  PlacementInput input{shape, 100};
  input.diverged_at = 512;
  (*MakePlacement("marconi"))->Place(input, &placements);
  EXPECT_EQ(placements, (std::vector<Placement>{{512, CheckpointClass::kBranch},
                                                {1000, CheckpointClass::kEnd}}));
}

TEST(Placement, WhatLiesInsideReasoningMovesBeforeIt) {
  PromptShape shape = Conversation();
  shape.reasoning = {{350, 380}, {560, 650}};
  EXPECT_EQ(Placed("every-nb", shape), (std::vector<Placement>{{300, CheckpointClass::kInterval},
                                                               {560, CheckpointClass::kInterval},
                                                               {900, CheckpointClass::kInterval}}));
}

TEST(Placement, TheEdgesOfReasoningAreOutsideIt) {
  PromptShape shape = Conversation();
  shape.reasoning = {{300, 600}, {900, 950}};
  EXPECT_EQ(Placed("every-nb", shape), (std::vector<Placement>{{300, CheckpointClass::kInterval},
                                                               {600, CheckpointClass::kInterval},
                                                               {900, CheckpointClass::kInterval}}));
}

TEST(Placement, RoundingToTheGridDoesNotLeadIntoReasoning) {
  PromptShape shape = Conversation();
  shape.turns = {{700, true}};
  shape.reasoning = {{500, 630}, {650, 690}};
  std::vector<Placement> placements;
  // 700 becomes 640, between the two; on a coarser grid 512, inside the first, and so 256.
  (*MakePlacement("user-turns"))->Place({shape, 100, {64, shape.tokens}}, &placements);
  EXPECT_EQ(placements, (std::vector<Placement>{{256, CheckpointClass::kHeader},
                                                {640, CheckpointClass::kTurn}}));
  placements.clear();
  (*MakePlacement("user-turns"))->Place({shape, 100, {256, shape.tokens}}, &placements);
  EXPECT_EQ(placements, (std::vector<Placement>{{256, CheckpointClass::kHeader},
                                                {256, CheckpointClass::kTurn}}));
}

TEST(Placement, NamesJoinedByCommasAddUp) {
  EXPECT_EQ(Placed("near-end,user-turns", Conversation()).size(), 4u);
  EXPECT_EQ(Placed("none", Conversation()).size(), 0u);
}

TEST(Placement, AnUnknownNameIsToldTheKnownOnes) {
  const auto policy = MakePlacement("near-end,nowhere");
  ASSERT_FALSE(policy.has_value());
  EXPECT_NE(policy.error().message.find("'nowhere'"), std::string::npos);
  EXPECT_NE(policy.error().message.find(
                "auto, eog, every-nb, every-nt, marconi, near-end, none, user-turns"),
            std::string::npos);
}

}  // namespace
}  // namespace cairn::placement_test
