#include "sched/slots/saved_slot.h"

#include <gtest/gtest.h>

#include <utility>

namespace cairn {
namespace {

constexpr bool kNeedsSnapshots = true;

// Tokens 0, 1, 2 …
Tokens Count(size_t n) {
  Tokens tokens(n);
  for (size_t i = 0; i < n; ++i) tokens[i] = static_cast<Token>(i);
  return tokens;
}

LoadedObject Segment(const Tokens& tokens, size_t begin, LineageId lineage = 0,
                     const LoadedObject* parent = nullptr) {
  LoadedObject object;
  object.header.kind = ObjectKind::kSegment;
  object.header.tokens = tokens;
  object.header.begin = begin;
  object.header.lineage = lineage;
  if (parent != nullptr) object.header.parent = NameOf(parent->header);
  object.payload = Bytes(tokens.size() - begin, 1);
  return object;
}

LoadedObject Snapshot(const Tokens& tokens, LineageId lineage = 0, size_t logits_bytes = 0) {
  LoadedObject object;
  object.header.tokens = tokens;
  object.header.lineage = lineage;
  object.header.checkpoint_class = static_cast<uint8_t>(CheckpointClass::kTurn);
  object.header.logits_bytes = logits_bytes;
  object.payload = Bytes(10 + logits_bytes, 2);
  return object;
}

std::string WhyNot(std::vector<LoadedObject> objects, bool needs_snapshots) {
  const auto saved = ToSavedSlot(std::move(objects), needs_snapshots);
  if (saved) return "";
  EXPECT_EQ(saved.error().code, ErrorCode::kCorrupt);
  return saved.error().message;
}

TEST(SavedSlot, IsThePathFromItsBeginToItsDeepestState) {
  const LoadedObject first = Segment(Count(100), 0);
  LoadedObject second = Segment(Count(180), 100, 7, &first);
  second.header.answers = {{120, 150}};
  const auto saved =
      ToSavedSlot({Snapshot(Count(64)), Snapshot(Count(160), 7), second, first}, kNeedsSnapshots);
  ASSERT_TRUE(saved.has_value()) << saved.error().message;
  EXPECT_EQ(saved->tokens, Count(160));
  ASSERT_EQ(saved->parts.size(), 2u);
  EXPECT_EQ(saved->parts[1].begin, 100u);
  EXPECT_EQ(saved->parts[1].end, 160u);
  EXPECT_EQ(saved->provenance.clean, 100u);
  EXPECT_EQ(saved->provenance.runs, (std::vector<cairn::Run>{{7, 100}}));
  EXPECT_EQ(saved->provenance.answers, (std::vector<TokenRange>{{120, 150}}));
  EXPECT_EQ(saved->end_state, Bytes(10, 2));
  ASSERT_EQ(saved->checkpoints.size(), 1u) << "the end is the slot's";
  EXPECT_EQ(saved->checkpoints[0].what.position, 64u);
  EXPECT_EQ(saved->checkpoints[0].what.checkpoint_class, CheckpointClass::kTurn);
}

// As `cairn cache export` writes it, where two conversations share their beginning.
TEST(SavedSlot, TakesTheFrontOfASegmentThatAnotherBeginsIn) {
  Tokens other = Count(60);
  other.resize(100, 999);
  const LoadedObject shared = Segment(other, 0);
  const LoadedObject own = Segment(Count(120), 60, 0, &shared);
  const auto saved = ToSavedSlot({shared, own}, !kNeedsSnapshots);
  ASSERT_TRUE(saved.has_value()) << saved.error().message;
  EXPECT_EQ(saved->tokens, Count(120));
  EXPECT_EQ(saved->parts[0].end, 60u);
  EXPECT_EQ(saved->parts[0].bytes.size(), 100u);
  EXPECT_EQ(saved->provenance.clean, 120u);
}

TEST(SavedSlot, KeepsTheLogitsOfAnEndForTheCacheAlone) {
  const auto saved =
      ToSavedSlot({Segment(Count(100), 0), Snapshot(Count(100), 0, 40)}, kNeedsSnapshots);
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->end_state.size(), 10u);
  ASSERT_EQ(saved->checkpoints.size(), 1u);
  EXPECT_EQ(saved->checkpoints[0].bytes.size(), 50u);
  EXPECT_EQ(saved->checkpoints[0].what.logits_bytes, 40u);
}

TEST(SavedSlot, LeavesOutStatesOfOtherBits) {
  const LoadedObject segment = Segment(Count(100), 0);
  Tokens other = Count(50);
  other.back() = 999;
  const auto saved = ToSavedSlot(
      {segment, Snapshot(other), Snapshot(Count(64), 8), Snapshot(Count(96))}, kNeedsSnapshots);
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->tokens.size(), 96u);
  EXPECT_TRUE(saved->checkpoints.empty());
}

TEST(SavedSlot, OfARecurrentModelIsItsDeepestState) {
  const auto saved = ToSavedSlot(
      {Snapshot(Count(64)), Snapshot(Count(100), 7), Snapshot(Count(80), 6)}, kNeedsSnapshots);
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->tokens.size(), 100u);
  EXPECT_EQ(saved->provenance.runs, (std::vector<cairn::Run>{{7, 0}}));
  ASSERT_EQ(saved->checkpoints.size(), 1u);
  EXPECT_EQ(saved->checkpoints[0].what.position, 64u);
}

TEST(SavedSlot, SaysWhatIsMissing) {
  const LoadedObject first = Segment(Count(100), 0);
  const LoadedObject second = Segment(Count(180), 100, 0, &first);
  EXPECT_NE(WhyNot({}, false).find("no conversation"), std::string::npos);
  EXPECT_NE(WhyNot({second}, false).find("before 100 is not in it"), std::string::npos);
  EXPECT_NE(WhyNot({Segment(Count(180), 100)}, false).find("does not begin at 0"),
            std::string::npos);
  EXPECT_NE(WhyNot({first}, kNeedsSnapshots).find("no state"), std::string::npos);
  const LoadedObject run = Segment(Count(100), 0, 5);
  EXPECT_NE(WhyNot({run, Segment(Count(180), 100, 0, &run)}, false).find("is not in it"),
            std::string::npos)
      << "nothing comes back to the grid";
  LoadedObject strange = Snapshot(Count(100));
  strange.header.checkpoint_class = 200;
  EXPECT_NE(WhyNot({first, strange}, kNeedsSnapshots).find("unknown class"), std::string::npos);
}

}  // namespace
}  // namespace cairn
