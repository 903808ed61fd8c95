#include "policy/placement.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

std::vector<Placement> Placed(std::string_view names, const PromptShape& shape) {
  std::vector<Placement> placements;
  (*MakePlacement(names))->Place({shape, 100}, &placements);
  return placements;
}

PromptShape Conversation() {
  PromptShape shape;
  shape.tokens = 1000;
  shape.header_end = 300;
  shape.turns = {{300, true}, {500, false}, {700, true}};
  shape.messages_end = 990;
  return shape;
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

TEST(Placement, NamesJoinedByCommasAddUp) {
  EXPECT_EQ(Placed("near-end,user-turns", Conversation()).size(), 4u);
  EXPECT_EQ(Placed("none", Conversation()).size(), 0u);
}

TEST(Placement, AnUnknownNameIsToldTheKnownOnes) {
  const auto policy = MakePlacement("near-end,nowhere");
  ASSERT_FALSE(policy.has_value());
  EXPECT_NE(policy.error().message.find("'nowhere'"), std::string::npos);
  EXPECT_NE(policy.error().message.find("near-end, none, user-turns"), std::string::npos);
}

}  // namespace
}  // namespace cairn
