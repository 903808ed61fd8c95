#include "testing/engine/fake_engine.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace cairn::fake_engine_test {
namespace {

constexpr SeqId kSeq = 0;

Tokens Counting(size_t n) {
  Tokens tokens(n);
  std::iota(tokens.begin(), tokens.end(), 0);
  for (Token& token : tokens) token %= 256;
  return tokens;
}

std::vector<float> Read(FakeEngine* engine, size_t from, const Tokens& tokens, size_t to) {
  EXPECT_TRUE(engine->Decode(kSeq, from, TokenSpan(tokens).subspan(from, to - from)));
  return {engine->Logits().begin(), engine->Logits().end()};
}

class FakeEngineTest : public ::testing::TestWithParam<MemoryClass> {
 protected:
  FakeEngineOptions Options() const {
    FakeEngineOptions options;
    options.memory_class = GetParam();
    return options;
  }
};

TEST_P(FakeEngineTest, CutsOnTheGridLeaveTheLogitsUnchanged) {
  const Tokens tokens = Counting(200);
  FakeEngine whole(Options());
  Read(&whole, 0, tokens, 192);
  FakeEngine cut(Options());
  Read(&cut, 0, tokens, 64);
  Read(&cut, 64, tokens, 192);
  EXPECT_EQ(Read(&cut, 192, tokens, 200), Read(&whole, 192, tokens, 200));
}

TEST_P(FakeEngineTest, CutsOffTheGridChangeTheLogits) {
  const Tokens tokens = Counting(200);
  FakeEngine whole(Options());
  Read(&whole, 0, tokens, 192);
  FakeEngine cut(Options());
  Read(&cut, 0, tokens, 70);
  Read(&cut, 70, tokens, 192);
  EXPECT_NE(Read(&cut, 192, tokens, 200), Read(&whole, 192, tokens, 200));
}

TEST_P(FakeEngineTest, ASnapshotReturnsToItsPosition) {
  const Tokens tokens = Counting(400);
  FakeEngine engine(Options());
  Read(&engine, 0, tokens, 128);
  const Bytes snapshot = *engine.TakeSnapshot(kSeq);
  const std::vector<float> straight = Read(&engine, 128, tokens, 320);
  ASSERT_TRUE(engine.Restore(kSeq, 128, snapshot));
  EXPECT_EQ(Read(&engine, 128, tokens, 320), straight);
}

TEST_P(FakeEngineTest, TruncatesOnlyWhereTheClassCan) {
  const Tokens tokens = Counting(400);
  FakeEngine engine(Options());
  Read(&engine, 0, tokens, 400);
  EXPECT_EQ(engine.CanTruncate(kSeq, 128), GetParam() == MemoryClass::kAttention);
  EXPECT_TRUE(engine.CanTruncate(kSeq, 400));
  EXPECT_TRUE(engine.CanTruncate(kSeq, 0));
}

TEST_P(FakeEngineTest, AStateOfTwoComputationsIsCounted) {
  if (GetParam() == MemoryClass::kRecurrent) return;  // its snapshot is the whole state
  const Tokens tokens = Counting(200);
  FakeEngine engine(Options());
  for (const SeqId seq : {1, 2}) {
    const size_t cut = seq == 1 ? 90 : 100;  // neither is on the grid
    ASSERT_TRUE(engine.Decode(seq, 0, TokenSpan(tokens).first(cut)));
    ASSERT_TRUE(engine.Decode(seq, cut, TokenSpan(tokens).subspan(cut, 150 - cut)));
  }
  for (const SeqId behind : {1, 2}) {
    const Bytes front = *engine.TakeSegment(1, 0, 120);
    const Bytes back = *engine.TakeSegment(behind, 120, 150);
    const Bytes snapshot = *engine.TakeSnapshot(behind);
    const std::array<SegmentPart, 2> parts = {SegmentPart{0, 120, front},
                                              SegmentPart{120, 150, back}};
    ASSERT_TRUE(engine.Assemble(kSeq, 0, parts, 150, snapshot));
    Read(&engine, 150, tokens, 160);
    EXPECT_EQ(engine.mixed_states(), behind == 1 ? 0u : 1u);
    engine.Clear(kSeq);
  }
}

TEST_P(FakeEngineTest, AFailedDecodeLeavesTheSequenceEmpty) {
  const Tokens tokens = Counting(64);
  FakeEngine engine(Options());
  Read(&engine, 0, tokens, 10);
  engine.FailNextDecodes(1);
  EXPECT_EQ(engine.Decode(kSeq, 10, TokenSpan(tokens).subspan(10)).error().code,
            ErrorCode::kInternal);
  EXPECT_TRUE(engine.Decode(kSeq, 0, tokens));
}

INSTANTIATE_TEST_SUITE_P(AllClasses, FakeEngineTest,
                         ::testing::Values(MemoryClass::kAttention, MemoryClass::kSlidingWindow,
                                           MemoryClass::kRecurrent, MemoryClass::kHybrid),
                         [](const auto& param_info) {
                           std::string name(MemoryClassName(param_info.param));
                           std::erase(name, '-');
                           return name;
                         });

TEST(FakeEngine, SpecialTextIsATokenOnlyWhenAsked) {
  const FakeEngine engine(FakeEngineOptions{});
  EXPECT_EQ(engine.Tokenize("<|im_end|>", false, true)->size(), 1u);
  EXPECT_EQ(engine.Tokenize("<|im_end|>", false, false)->size(), 10u);
}

TEST(FakeEngine, HoldsNothingAfterSleepingAndCannotBeUsedBefore) {
  FakeEngine engine(FakeEngineOptions{});
  const Tokens tokens(10, 'x');
  ASSERT_TRUE(engine.Decode(0, 0, tokens).has_value());
  ASSERT_TRUE(engine.Sleep().has_value());
  EXPECT_DEATH(static_cast<void>(engine.Decode(0, 0, tokens)), "asleep_");
  EXPECT_EQ(engine.Tokenize("abc", false, false)->size(), 3u);
  engine.FailNextWakes(1);
  EXPECT_FALSE(engine.Wake().has_value());
  ASSERT_TRUE(engine.Wake().has_value());
  EXPECT_TRUE(engine.Decode(0, 0, tokens).has_value());
}

}  // namespace
}  // namespace cairn::fake_engine_test
