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

}  // namespace
}  // namespace cairn
