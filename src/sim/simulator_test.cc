#include "sim/simulator.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "base/clock.h"
#include "engine/fake_engine.h"
#include "sched/scheduler.h"

namespace cairn {
namespace {

constexpr size_t kBlockTokens = 64;

TraceRequest Request(const std::vector<BlockRange>& blocks, size_t more_tokens = 0) {
  TraceRequest request;
  request.blocks = blocks;
  request.input_tokens = more_tokens;
  for (const BlockRange& range : blocks) {
    request.input_tokens += (range.last - range.first + 1) * kBlockTokens;
  }
  request.shape.tokens = request.input_tokens;
  request.shape.messages_end = request.input_tokens;
  return request;
}

// A session whose requests come a second apart.
Trace OneSession(const std::vector<TraceRequest>& requests) {
  Trace trace;
  trace.block_tokens = kBlockTokens;
  trace.sessions.push_back({"one", requests});
  for (size_t i = 0; i < requests.size(); ++i) {
    trace.sessions[0].requests[i].at_ms = 1000.0 * static_cast<double>(i);
  }
  return trace;
}

SimOptions Options(const char* profile = "qwen3.5-4b") {
  SimOptions options;
  options.profile = *FindModelProfile(profile);
  options.cache.ram_bytes_max = SIZE_MAX;
  return options;
}

// By hand: the second prompt goes on from the first's last whole block, 16 of its 20; the third
// parts after 8 blocks, where nothing stands but the ladder's rungs at 16 - 2 and 16 - 4, -8
// blocks.
TEST(Simulator, CountsATraceAsItIsCountedByHand) {
  const Trace trace = OneSession({Request({{1, 16}}, 10), Request({{1, 16}, {40, 43}}, 10)});
  const auto report = Simulate(Interleave(trace, 0), kBlockTokens, Options());
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->requests, 2u);
  EXPECT_EQ(report->prompt_tokens, 16u * 64 + 10 + 20 * 64 + 10);
  EXPECT_EQ(report->reused_tokens, 16u * 64);
  EXPECT_EQ(report->shared_tokens, 16u * 64);
  EXPECT_EQ(report->wait_ms.size(), 2u);
  // 1,034 tokens at 6,000 a second, and what the checkpoints take.
  EXPECT_GT(report->wait_ms[0], 172);
  EXPECT_LT(report->wait_ms[0], 250);
}

TEST(Simulator, WithoutACacheOnlySlotsAreGoneOnFrom) {
  SimOptions options = Options();
  options.placement = "none";
  options.keep_ends = false;
  options.cache.ram_bytes_max = 0;
  const Trace trace = OneSession({Request({{1, 16}}), Request({{1, 16}, {40, 43}})});
  const auto report = Simulate(Interleave(trace, 0), kBlockTokens, options);
  // A whole prompt's end is on the grid here, so the second goes on from the slot.
  EXPECT_EQ(report->reused_tokens, 16u * 64);
  EXPECT_EQ(report->checkpoints_taken, 0u);
}

TEST(Simulator, ATooLongRequestIsCountedAndRefused) {
  SimOptions options = Options();
  options.context_tokens = 512;
  const Trace trace = OneSession({Request({{1, 16}}), Request({{1, 2}})});
  const auto report = Simulate(Interleave(trace, 0), kBlockTokens, options);
  EXPECT_EQ(report->refused, 1u);
  EXPECT_EQ(report->prompt_tokens, 128u);
}

TEST(Simulator, HoldsTheBudgetThatItIsGiven) {
  SimOptions options = Options();
  options.cache.ram_bytes_max = size_t{300} << 20;
  std::vector<TraceRequest> requests;
  for (uint32_t i = 0; i < 40; ++i) requests.push_back(Request({{i * 100, i * 100 + 30}}));
  const Trace trace = OneSession(requests);
  const auto report = Simulate(Interleave(trace, 0), kBlockTokens, options);
  EXPECT_LE(report->held_bytes_max, size_t{300} << 20);
  EXPECT_GT(report->held_bytes_max, size_t{100} << 20);
  EXPECT_GT(report->checkpoints_evicted, 0u);
}

// Prompts that grow, part and come back.
Trace RandomTrace(uint32_t seed, size_t requests_count) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  std::vector<std::vector<BlockRange>> prompts;
  std::vector<TraceRequest> requests;
  uint32_t next_id = 0;
  for (size_t i = 0; i < requests_count; ++i) {
    std::vector<BlockRange> blocks;
    if (!prompts.empty() && below(5) > 0) {
      const auto& from = prompts[below(static_cast<uint32_t>(prompts.size()))];
      for (const BlockRange& range : from) {
        if (below(6) == 0) break;
        blocks.push_back(range);
      }
    }
    const uint32_t more = 1 + below(6);
    blocks.push_back({next_id, next_id + more - 1});
    next_id += more;
    prompts.push_back(blocks);
    requests.push_back(Request(blocks, below(kBlockTokens)));
  }
  return OneSession(requests);
}

// The same requests to the same scheduler and cache, with an engine that computes.
uint64_t ServedReadTokens(const std::vector<TraceStep>& steps, const SimOptions& options) {
  FakeEngineOptions fake;
  fake.slots = options.slots;
  fake.context_tokens = fake.cells = options.context_tokens;
  FakeEngine engine(fake);
  ManualClock clock;
  CheckpointCache cache(options.cache, *MakePlacement(options.placement),
                        *MakeEviction(options.eviction), MakeRamStore());
  Scheduler scheduler(&engine, &cache, &clock, {});
  Token unique = INT32_MAX;
  uint64_t read = 0;
  for (const TraceStep& step : steps) {
    GenerationRequest request;
    request.prompt = PromptOf(*step.request, kBlockTokens, &unique);
    request.shape = step.request->shape;
    request.params.tokens_max = 0;
    const auto generation = *scheduler.Submit(std::move(request));
    while (scheduler.Step()) {
    }
    while (const auto event = generation->Next(std::chrono::milliseconds(0))) {
      if (event->kind == GenerationEvent::Kind::kDone) read += event->cost.read_tokens();
    }
  }
  return read;
}

TEST(Simulator, ReadsWhatAServerReadsOnTheSameRequests) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const Trace trace = RandomTrace(seed, 40);
    const auto steps = Interleave(trace, 0);
    SimOptions options = Options();
    options.context_tokens = 1 << 16;
    options.slots = 1 + seed % 3;
    // Nothing takes time, as on FakeEngine's clock, which stands still.
    options.profile.read_tokens_per_s = 1e18;
    options.profile.move_bytes_per_s = 1e30;
    const auto report = Simulate(steps, kBlockTokens, options);
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->read_tokens(), ServedReadTokens(steps, options)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cairn
