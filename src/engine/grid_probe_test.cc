#include "engine/grid_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "testing/engine/fake_engine.h"

namespace cairn {
namespace {

GridProbe Probe(size_t grid_tokens, const GridProbeOptions& probe_options) {
  FakeEngineOptions options;
  options.grid_tokens = grid_tokens;
  FakeEngine engine(options);
  const SteadyClock clock;
  return ProbeGrid(&engine, 0, clock, probe_options);
}

TEST(GridProbe, FindsTheSmallestGridOfAnEngine) {
  for (const size_t grid : {1, 16, 32, 64, 128, 256}) {
    const GridProbe probe = Probe(grid, {1e9, true});
    EXPECT_EQ(probe.grid_tokens, grid);
    EXPECT_TRUE(probe.finished);
  }
}

TEST(GridProbe, AtAStartItIsContentWithTheUsualGrid) {
  EXPECT_EQ(Probe(16, {1e9, false}).grid_tokens, 64u);
  EXPECT_EQ(Probe(128, {1e9, false}).grid_tokens, 128u);
  EXPECT_LT(Probe(16, {1e9, false}).tokens_read, 3000u);
}

TEST(GridProbe, SaysWhetherTheGridHoldsBetweenBoundaries) {
  EXPECT_TRUE(Probe(1, {1e9, false}).at_messages);
  EXPECT_FALSE(Probe(64, {1e9, false}).at_messages) << "this engine counts from 0 alone";
}

TEST(GridProbe, SaysWhenThereIsNone) {
  const GridProbe probe = Probe(512, {1e9, true});
  EXPECT_EQ(probe.grid_tokens, 0u);
  EXPECT_TRUE(probe.finished);
}

// Its logits are never the same again.
class RestlessEngine : public FakeEngine {
 public:
  explicit RestlessEngine(const FakeEngineOptions& options) : FakeEngine(options) {}
  std::span<const float> LogitsOf(size_t index) const override {
    const std::span<const float> row = FakeEngine::LogitsOf(index);
    logits_.assign(row.begin(), row.end());
    logits_.front() += static_cast<float>(++calls_);
    return logits_;
  }

 private:
  mutable std::vector<float> logits_;
  mutable int calls_ = 0;
};

TEST(GridProbe, SaysThatThereIsNoneWhereLargerCandidatesDoNotFit) {
  const SteadyClock clock;
  FakeEngineOptions options;
  options.chunk_tokens_max = 128;
  RestlessEngine engine(options);
  const GridProbe probe = ProbeGrid(&engine, 0, clock, {1e9, false});
  EXPECT_EQ(probe.grid_tokens, 0u);
  EXPECT_TRUE(probe.finished);
  options.chunk_tokens_max = 32;
  RestlessEngine tiny(options);
  EXPECT_FALSE(ProbeGrid(&tiny, 0, clock, {1e9, false}).finished) << "nothing was tried";
}

TEST(GridSearch, FindsInStepsOfOneChunkWhatTheProbeFindsInOneGo) {
  FakeEngineOptions options;
  options.grid_tokens = 128;
  FakeEngine engine(options);
  GridSearch search(&engine, 0, {});
  EXPECT_FALSE(search.result().finished);
  size_t read_before = 0;
  while (search.Step()) {
    EXPECT_LE(search.result().tokens_read - read_before, engine.chunk_tokens_max());
    read_before = search.result().tokens_read;
  }
  EXPECT_TRUE(search.result().finished);
  EXPECT_EQ(search.result().grid_tokens, 128u);
  EXPECT_EQ(search.result().tokens_read, Probe(128, {1e9, false}).tokens_read);
}

// Notes the largest chunk.
class NotingEngine : public FakeEngine {
 public:
  explicit NotingEngine(bool on_device)
      : FakeEngine(FakeEngineOptions{}), traits_(FakeEngine::traits()) {
    traits_.on_device = on_device;
  }
  const MemoryTraits& traits() const override { return traits_; }
  Status Decode(SeqId seq, size_t position, TokenSpan tokens) override {
    largest_chunk_ = std::max(largest_chunk_, tokens.size());
    return FakeEngine::Decode(seq, position, tokens);
  }
  size_t largest_chunk() const { return largest_chunk_; }

 private:
  MemoryTraits traits_;
  size_t largest_chunk_ = 0;
};

TEST(GridProbe, OnADeviceItTriesAChunkOfFullSize) {
  const SteadyClock clock;
  for (const bool on_device : {false, true}) {
    NotingEngine engine(on_device);
    EXPECT_EQ(ProbeGrid(&engine, 0, clock, {1e9, false}).grid_tokens, 64u);
    EXPECT_EQ(engine.largest_chunk() == engine.chunk_tokens_max(), on_device)
        << engine.largest_chunk();
  }
}

TEST(GridProbe, SaysWhenTimeRanOut) {
  const GridProbe probe = Probe(64, {-1, true});
  EXPECT_FALSE(probe.finished);
  EXPECT_EQ(probe.grid_tokens, 0u);
}

}  // namespace
}  // namespace cairn
