#include "engine/grid_probe.h"

#include <gtest/gtest.h>

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

TEST(GridProbe, SaysWhenTimeRanOut) {
  const GridProbe probe = Probe(64, {-1, true});
  EXPECT_FALSE(probe.finished);
  EXPECT_EQ(probe.grid_tokens, 0u);
}

}  // namespace
}  // namespace cairn
