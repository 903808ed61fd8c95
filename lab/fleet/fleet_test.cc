#include "lab/fleet/fleet.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lab/fleet/fleet_fixture.h"
#include "lab/sim/trace_fixture.h"

namespace cairn {
namespace {

using test::BlocksRequest;
using test::RandomTraces;
using test::Unnamed;

constexpr std::array kFronts = {"hash", "prefix", "random", "round-robin"};

// A trace and all that a fleet needs to play it.
struct Played {
  Trace trace;
  std::vector<TraceStep> base;
  FleetTrace fleet_trace;

  Played(Trace made, const SimOptions& server) : trace(std::move(made)) {
    base = Interleave(trace, 0);
    auto fleet = FleetTrace::Make(trace, 0, OracleInputFor(base, server));
    EXPECT_TRUE(fleet.has_value()) << fleet.error().message;
    fleet_trace = std::move(*fleet);
  }

  FleetReport Play(FleetOptions options, size_t copies = 1) const {
    options.context_tokens = ContextTokens(base, options.server);
    auto report = SimulateFleet(fleet_trace, fleet_trace.Steps(copies, 0), options);
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return std::move(*report);
  }
};

// A row of logits that goes to disk has at least one number.
ModelProfile RandomProfile(RandomTraces* random) {
  ModelProfile profile = random->NextProfile();
  profile.logits_bytes += sizeof(float);
  return profile;
}

SimOptions RandomServer(RandomTraces* random) {
  const auto pairs = test::AllPolicyPairs();
  SimOptions server;
  server.profile = RandomProfile(random);
  std::tie(server.placement, server.eviction) = pairs[random->Below(pairs.size())];
  server.cache.ram_bytes_max = random->Between(4'000, 100'000);
  server.slots = random->Between(1, 3);
  server.reuse = std::array{ReuseMode::kLive, ReuseMode::kExact, ReuseMode::kAny}[random->Below(3)];
  if (random->Below(2) == 0) server.disk.bytes_max = random->Between(50'000, 500'000);
  return server;
}

// Conversations of 64-token blocks with `turns` requests each, of which all first ones come before
// all second ones. They share a header of two blocks.
Trace Conversations(uint32_t count, uint32_t turns) {
  std::vector<TraceRequest> requests;
  for (uint32_t turn = 0; turn < turns; ++turn) {
    for (uint32_t i = 0; i < count; ++i) {
      requests.push_back(BlocksRequest({{0, 1}, {1000 * i + 10, 1000 * i + 40 + 10 * turn}}));
    }
  }
  return Unnamed(test::OneSession(requests));
}

// KV and snapshots of a small model that prefills slowly, with room for some conversations.
FleetOptions SmallFleet(size_t servers) {
  FleetOptions fleet;
  fleet.servers = servers;
  fleet.server.profile.memory_class = MemoryClass::kHybrid;
  fleet.server.profile.snapshot_bytes = 1000;
  fleet.server.profile.kv_bytes_per_token = 10;
  fleet.server.profile.prefill_tokens_per_s = 100'000;
  fleet.server.profile.move_bytes_per_s = 1e12;
  fleet.server.cache.ram_bytes_max = 10'000'000;
  fleet.server.disk.bytes_max = 100'000'000;
  return fleet;
}

RemoteOptions FreeRemote() {
  RemoteOptions remote;
  remote.bytes_max = UINT64_MAX;
  remote.after_ms = remote.min_ms = remote.round_trip_ms = 0;
  remote.bytes_per_s = remote.write_bytes_per_s = std::numeric_limits<double>::infinity();
  return remote;
}

TEST(Fleet, OneServerBehindAnyFrontReusesWhatOneServerReuses) {
  uint64_t reused = 0;
  uint64_t written_otherwise = 0;
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    RandomTraces random(seed);
    Trace trace = seed % 2 == 0 ? random.Next(30) : random.NextAnswered(30);
    if (random.Below(2) == 0) trace = Unnamed(trace);
    FleetOptions fleet;
    fleet.server = RandomServer(&random);
    const Played played(trace, fleet.server);
    const auto one = Simulate(played.base, played.trace.block_tokens, fleet.server);
    ASSERT_TRUE(one.has_value()) << one.error().message;
    fleet.front = kFronts[seed % kFronts.size()];
    const FleetReport report = played.Play(fleet);
    ASSERT_EQ(report.reused_each, one->reused_each)
        << "seed " << seed << ", " << fleet.server.placement << " and " << fleet.server.eviction;
    ASSERT_EQ(report.all.prompt_tokens, one->prompt_tokens) << "seed " << seed;
    ASSERT_EQ(report.new_tokens, one->prompt_tokens - one->shared_tokens) << "seed " << seed;
    written_otherwise += report.disk_written_bytes == one->disk_written_bytes ? 0 : 1;
    ASSERT_EQ(report.moved, 0u);
    reused += report.all.reused_tokens;
  }
  EXPECT_GT(reused, 100'000u);
  // Of seeds 1 to 4000 three differ in what is written or reused. Behind a front tokens have other
  // numbers, which may decide between objects of the same worth.
  EXPECT_LE(written_otherwise, 1u);
}

TEST(Fleet, ServersAndHalvesAddUpAndNoFleetReadsLessThanIsNew) {
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    RandomTraces random(seed);
    FleetOptions fleet;
    fleet.server = RandomServer(&random);
    fleet.servers = random.Between(2, 6);
    fleet.cell_servers = random.Below(4);
    fleet.front = kFronts[random.Below(kFronts.size())];
    if (fleet.server.disk.bytes_max > 0 && random.Below(2) == 0) fleet.remote = FreeRemote();
    fleet.lose_server = fleet.cell_servers != 1 && random.Below(2) == 0;
    const size_t copies = random.Between(1, 3);
    const Played played(Unnamed(random.Next(40)), fleet.server);
    const FleetReport report = played.Play(fleet, copies);
    uint64_t prompts = 0;
    for (const TraceStep& step : played.base) prompts += copies * step.request->input_tokens;
    ASSERT_EQ(report.all.requests, copies * 40) << "seed " << seed;
    ASSERT_EQ(report.all.prompt_tokens, prompts) << "seed " << seed;
    ASSERT_EQ(report.servers.size(), fleet.servers) << "seed " << seed;
    FleetFigures servers;
    for (const FleetFigures& figures : report.servers) servers.Add(figures);
    FleetFigures halves = report.first_half;
    halves.Add(report.second_half);
    for (const FleetFigures& sum : {servers, halves}) {
      ASSERT_EQ(sum.requests, report.all.requests) << "seed " << seed;
      ASSERT_EQ(sum.prompt_tokens, report.all.prompt_tokens) << "seed " << seed;
      ASSERT_EQ(sum.reused_tokens, report.all.reused_tokens) << "seed " << seed;
    }
    const uint64_t reused =
        std::accumulate(report.reused_each.begin(), report.reused_each.end(), uint64_t{0});
    ASSERT_EQ(reused, report.all.reused_tokens) << "seed " << seed;
    ASSERT_GE(report.all.read_tokens(), report.new_tokens) << "seed " << seed;
  }
}

// Without limits of memory and folder nothing is evicted, so objects from elsewhere only add to
// what a server can resume from.
TEST(Fleet, AFreeRemoteTierNeverCostsAToken) {
  uint64_t spared = 0;
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    RandomTraces random(seed);
    FleetOptions fleet;
    fleet.server.profile = RandomProfile(&random);
    fleet.server.profile.move_bytes_per_s = std::numeric_limits<double>::infinity();
    fleet.server.profile.prefill_tokens_per_s = 10'000;
    fleet.server.cache.ram_bytes_max = SIZE_MAX;
    fleet.server.disk = {uint64_t{1} << 40, std::numeric_limits<double>::infinity()};
    fleet.server.slots = 1;
    fleet.servers = random.Between(2, 4);
    fleet.front = seed % 2 == 0 ? "random" : "round-robin";
    const Played played(Unnamed(random.Next(40)), fleet.server);
    const FleetReport without = played.Play(fleet);
    fleet.remote = FreeRemote();
    const FleetReport with = played.Play(fleet);
    ASSERT_LE(with.all.read_tokens(), without.all.read_tokens()) << "seed " << seed;
    spared += without.all.read_tokens() - with.all.read_tokens();
  }
  EXPECT_GT(spared, 10'000u);
}

TEST(Fleet, FrontsThatKnowConversationsReadLessThanOthers) {
  const Played played(Conversations(41, 5), SmallFleet(4).server);
  std::array<uint64_t, kFronts.size()> read = {};
  for (size_t i = 0; i < kFronts.size(); ++i) {
    FleetOptions fleet = SmallFleet(4);
    fleet.front = kFronts[i];
    const FleetReport report = played.Play(fleet);
    read[i] = report.all.read_tokens();
    EXPECT_EQ(report.moved > 0, i >= 2) << kFronts[i];
  }
  const auto [hash, prefix, random, round_robin] = read;
  EXPECT_LT(2 * hash, random);
  EXPECT_LT(2 * prefix, random);
  EXPECT_LT(2 * hash, round_robin);
}

TEST(Fleet, AConversationStaysInItsCell) {
  FleetOptions fleet = SmallFleet(6);
  fleet.front = "hash";
  fleet.cell_servers = 2;
  const Played played(Conversations(40, 3), fleet.server);
  const FleetReport all = played.Play(fleet);
  fleet.cells_played = 1;
  const FleetReport one = played.Play(fleet);
  ASSERT_EQ(one.servers.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(one.servers[i].requests, all.servers[i].requests);
    EXPECT_EQ(one.servers[i].reused_tokens, all.servers[i].reused_tokens);
  }
  EXPECT_LT(one.all.requests, all.all.requests);
  EXPECT_GT(one.all.requests, 0u);
}

TEST(Fleet, TheRemoteTierBringsBackWhatALostServerHad) {
  FleetOptions fleet = SmallFleet(3);
  fleet.lose_server = true;
  const Played played(Conversations(30, 4), fleet.server);
  const FleetReport without = played.Play(fleet);
  fleet.remote = FreeRemote();
  const FleetReport with = played.Play(fleet);
  fleet.lose_server = false;
  fleet.remote = {};
  const FleetReport whole = played.Play(fleet);
  EXPECT_EQ(without.servers[0].requests, with.servers[0].requests);
  EXPECT_LT(without.servers[0].requests, whole.servers[0].requests);
  EXPECT_GT(without.all.read_tokens(), whole.all.read_tokens());
  EXPECT_LT(with.all.read_tokens(), without.all.read_tokens());
  EXPECT_GT(with.remote_counts.fetches, 0u);
  EXPECT_GT(with.remote_moved.downloaded_bytes, 0u);
}

TEST(Fleet, WritesIdleConversationsAndHeadersOfTwo) {
  FleetOptions fleet = SmallFleet(1);
  fleet.remote = FreeRemote();
  fleet.remote.after_ms = 1e9;
  // No conversation is idle for so long; a header of a single one is not written.
  EXPECT_EQ(Played(Conversations(1, 3), fleet.server).Play(fleet).remote_moved.uploads, 0u);
  const FleetReport headers = Played(Conversations(20, 1), fleet.server).Play(fleet);
  EXPECT_GT(headers.remote_moved.uploads, 0u);
  // A slot is copied to the cache when it was unused for two seconds.
  fleet.remote.after_ms = 3000;
  const FleetReport idle = Played(Conversations(20, 1), fleet.server).Play(fleet);
  EXPECT_GT(idle.remote_moved.uploads, headers.remote_moved.uploads);
}

TEST(Fleet, FetchesOnlyWhereTheTransferPays) {
  FleetOptions fleet = SmallFleet(3);
  fleet.front = "round-robin";
  fleet.remote = FreeRemote();
  const Played played(Conversations(20, 4), fleet.server);
  EXPECT_GT(played.Play(fleet).remote_counts.fetches, 0u);
  fleet.remote.min_ms = 1e9;
  EXPECT_EQ(played.Play(fleet).remote_counts.fetches, 0u);
  fleet.remote = FreeRemote();
  fleet.remote.round_trip_ms = 1e9;
  const FleetReport slow = played.Play(fleet);
  EXPECT_EQ(slow.remote_counts.fetches, 0u);
  EXPECT_GT(slow.remote_counts.not_worth, 0u);
  EXPECT_EQ(slow.remote_moved.downloaded_bytes, 0u);
}

TEST(Fleet, RefusesOptionsThatContradictEachOther) {
  const Played played(Conversations(2, 1), SmallFleet(1).server);
  const auto code_of = [&](const FleetOptions& fleet) -> std::optional<ErrorCode> {
    const auto report = SimulateFleet(played.fleet_trace, {}, fleet);
    if (report) return std::nullopt;
    return report.error().code;
  };
  FleetOptions none = SmallFleet(0);
  EXPECT_EQ(code_of(none), ErrorCode::kInvalidArgument);
  FleetOptions lost = SmallFleet(1);
  lost.lose_server = true;
  EXPECT_EQ(code_of(lost), ErrorCode::kInvalidArgument);
  FleetOptions diskless = SmallFleet(2);
  diskless.remote = FreeRemote();
  diskless.server.disk.bytes_max = 0;
  EXPECT_EQ(code_of(diskless), ErrorCode::kInvalidArgument);
  FleetOptions unknown = SmallFleet(2);
  unknown.front = "least";
  EXPECT_EQ(code_of(unknown), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace cairn
