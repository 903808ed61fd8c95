#include "engine/llama/proof/device_proof.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "testing/engine/fake_engine.h"

namespace cairn {
namespace {

FakeEngineOptions WithMemory(MemoryClass memory_class) {
  FakeEngineOptions options;
  options.memory_class = memory_class;
  return options;
}

// A device whose logits are not those of the engine alone.
class FakeDevice : public FakeEngine {
 public:
  explicit FakeDevice(const FakeEngineOptions& options = {}) : FakeEngine(options) {}

  Status Decode(SeqId seq, size_t position, TokenSpan tokens) override {
    ++decodes_;
    largest_chunk_ = std::max(largest_chunk_, tokens.size());
    return FakeEngine::Decode(seq, position, tokens);
  }
  std::span<const float> LogitsOf(size_t index) const override {
    const auto logits = FakeEngine::LogitsOf(index);
    shown_.assign(logits.begin(), logits.end());
    shown_.front() += Error();
    return shown_;
  }
  size_t largest_chunk() const { return largest_chunk_; }

 protected:
  // What is added to a logit.
  virtual float Error() const { return 0; }
  int decodes_ = 0;

 private:
  size_t largest_chunk_ = 0;
  mutable std::vector<float> shown_;
};

class OtherAfterSegments : public FakeDevice {
 public:
  using FakeDevice::FakeDevice;
  Status Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> parts, size_t position,
                  std::optional<ByteSpan> snapshot) override {
    is_assembled_ = true;
    return FakeDevice::Assemble(seq, keep, parts, position, snapshot);
  }
  void Clear(SeqId seq) override {
    is_assembled_ = false;
    FakeDevice::Clear(seq);
  }

 private:
  float Error() const override { return is_assembled_ ? 1.0F : 0.0F; }
  bool is_assembled_ = false;
};

class OtherEachTime : public FakeDevice {
 public:
  using FakeDevice::FakeDevice;

 private:
  float Error() const override { return static_cast<float>(decodes_); }
};

DeviceProof ProofOn(FakeEngine* engine) {
  Tokens tokens(DeviceProof::TokenCount(*engine));
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<Token>('a' + i % 23);
  return {engine, 0, std::move(tokens)};
}

TEST(DeviceProof, FindsNoFaultWhereEachStateGoesOnAsBefore) {
  for (const MemoryClass memory : {MemoryClass::kAttention, MemoryClass::kSlidingWindow,
                                   MemoryClass::kRecurrent, MemoryClass::kHybrid}) {
    for (const bool segments : {true, false}) {
      SCOPED_TRACE(MemoryClassName(memory));
      FakeEngineOptions options = WithMemory(memory);
      options.segments = segments;
      FakeEngine engine(options);
      DeviceProof proof = ProofOn(&engine);
      const auto found = proof.Run();
      ASSERT_TRUE(found.has_value()) << found.error().message;
      EXPECT_EQ(found->complaint, "");
      EXPECT_EQ(proof.ColdHash().value(), found->hash);
      EXPECT_TRUE(engine.Decode(0, 0, Tokens{1, 2, 3})) << "the sequence is empty again";
    }
  }
}

TEST(DeviceProof, DecodesAChunkOfFullSizeOrAsMuchAsTheContextTakes) {
  FakeEngineOptions options;
  options.chunk_tokens_max = 320;
  FakeDevice roomy(options);
  ASSERT_TRUE(ProofOn(&roomy).Run());
  EXPECT_EQ(roomy.largest_chunk(), 320u);
  options.context_tokens = 200;
  FakeDevice small(options);
  ASSERT_TRUE(ProofOn(&small).Run());
  EXPECT_EQ(small.largest_chunk(), 177u);
}

TEST(DeviceProof, HasAnotherHashWhereTheLogitsOfTheChunkDiffer) {
  FakeEngineOptions options;
  FakeEngine one(options);
  options.seed = 2;
  FakeEngine other(options);
  EXPECT_NE(ProofOn(&one).ColdHash().value(), ProofOn(&other).ColdHash().value());
}

TEST(DeviceProof, NamesTheWayOfRestoringThatGivesOtherLogits) {
  OtherAfterSegments engine(WithMemory(MemoryClass::kHybrid));
  const auto found = ProofOn(&engine).Run();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->complaint,
            "after a segment of a chunk of 512 tokens the logits are not those of an "
            "uninterrupted run");
}

TEST(DeviceProof, SaysWhenTheDeviceNeverGivesTheSameLogits) {
  OtherEachTime engine;
  const auto found = ProofOn(&engine).Run();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->complaint, "two cold runs of a chunk of 512 tokens have different logits");
}

TEST(DeviceProof, ComplainsOfAStateThatIsRefused) {
  FakeEngine engine(WithMemory(MemoryClass::kHybrid));
  engine.RefuseNextStates(1);
  const auto found = ProofOn(&engine).Run();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->complaint.find("after a snapshot: "), 0u) << found->complaint;
}

TEST(DeviceProof, PassesOnTheErrorOfADecode) {
  FakeEngine engine(WithMemory(MemoryClass::kHybrid));
  engine.FailNextDecodes(1);
  EXPECT_FALSE(ProofOn(&engine).Run().has_value());
}

}  // namespace
}  // namespace cairn
