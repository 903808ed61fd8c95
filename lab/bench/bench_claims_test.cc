#include "lab/bench/bench_claims.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "lab/bench/bench_sample.h"

namespace cairn {
namespace {

using test::SampleBench;
using test::SampleRun;
using test::SampleServer;

// The sample without its failed run.
BenchResult Healthy() {
  BenchResult result = SampleBench();
  result.servers[1].runs[3].error.clear();
  return result;
}

TEST(AllowedClaim, HoldsWithinTwoPercentAndAStepARequest) {
  // edit-early: 5,900 read, 5,600 lower bound, four requests; 1.02 times leaves 112, a step 47.
  BenchResult result = Healthy();
  result.servers[0].grid_tokens = 47;
  EXPECT_EQ(CheckAllowed({result}).held, 2U);
  result.servers[0].grid_tokens = 46;
  const ClaimCheck check = CheckAllowed({result});
  EXPECT_EQ(check.held, 1U);
  ASSERT_EQ(check.broken.size(), 1U);
  EXPECT_EQ(check.broken[0].title, "hybrid: qwen35");
  EXPECT_EQ(check.broken[0].scenario, "edit-early");
  EXPECT_EQ(check.broken[0].why,
            "run 1 read 5,900, allowed are 5,896 (1.02 times 5,600 + 4 steps of 46)");
}

TEST(AllowedClaim, IsBrokenByOneRunHoweverWellTheOthersWent) {
  BenchResult result = Healthy();
  result.servers[0].runs[2].requests[1].read_tokens += 1000;
  const ClaimCheck check = CheckAllowed({result});
  ASSERT_EQ(check.broken.size(), 1U);
  EXPECT_TRUE(check.broken[0].why.starts_with("run 2 read 6,600,")) << check.broken[0].why;
}

TEST(AllowedClaim, CannotBeCheckedWithoutTheLowerBoundOrAfterAFailure) {
  BenchResult result = Healthy();
  for (RequestFigures& request : result.servers[0].runs[0].requests) request.lower_bound_tokens = 0;
  for (RequestFigures& request : result.servers[0].runs[2].requests) request.lower_bound_tokens = 0;
  result.servers[0].runs[3].error = "it is gone";
  const ClaimCheck check = CheckAllowed({result});
  EXPECT_EQ(check.held, 0U);
  ASSERT_EQ(check.unchecked.size(), 2U);
  EXPECT_EQ(check.unchecked[0].why, "what is unavoidable is not known");
  EXPECT_EQ(check.unchecked[1].why, "cairn failed: it is gone");
}

TEST(PeerClaim, HoldsWhereThePeerReadsNoLess) {
  const ClaimCheck check = CheckPeers({Healthy(), Healthy()});
  EXPECT_EQ(check.held, 4U);
  EXPECT_TRUE(check.broken.empty());
  EXPECT_TRUE(check.unchecked.empty());
}

TEST(PeerClaim, AllowsAGridStepForEachRequest) {
  BenchResult result = Healthy();
  result.servers[1] = SampleServer("llama-server", 1);
  // Ours read 300 more in edit-early than this peer would with nothing to spare.
  for (ScenarioRun& run : result.servers[1].runs) {
    run = SampleRun(run.scenario, run.repetition, 1);
  }
  result.servers[0].grid_tokens = 75;
  EXPECT_EQ(CheckPeers({result}).held, 2U);
  result.servers[0].grid_tokens = 74;
  const ClaimCheck check = CheckPeers({result});
  ASSERT_EQ(check.broken.size(), 1U);
  EXPECT_EQ(check.broken[0].why,
            "beside llama-server: run 1 read 5,900, allowed are 5,896 (5,600 + 4 steps of 74)");
}

TEST(PeerClaim, SaysWhichServerFailed) {
  const ClaimCheck check = CheckPeers({SampleBench()});
  EXPECT_EQ(check.held, 1U);
  ASSERT_EQ(check.unchecked.size(), 1U);
  EXPECT_TRUE(
      check.unchecked[0].why.starts_with("beside llama-server: llama-server failed: turn 2"))
      << check.unchecked[0].why;
}

TEST(PeerRatios, WeighEachScenarioAlike) {
  const std::vector<PeerRatio> ratios = PeerRatios({Healthy()});
  ASSERT_EQ(ratios.size(), 1U);
  EXPECT_EQ(ratios[0].peer, "llama-server");
  EXPECT_EQ(ratios[0].scenarios, 2U);
  EXPECT_LT(ratios[0].least, ratios[0].most);
  EXPECT_NEAR(ratios[0].first_token_ratio, std::sqrt(ratios[0].least * ratios[0].most), 1e-9);
}

TEST(PeerRatios, FindPeersByNameInEveryResult) {
  BenchResult other = Healthy();
  other.servers.push_back(SampleServer("llama-server, best", 2));
  const std::vector<PeerRatio> ratios = PeerRatios({Healthy(), other});
  ASSERT_EQ(ratios.size(), 2U);
  EXPECT_EQ(ratios[0].scenarios, 4U);
  EXPECT_EQ(ratios[1].scenarios, 2U);
}

TEST(Claims, OfNothingOrOneServerHaveNothingToCompare) {
  EXPECT_EQ(CheckAllowed({}).held, 0U);
  EXPECT_EQ(CheckPeers({BenchResult()}).held, 0U);
  BenchResult alone = Healthy();
  alone.servers.resize(1);
  EXPECT_EQ(CheckPeers({alone}).held, 0U);
  EXPECT_TRUE(PeerRatios({alone}).empty());
  EXPECT_EQ(CheckAllowed({alone}).held, 2U);
}

}  // namespace
}  // namespace cairn
