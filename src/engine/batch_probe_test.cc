#include "engine/batch_probe.h"

#include <gtest/gtest.h>

#include "testing/engine/fake_engine.h"

namespace cairn {
namespace {

// An engine in which tokens that are decoded with at least two others have other logits.
class MixingEngine final : public FakeEngine {
 public:
  using FakeEngine::FakeEngine;
  Status DecodeEach(std::span<const NextToken> tokens) override {
    mixes_ = tokens.size() >= 3;
    return FakeEngine::DecodeEach(tokens);
  }
  std::span<const float> LogitsOf(size_t index) const override {
    const std::span<const float> row = FakeEngine::LogitsOf(index);
    mixed_.assign(row.begin(), row.end());
    if (mixes_) mixed_.front() += 1;
    return mixed_;
  }

 private:
  bool mixes_ = false;
  mutable std::vector<float> mixed_;
};

TEST(FindBatchDifference, IsZeroWhereTokensDoNotSeeEachOther) {
  FakeEngine engine(FakeEngineOptions{});
  EXPECT_EQ(*FindBatchDifference(&engine, 16), 0u);
}

TEST(FindBatchDifference, IsTheLeastNumberOfTokensThatChangesABit) {
  MixingEngine engine(FakeEngineOptions{});
  EXPECT_EQ(*FindBatchDifference(&engine, 16), 3u);
  EXPECT_EQ(*FindBatchDifference(&engine, 2), 0u);
}

TEST(FindBatchDifference, ReturnsTheEnginesErrors) {
  FakeEngine engine(FakeEngineOptions{});
  engine.FailNextDecodes(1);
  EXPECT_EQ(FindBatchDifference(&engine, 4).error().code, ErrorCode::kInternal);
}

// An engine in which the second sequence of a call gets the logits of the first.
class MixedUpEngine final : public FakeEngine {
 public:
  using FakeEngine::FakeEngine;
  std::span<const float> LogitsOf(size_t index) const override {
    return FakeEngine::LogitsOf(index == 1 ? 0 : index);
  }
};

FakeEngineOptions TwoSlots() {
  FakeEngineOptions options;
  options.slots = 2;
  return options;
}

TEST(MixesUpSequences, SaysWhetherASequenceHasTheLogitsOfAnother) {
  FakeEngine engine(TwoSlots());
  EXPECT_EQ(MixesUpSequences(&engine), false);
  MixedUpEngine mixed(TwoSlots());
  EXPECT_EQ(MixesUpSequences(&mixed), true);
}

// An engine whose chunks of 32 tokens have the logits of another text.
class WrongChunkEngine final : public FakeEngine {
 public:
  using FakeEngine::FakeEngine;
  Status Decode(SeqId seq, size_t position, TokenSpan tokens) override {
    const Tokens others(tokens.size(), tokens.front());
    return FakeEngine::Decode(seq, position, tokens.size() < 32 ? tokens : TokenSpan(others));
  }
};

FakeEngineOptions ShortGrid() {
  FakeEngineOptions options;
  options.grid_tokens = 16;
  return options;
}

TEST(MixesUpTokens, SaysWhetherALongChunkHasOtherLogitsThanShortOnes) {
  FakeEngine engine(ShortGrid());
  EXPECT_EQ(MixesUpTokens(&engine), false);
  WrongChunkEngine wrong(ShortGrid());
  EXPECT_EQ(MixesUpTokens(&wrong), true);
}

TEST(MixesUpTokens, ReturnsTheEnginesErrors) {
  FakeEngine engine(ShortGrid());
  engine.FailNextDecodes(1);
  EXPECT_FALSE(MixesUpTokens(&engine).has_value());
}

TEST(MixesUpSequences, ReturnsTheEnginesErrors) {
  FakeEngine engine(TwoSlots());
  engine.FailNextDecodes(1);
  EXPECT_FALSE(MixesUpSequences(&engine).has_value());
}

}  // namespace
}  // namespace cairn
