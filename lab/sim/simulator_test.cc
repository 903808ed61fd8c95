#include "lab/sim/simulator.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "lab/sim/trace_fixture.h"
#include "sched/scheduler.h"
#include "testing/engine/fake_engine.h"

namespace cairn::simulator_test {
namespace {

using test::BlocksRequest;
using test::kBlockTokens;
using test::OneSession;
using test::RandomTraces;

constexpr double kAtOnce = std::numeric_limits<double>::infinity();

SimOptions Options(const char* profile = "qwen3.5-4b") {
  SimOptions options;
  options.profile = *FindModelProfile(profile);
  options.cache.ram_bytes_max = SIZE_MAX;
  return options;
}

// By hand: the second prompt resumes at the end of the first's last full block, 16 of its 20; the
// third diverges after 8 blocks, where the only checkpoints are the ladder's, at 16 - 2, 16 - 4 and
// 16 - 8 blocks.
TEST(Simulator, CountsATraceAsItIsCountedByHand) {
  const Trace trace =
      OneSession({BlocksRequest({{1, 16}}, 10), BlocksRequest({{1, 16}, {40, 43}}, 10)});
  const auto report = Simulate(Interleave(trace, 0), kBlockTokens, Options());
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->requests, 2u);
  EXPECT_EQ(report->prompt_tokens, 16u * 64 + 10 + 20 * 64 + 10);
  EXPECT_EQ(report->reused_tokens, 16u * 64);
  EXPECT_EQ(report->shared_tokens, 16u * 64);
  EXPECT_EQ(report->wait_ms.size(), 2u);
  // 1,034 tokens at 6,000 a second, and the time that checkpoints take.
  EXPECT_GT(report->wait_ms[0], 172);
  EXPECT_LT(report->wait_ms[0], 250);
}

TEST(Simulator, WithoutACacheOnlySlotsAreGoneOnFrom) {
  SimOptions options = Options();
  options.placement = "none";
  options.keep_ends = false;
  options.cache.ram_bytes_max = 0;
  const Trace trace = OneSession({BlocksRequest({{1, 16}}), BlocksRequest({{1, 16}, {40, 43}})});
  const auto report = Simulate(Interleave(trace, 0), kBlockTokens, options);
  // The prompt's end is on the grid here, so the second request resumes from the slot.
  EXPECT_EQ(report->reused_tokens, 16u * 64);
  EXPECT_EQ(report->checkpoints_taken, 0u);
}

TEST(Simulator, ATooLongRequestIsCountedAndRefused) {
  SimOptions options = Options();
  options.context_tokens = 512;
  const Trace trace = OneSession({BlocksRequest({{1, 16}}), BlocksRequest({{1, 2}})});
  const auto report = Simulate(Interleave(trace, 0), kBlockTokens, options);
  EXPECT_EQ(report->refused, 1u);
  EXPECT_EQ(report->prompt_tokens, 128u);
}

TEST(Simulator, HoldsTheBudgetThatItIsGiven) {
  SimOptions options = Options();
  options.cache.ram_bytes_max = size_t{300} << 20;
  std::vector<TraceRequest> requests;
  for (uint32_t i = 0; i < 40; ++i) requests.push_back(BlocksRequest({{i * 100, i * 100 + 30}}));
  const Trace trace = OneSession(requests);
  const auto report = Simulate(Interleave(trace, 0), kBlockTokens, options);
  EXPECT_LE(report->held_bytes_max, size_t{300} << 20);
  EXPECT_GT(report->held_bytes_max, size_t{100} << 20);
  EXPECT_GT(report->checkpoints_evicted, 0u);
}

// With one slot, the second request of A is assembled, which measures the cost of moving. The third
// then cuts the slot's end off. A lost block is not worth a copy of the whole slot and a snapshot,
// if others must be evicted for it.
TEST(Simulator, ASlotIsNotStoredForAShortEndThatItLoses) {
  struct Case {
    uint32_t kept;
    size_t ram_mib;
    uint64_t stored;
  };
  for (const Case& tried : {Case{120, 400, 2}, {118, 400, 3}, {10, 400, 3}, {120, 4000, 3}}) {
    SimOptions options = Options();
    options.slots = 1;
    options.cache.ram_bytes_max = tried.ram_mib << 20;
    const Trace trace = OneSession({BlocksRequest({{1, 120}}), BlocksRequest({{1001, 1016}}),
                                    BlocksRequest({{1, 121}}), BlocksRequest({{1, tried.kept}})});
    const auto report = Simulate(Interleave(trace, 0), kBlockTokens, options);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_EQ(report->offloaded, tried.stored) << tried.kept << " with " << tried.ram_mib;
  }
}

// However cheap prefill is. The two conversations share a short beginning, so the slot keeps a part
// of the first: the server once took that for an edit, and dropped the rest of it.
TEST(Simulator, ASlotIsStoredWhenAnotherConversationTakesItAndKeepsItsFirstTokens) {
  SimOptions options = Options();
  options.slots = 1;
  options.profile.prefill_tokens_per_s *= 1000;
  const Trace trace = OneSession({BlocksRequest({{1, 120}}), BlocksRequest({{1001, 1016}}),
                                  BlocksRequest({{1, 121}}), BlocksRequest({{1, 2}, {501, 600}})});
  const auto report = Simulate(Interleave(trace, 0), kBlockTokens, options);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->offloaded, 3u);
}

// A token's KV takes 32 KiB and a snapshot 48 MiB. The long conversation has 420 MB of KV.
TEST(Simulator, ALongConversationLeavesAShortOneItsPlace) {
  SimOptions options = Options();
  options.slots = 1;
  options.cache.ram_bytes_max = size_t{600} << 20;
  const Trace trace = OneSession({BlocksRequest({{1, 16}}), BlocksRequest({{101, 116}}),
                                  BlocksRequest({{1, 17}}), BlocksRequest({{1001, 1200}}),
                                  BlocksRequest({{1, 18}}), BlocksRequest({{101, 117}})});
  const auto report = Simulate(Interleave(trace, 0), kBlockTokens, options);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->reused_each.back(), 16u * 64);
}

TEST(Simulator, ALongConversationThatIsAloneIsStoredWhole) {
  SimOptions options = Options();
  options.slots = 1;
  options.cache.ram_bytes_max = size_t{600} << 20;
  const Trace trace = OneSession(
      {BlocksRequest({{1001, 1200}}), BlocksRequest({{1, 4}}), BlocksRequest({{1001, 1201}})});
  const auto report = Simulate(Interleave(trace, 0), kBlockTokens, options);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->reused_each.back(), 200u * 64);
}

// Tree nodes and KV are next to nothing against a snapshot of a million bytes.
SimOptions RoomForSnapshots(size_t count) {
  SimOptions options;
  options.profile.memory_class = MemoryClass::kHybrid;
  options.profile.snapshot_bytes = 1'000'000;
  options.profile.kv_bytes_per_token = 1;
  options.profile.prefill_tokens_per_s = options.profile.move_bytes_per_s = kAtOnce;
  options.cache.ram_bytes_max = count * options.profile.snapshot_bytes + 500'000;
  options.placement = "every-nt";
  options.intervals.every_nt_tokens = 512;
  options.eviction = "lru";
  options.reuse = ReuseMode::kExact;
  options.keep_ends = false;
  options.slots = 1;
  return options;
}

// By hand, with memory for two snapshots; the brackets hold them, the least recently used first:
//
//   A   prefills 1,034, leaves A512 and A1024  [A512 A1024]
//   B   prefills 522, leaves B512              [A1024 B512]      A512 is evicted
//   A   from A1024, which is used              [B512 A1024]
//   C   prefills 522, leaves C512              [A1024 C512]      B512 is evicted
//   B   prefills 522, leaves B512              [C512 B512]       A1024 is evicted
//   A   prefills everything
//
// With memory for a third, A512 is the only one evicted before the end.
TEST(Simulator, GivesUpUnderPressureWhatIsGivenUpByHand) {
  const auto a = BlocksRequest({{0, 15}}, 10);
  const auto b = BlocksRequest({{100, 107}}, 10);
  const auto c = BlocksRequest({{200, 207}}, 10);
  const Trace trace = OneSession({a, b, a, c, b, a});
  const auto steps = Interleave(trace, 0);
  const auto two = Simulate(steps, kBlockTokens, RoomForSnapshots(2));
  EXPECT_EQ(two->reused_each, (std::vector<size_t>{0, 0, 1024, 0, 0, 0}));
  const auto three = Simulate(steps, kBlockTokens, RoomForSnapshots(3));
  EXPECT_EQ(three->reused_each, (std::vector<size_t>{0, 0, 1024, 0, 512, 1024}));
  EXPECT_EQ(three->checkpoints_evicted, 1u);
}

// As in the table above, but B512 is saved before C512 evicts it from memory, and is read from
// disk. A512 is saved when it is evicted: until B came, its KV was only in the slot.
TEST(Simulator, ReusesFromDiskWhatLeftMemory) {
  const auto a = BlocksRequest({{0, 15}}, 10);
  const auto b = BlocksRequest({{100, 107}}, 10);
  const auto c = BlocksRequest({{200, 207}}, 10);
  const Trace trace = OneSession({a, b, a, c, b, a});
  const auto steps = Interleave(trace, 0);
  SimOptions options = RoomForSnapshots(2);
  options.profile.prefill_tokens_per_s = 100;
  options.disk = {10'000'000, 1e6};
  const auto report = Simulate(steps, kBlockTokens, options);
  EXPECT_EQ(report->reused_each, (std::vector<size_t>{0, 0, 1024, 0, 512, 1024}));
  EXPECT_EQ(report->checkpoints_evicted, 0u);
  EXPECT_EQ(report->disk_evicted, 0u);
  // A million bytes and a little, in a second and a little; ten tokens take a tenth of a second.
  // `b` comes back into memory, where `c` is too, so `a` is read once more.
  EXPECT_GT(report->disk_read_bytes, 2'000'000u);
  EXPECT_LT(report->disk_read_bytes, 2'020'000u);
  EXPECT_NEAR(report->wait_ms[4], 1100, 10);
  EXPECT_NEAR(report->wait_ms[5], 1100, 10);
}

TEST(Simulator, GivesUpOnDiskWhatIsWorthLeast) {
  std::vector<TraceRequest> requests;
  for (uint32_t i = 0; i < 20; ++i) requests.push_back(BlocksRequest({{i * 100, i * 100 + 7}}, 10));
  const Trace trace = OneSession(requests);
  const auto steps = Interleave(trace, 0);
  SimOptions options = RoomForSnapshots(2);
  options.profile.prefill_tokens_per_s = 100;
  options.disk.bytes_max = 5'100'000;
  const auto report = Simulate(steps, kBlockTokens, options);
  EXPECT_GT(report->checkpoints_evicted, 10u);
  EXPECT_EQ(report->disk_evicted, 0u);  // the cache has made room
  EXPECT_LE(report->disk_written_bytes, 20u * 1'010'000);
}

// Returns the sizes of FakeEngine's states, for the simulator.
ModelProfile ProfileOf(const FakeEngine& engine) {
  ModelProfile profile;
  profile.memory_class = engine.traits().memory_class;
  profile.snapshot_bytes = engine.traits().snapshot_bytes;
  profile.kv_bytes_per_token = engine.traits().kv_bytes_per_token;
  profile.window_tokens = engine.traits().window_tokens;
  profile.logits_bytes = FakeEngine::kVocabSize * sizeof(float);
  // A segment is preceded by its position.
  profile.segment_bytes = sizeof(uint64_t);
  profile.prefill_tokens_per_s = profile.move_bytes_per_s = kAtOnce;
  return profile;
}

// Serves the same requests with the same scheduler and cache, and an engine that computes. Returns
// the reuse of each request, without the refused ones.
std::vector<uint64_t> ServedReused(const std::vector<TraceStep>& steps, const SimOptions& options,
                                   FakeEngine* engine) {
  ManualClock clock;
  CheckpointCache cache(options.cache, *MakePlacement(options.placement, options.intervals),
                        *MakeEviction(options.eviction), MakeRamStore());
  SchedulerOptions scheduling;
  scheduling.reuse = options.reuse;
  scheduling.slots.keep_ends = options.keep_ends;
  Scheduler scheduler(engine, &cache, &clock, scheduling);
  Token unique = INT32_MAX;
  std::vector<uint64_t> reused;
  for (const TraceStep& step : steps) {
    clock.Advance(step.at_ms - clock.NowMs());
    GenerationRequest request;
    request.prompt = PromptOf(*step.request, kBlockTokens, &unique);
    request.shape = step.request->shape;
    request.params.tokens_max = 0;
    const auto generation = scheduler.Submit(std::move(request));
    if (!generation) continue;
    while (scheduler.Step()) {
    }
    while (const auto event = (*generation)->Next(std::chrono::milliseconds(0))) {
      if (event->kind != GenerationEvent::Kind::kDone) continue;
      reused.push_back(event->cost.reused_tokens);
      break;
    }
  }
  return reused;
}

FakeEngineOptions RandomEngine(RandomTraces* random) {
  constexpr std::array kClasses = {MemoryClass::kAttention, MemoryClass::kSlidingWindow,
                                   MemoryClass::kRecurrent, MemoryClass::kHybrid};
  FakeEngineOptions fake;
  fake.memory_class = kClasses[random->Below(kClasses.size())];
  fake.slots = random->Between(1, 3);
  fake.context_tokens = fake.cells = random->Between(700, 3000);
  fake.chunk_tokens_max = 64 * random->Between(1, 8);
  fake.window_tokens = random->Between(16, 160);
  fake.recurrent_bytes = 8 * random->Between(1, 500);
  return fake;
}

TEST(Simulator, ReusesWhatAServerReusesOnTheSameRequestsWithTheSameBytes) {
  const auto pairs = test::AllPolicyPairs();
  uint64_t evicted = 0;
  uint64_t reused = 0;
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    RandomTraces random(seed);
    const Trace trace = random.Next(30);
    const auto steps = Interleave(trace, 0);
    const FakeEngineOptions fake = RandomEngine(&random);
    FakeEngine engine(fake);
    SimOptions options;
    options.profile = ProfileOf(engine);
    options.context_tokens = fake.context_tokens;
    options.slots = fake.slots;
    options.chunk_tokens_max = fake.chunk_tokens_max;
    std::tie(options.placement, options.eviction) = pairs[random.Below(pairs.size())];
    options.reuse = std::array{ReuseMode::kLive, ReuseMode::kExact}[random.Below(2)];
    options.keep_ends = random.Below(2) == 0;
    options.cache.ram_bytes_max = random.Between(4'000, 200'000);
    const auto report = Simulate(steps, kBlockTokens, options);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    ASSERT_EQ(report->reused_each, ServedReused(steps, options, &engine))
        << "seed " << seed << ", " << options.placement << " and " << options.eviction;
    evicted += report->checkpoints_evicted;
    reused += report->reused_tokens;
  }
  EXPECT_GT(evicted, 1000u);
  EXPECT_GT(reused, 100'000u);
}

}  // namespace
}  // namespace cairn::simulator_test
