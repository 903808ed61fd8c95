#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "policy/placement.h"

namespace cairn::placement_auto_test {
namespace {

constexpr size_t kPiece = 512;

// An agent's session: a system prefix of 4,000 tokens, a question, and `tool_results` answers with
// a tool result of 1,000 tokens each.
PromptShape Session(size_t tool_results) {
  PromptShape shape;
  shape.header_end = 4000;
  shape.turns.push_back({4000, true});
  shape.query_end = 4200;
  size_t position = 4200;
  for (size_t i = 0; i < tool_results; ++i) {
    shape.turns.push_back({position + 300, false});
    position += 1300;
  }
  shape.messages_end = position;
  shape.tokens = position + 5;
  return shape;
}

PromptShape Question() {
  return Session(0);
}

std::vector<Placement> Sorted(std::vector<Placement> placements) {
  std::sort(placements.begin(), placements.end(),
            [](const Placement& a, const Placement& b) { return a.position < b.position; });
  return placements;
}

std::vector<Placement> PlacedBy(const PlacementPolicy& policy, const PlacementInput& input) {
  std::vector<Placement> placements;
  policy.Place(input, &placements);
  return Sorted(placements);
}

std::vector<Placement> Placed(const PlacementInput& input, const PlacementOptions& options = {}) {
  return PlacedBy(**MakePlacement("auto", options), input);
}

bool Has(const std::vector<Placement>& placements, Placement wanted) {
  return std::find(placements.begin(), placements.end(), wanted) != placements.end();
}

size_t CountIn(const std::vector<Placement>& placements, size_t begin, size_t end) {
  return static_cast<size_t>(
      std::count_if(placements.begin(), placements.end(), [&](const Placement& placement) {
        return placement.position >= begin && placement.position < end;
      }));
}

size_t Count(const std::vector<Placement>& placements, CheckpointClass checkpoint_class) {
  return static_cast<size_t>(std::count_if(
      placements.begin(), placements.end(),
      [&](const Placement& placement) { return placement.checkpoint_class == checkpoint_class; }));
}

TEST(AutoPlacement, KeepsACheckpointBeforeTheGenerationPrompt) {
  const PromptShape shape = Question();
  EXPECT_TRUE(Has(Placed({shape, kPiece}), {4200, CheckpointClass::kQuery}));
}

TEST(AutoPlacement, TellsAQueryFromAToolResult) {
  const PromptShape shape = Session(3);
  const auto placements = Placed({shape, kPiece});
  EXPECT_TRUE(Has(placements, {shape.messages_end, CheckpointClass::kPrompt}));
  EXPECT_TRUE(Has(placements, {4200, CheckpointClass::kQuery}));
  EXPECT_EQ(Count(placements, CheckpointClass::kQuery), 1u);
}

TEST(AutoPlacement, TakesTheHeaderTheLastUserTurnAndAMicroBatchBeforeTheEnd) {
  PromptShape shape = Session(2);
  shape.turns.push_back({shape.messages_end + 400, true});
  shape.messages_end += 2000;
  shape.tokens = shape.messages_end + 5;
  const auto placements = Placed({shape, kPiece});
  EXPECT_TRUE(Has(placements, {4000, CheckpointClass::kHeader}));
  EXPECT_TRUE(Has(placements, {shape.turns.back().position, CheckpointClass::kTurn}));
  EXPECT_TRUE(Has(placements, {shape.messages_end - kPiece, CheckpointClass::kLadder}));
}

TEST(AutoPlacement, TakesARungInALongMessageOfTheUsersAndNoneInAShortOne) {
  PromptShape shape = Question();
  const auto ask = [&shape](size_t message_tokens) {
    shape.messages_end = shape.query_end = 4000 + message_tokens;
    shape.tokens = shape.messages_end + 5;
    PlacementInput input{shape, kPiece};
    input.snapshot_cost_tokens = 100000;
    return Placed(input);
  };
  EXPECT_TRUE(Has(ask(300), {4200, CheckpointClass::kLadder}));
  EXPECT_EQ(Count(ask(256), CheckpointClass::kLadder), 0u);
  EXPECT_EQ(Count(ask(90), CheckpointClass::kLadder), 0u);
}

// A checkpoint before the generation prompt ended a chunk three tokens before the end of every
// turn.
TEST(AutoPlacement, NeedsNothingBeforeAGenerationPromptThatTheReplyFollows) {
  PromptShape shape = Question();
  shape.messages_end = shape.query_end = 4000 + 90;
  shape.tokens = shape.messages_end + 5;
  PlacementInput input{shape, kPiece};
  EXPECT_EQ(Count(Placed(input), CheckpointClass::kQuery), 1u);
  shape.reply_follows = true;
  EXPECT_EQ(Count(Placed(input), CheckpointClass::kQuery), 0u);
  EXPECT_EQ(Count(Placed(input), CheckpointClass::kPrompt), 0u);
}

TEST(AutoPlacement, TakesTheGridPointInsideTheGenerationPrompt) {
  PromptShape shape = Session(3);
  shape.messages_end = 8250;
  shape.tokens = 8272;
  PlacementInput input{shape, kPiece};
  input.cuts = {64, shape.tokens};
  EXPECT_TRUE(Has(Placed(input), {8192, CheckpointClass::kPrompt}));
  EXPECT_TRUE(Has(Placed(input), {8256, CheckpointClass::kPrompt}));
  // The cold run's last cut lies before the prompt's last token.
  shape.tokens = 8256;
  input.cuts = {64, shape.tokens};
  EXPECT_EQ(CountIn(Placed(input), 8193, 8257), 0u);
  shape.tokens = 8272;
  input.cuts = {1, shape.tokens};
  EXPECT_EQ(CountIn(Placed(input), 8251, 8273), 0u);
}

TEST(AutoPlacement, NeedsNoRungInAToolsResult) {
  const PromptShape shape = Session(3);
  PlacementInput input{shape, kPiece};
  input.snapshot_cost_tokens = 100000;
  EXPECT_EQ(Count(Placed(input), CheckpointClass::kLadder), 0u);
}

TEST(AutoPlacement, TakesTheEndOfAPromptThatIsNoChat) {
  PromptShape shape;
  shape.tokens = 100;
  EXPECT_TRUE(Has(Placed({shape, kPiece}), {100, CheckpointClass::kPrompt}));
}

TEST(AutoPlacement, TakesNothingOfAnEmptyPromptAndLittleOfOneToken) {
  PromptShape shape;
  EXPECT_TRUE(Placed({shape, kPiece}).empty());
  shape.tokens = 1;
  EXPECT_EQ(Placed({shape, kPiece}), (std::vector<Placement>{{1, CheckpointClass::kPrompt}}));
}

TEST(AutoPlacement, ObeysFourMarks) {
  PromptShape shape = Question();
  shape.marks = {{500}, {1111}, {1700}, {2222}, {3333}};
  const auto placements = Placed({shape, kPiece});
  EXPECT_EQ(Count(placements, CheckpointClass::kMark), 4u);
  EXPECT_TRUE(Has(placements, {2222, CheckpointClass::kMark}));
}

TEST(AutoPlacement, RemembersWhereThisPromptDiverged) {
  const PromptShape shape = Question();
  PlacementInput input{shape, kPiece};
  input.diverged_at = 1234;
  EXPECT_TRUE(Has(Placed(input), {1234, CheckpointClass::kBranch}));
}

TEST(AutoPlacement, TakesNoBranchRightAfterABoundary) {
  const PromptShape shape = Session(3);
  PlacementInput input{shape, kPiece};
  for (const size_t boundary : {shape.header_end, shape.query_end}) {
    input.diverged_at = boundary + 3;
    EXPECT_EQ(Count(Placed(input), CheckpointClass::kBranch), 0u);
  }
}

TEST(AutoPlacement, LeavesReasoningOut) {
  PromptShape shape = Session(5);
  shape.turns.back().by_user = true;
  shape.query_end = shape.messages_end;
  shape.reasoning = {{shape.messages_end - 700, shape.messages_end - 300}};
  const auto placements = Placed({shape, kPiece});
  EXPECT_EQ(CountIn(placements, shape.messages_end - 699, shape.messages_end - 300), 0u);
  EXPECT_TRUE(Has(placements, {shape.messages_end - 700, CheckpointClass::kLadder}));
}

TEST(AutoPlacement, ThinsBackwards) {
  PromptShape shape;
  shape.tokens = 100000;
  PlacementInput input{shape, kPiece};
  input.snapshot_cost_tokens = 4;
  const auto placements = Placed(input);
  EXPECT_GE(CountIn(placements, 99000, 100000), 3u);
  EXPECT_LE(CountIn(placements, 80000, 90000), 3u);
  EXPECT_GE(CountIn(placements, 20000, 80000), 3u);
}

TEST(AutoPlacement, TakesNothingThatIsThereAlready) {
  const PromptShape shape = Session(20);
  PlacementInput input{shape, kPiece};
  const auto first = Placed(input);
  std::vector<size_t> held;
  held.reserve(first.size());
  for (const Placement& placement : first) held.push_back(placement.position);
  input.held = held;
  EXPECT_TRUE(Placed(input).empty());
  input.held = {};
  input.cuts = {64, shape.tokens};
  const std::vector<size_t> held_on_grid{shape.header_end / 64 * 64, shape.messages_end / 64 * 64};
  input.held = held_on_grid;
  EXPECT_EQ(Count(Placed(input), CheckpointClass::kHeader), 0u);
  EXPECT_EQ(Count(Placed(input), CheckpointClass::kPrompt), 0u);
  input.held = {};
  input.resumed_tokens = shape.messages_end - 1300;
  EXPECT_EQ(CountIn(Placed(input), 0, input.resumed_tokens + 1), 0u);
}

TEST(AutoPlacement, KeepsToItsBudgetAndSpendsItOnTheEndFirst) {
  const PromptShape shape = Session(50);
  PlacementInput input{shape, kPiece};
  input.snapshot_bytes = 100;
  input.snapshot_cost_tokens = 4;
  size_t last = 0;
  for (const size_t budget : {50u, 100u, 350u, 1000u, 2000u}) {
    input.bytes_budget = budget;
    const auto placements = Placed(input);
    EXPECT_LE(placements.size(), std::max<size_t>(budget / 100, 2));
    EXPECT_GE(placements.size(), last);
    last = placements.size();
    EXPECT_TRUE(Has(placements, {shape.messages_end, CheckpointClass::kPrompt}));
    EXPECT_TRUE(Has(placements, {4200, CheckpointClass::kQuery}));
  }
  EXPECT_EQ(last, 20u);
}

TEST(AutoPlacement, TakesFewerWhenOneCostsMore) {
  const PromptShape shape = Session(50);
  PlacementInput input{shape, kPiece};
  input.snapshot_cost_tokens = 4;
  const size_t cheap = Placed(input).size();
  input.snapshot_cost_tokens = 100000;
  const auto needed = Placed(input);
  EXPECT_GT(cheap, needed.size());
  EXPECT_TRUE(Has(needed, {shape.messages_end, CheckpointClass::kPrompt}));
  EXPECT_EQ(Count(needed, CheckpointClass::kInterval) + Count(needed, CheckpointClass::kToolTurn),
            0u);
}

// A chat of `turns` questions, each with its answer `turn_tokens` long, that arrives complete.
PromptShape Chat(size_t turns, size_t turn_tokens) {
  PromptShape shape;
  shape.header_end = 1000;
  for (size_t i = 0; i < turns; ++i) shape.turns.push_back({1000 + i * turn_tokens, true});
  shape.messages_end = 1000 + turns * turn_tokens;
  shape.query_end = shape.messages_end;
  shape.tokens = shape.messages_end + 5;
  return shape;
}

TEST(AutoPlacement, TakesEveryTurnOfALongChatThatComesAllAtOnce) {
  const PromptShape shape = Chat(60, 1500);
  PlacementInput input{shape, kPiece};
  input.cuts = {64, shape.tokens};
  input.snapshot_bytes = 100;
  input.bytes_budget = 20000;
  const auto placements = Placed(input);
  for (const Turn& turn : shape.turns) {
    const size_t position = turn.position / 64 * 64;
    EXPECT_EQ(CountIn(placements, position, position + 1), 1u) << turn.position;
  }
}

TEST(AutoPlacement, SpreadsAShortBudgetOverTheTurnsOfALongChat) {
  const PromptShape shape = Chat(200, 1500);
  PlacementInput input{shape, kPiece};
  input.snapshot_bytes = 100;
  input.bytes_budget = 3500;
  const auto placements = Placed(input);
  EXPECT_LE(placements.size(), 35u);
  size_t last = 1000;
  size_t gap_max = 0;
  for (const Placement& placement : placements) {
    if (placement.position <= last) continue;
    gap_max = std::max(gap_max, placement.position - last);
    last = placement.position;
  }
  EXPECT_LT(gap_max, shape.tokens / 10);
}

TEST(AutoPlacement, TakesNoTurnsOfAChatNearerThanAMicroBatch) {
  const PromptShape shape = Chat(500, 60);
  const auto placements = Placed({shape, kPiece});
  EXPECT_GT(Count(placements, CheckpointClass::kTurn), 20u);
  for (size_t i = 1; i < placements.size(); ++i) {
    if (placements[i - 1].position > shape.messages_end - 4000) break;
    EXPECT_GE(placements[i].position - placements[i - 1].position, kPiece);
  }
}

TEST(AutoPlacement, TakesFewerNearAnEndThatEveryTurnMovesFar) {
  const auto near_end = [](size_t turns) {
    PromptShape shape;
    shape.header_end = 1000;
    for (size_t i = 0; i < turns; ++i) shape.turns.push_back({1000 + i, false});
    shape.messages_end = 31000;
    shape.tokens = 31005;
    PlacementInput input{shape, kPiece};
    input.snapshot_cost_tokens = 64;
    return CountIn(Placed(input), 29000, 31000);
  };
  EXPECT_LT(near_end(2), near_end(300));
}

TEST(AutoPlacement, InsuresALongPromptByIntervals) {
  PromptShape shape;
  shape.tokens = 200000;
  EXPECT_GT(Count(Placed({shape, kPiece}), CheckpointClass::kInterval), 3u);
  EXPECT_EQ(Count(Placed({shape, kPiece}, {.every_nt_tokens = 0}), CheckpointClass::kInterval), 0u);
}

TEST(AutoPlacement, LearnsWhereToPlaceByDistance) {
  PromptShape shape;
  shape.tokens = 100000;
  const auto policy = std::move(*MakePlacement("auto", {.every_nt_tokens = 1024}));
  PlacementInput input{shape, kPiece};
  input.snapshot_bytes = 1;
  input.bytes_budget = 12;
  const auto before = PlacedBy(*policy, input);
  Divergence divergence;
  divergence.stored_tokens = 200000;
  divergence.diverged_at = 200000 - 20000;
  for (int i = 0; i < 300; ++i) policy->Learn(divergence);
  const auto after = PlacedBy(*policy, input);
  // Distances of 16,384 to 32,768 are one bucket.
  EXPECT_GT(CountIn(after, 67000, 84000), CountIn(before, 67000, 84000) + 3);
}

TEST(AutoPlacement, LearnsWhichMessagesAreEdited) {
  const PromptShape shape = Session(60);
  const auto policy = std::move(*MakePlacement("auto"));
  PlacementInput input{shape, kPiece};
  input.snapshot_bytes = 1;
  input.bytes_budget = 12;
  const size_t turn = shape.turns[shape.turns.size() - 1 - 12].position;
  EXPECT_EQ(CountIn(PlacedBy(*policy, input), turn, turn + 1), 0u);
  Divergence divergence;
  divergence.stored_tokens = 90000;
  divergence.diverged_at = 70000;
  divergence.diverged_in = DivergedIn::kTool;
  for (divergence.turns_from_end = 8; divergence.turns_from_end < 16; ++divergence.turns_from_end) {
    for (int i = 0; i < 40; ++i) policy->Learn(divergence);
  }
  const auto placements = PlacedBy(*policy, input);
  EXPECT_TRUE(Has(placements, {turn, CheckpointClass::kToolTurn}));
}

// A tool that is called again says more: bench-peers' `tool-messages` prefilled the call again too.
TEST(AutoPlacement, PlacesOneBeforeTheLastToolResultUnlessThePromptResumesNearIt) {
  const PromptShape shape = Session(3);
  const size_t last = shape.turns.back().position;
  PlacementInput input{shape, kPiece};
  input.resumed_tokens = last - 64;
  EXPECT_TRUE(Has(Placed(input), {last, CheckpointClass::kToolTurn}));
  input.resumed_tokens = last - 63;
  input.snapshot_cost_tokens = 0.2;
  EXPECT_FALSE(Has(Placed(input), {last, CheckpointClass::kToolTurn}));
}

TEST(AutoPlacement, GoesByWhatTheOthersOfItsListDoNotKnow) {
  const PromptShape shape = Session(10);
  std::vector<Placement> both;
  (*MakePlacement("auto,every-nb", {.batch_tokens = kPiece}))->Place({shape, kPiece}, &both);
  EXPECT_EQ(both.size(), Placed({shape, kPiece}).size() + shape.tokens / (3 * kPiece));
}

// A shape that a chat layer could make, in any proportion, and some that none should make.
PromptShape RandomShape(std::mt19937_64* random) {
  const auto below = [random](size_t bound) { return bound == 0 ? 0 : (*random)() % bound; };
  PromptShape shape;
  shape.tokens = below(4) == 0 ? below(10) : below(60000);
  shape.header_end = below(shape.tokens + 1);
  size_t position = shape.header_end;
  while (position < shape.tokens && shape.turns.size() < 40) {
    shape.turns.push_back({position, below(2) == 0});
    shape.eog_ends.push_back(position);
    const size_t begin = position + below(50);
    position = begin + 1 + below(3000);
    if (position <= shape.tokens && below(2) == 0) shape.reasoning.push_back({begin, position});
    position += below(3000);
  }
  if (below(3) != 0) shape.messages_end = shape.tokens - below(std::min<size_t>(shape.tokens, 9));
  if (below(3) != 0) shape.query_end = below(shape.tokens + 1);
  for (size_t i = below(6); i > 0; --i) shape.marks.push_back({below(shape.tokens + 100)});
  return shape;
}

TEST(EveryPlacement, StaysInThePromptOnTheGridAndOutOfReasoning) {
  std::vector<std::string> names{"auto,near-end,eog"};
  for (const PolicySummary& policy : PlacementSummaries()) names.emplace_back(policy.name);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const PromptShape shape = RandomShape(&random);
    PlacementInput input{shape, 1 + random() % 2048};
    input.cuts = {size_t{1} << random() % 9, shape.tokens};
    input.resumed_tokens = random() % 2 == 0 ? 0 : random() % (shape.tokens + 1);
    input.diverged_at = random() % (shape.tokens + 1);
    for (const std::string& name : names) {
      std::vector<Placement> placements;
      (*MakePlacement(name))->Place(input, &placements);
      for (const Placement& placement : placements) {
        SCOPED_TRACE(name + ", seed " + std::to_string(seed));
        EXPECT_GT(placement.position, 0u);
        EXPECT_LE(placement.position, shape.tokens);
        EXPECT_TRUE(input.cuts.Has(placement.position));
        for (const ReasoningRange& range : shape.reasoning) {
          EXPECT_FALSE(range.begin < placement.position && placement.position < range.end);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cairn::placement_auto_test
