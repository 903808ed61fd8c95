#include "lab/bench/bench_summary.h"

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

TEST(Percentile, LiesOnALineBetweenTheNearestValues) {
  EXPECT_EQ(Percentile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(Percentile({1, 100}, 0.5), 50.5);
  EXPECT_DOUBLE_EQ(Percentile({0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}, 0.9), 90);
  EXPECT_DOUBLE_EQ(Percentile({10, 20}, 0.99), 19.9);
}

TEST(Percentile, OfOneValueIsThatValueAndOfNoneZero) {
  EXPECT_EQ(Percentile({7}, 0), 7);
  EXPECT_EQ(Percentile({7}, 0.99), 7);
  EXPECT_EQ(Percentile({7, 9}, 1), 9);
  EXPECT_EQ(Percentile({}, 0.5), 0);
}

TEST(GeometricMean, WeighsHalfAndTwiceAlike) {
  EXPECT_DOUBLE_EQ(GeometricMean({0.5, 2}), 1);
  EXPECT_DOUBLE_EQ(GeometricMean({4}), 4);
  EXPECT_EQ(GeometricMean({}), 0);
}

TEST(AllowedTokens, AddTwoPercentAndAGridStepForEachRequest) {
  EXPECT_DOUBLE_EQ(AllowedTokens(1000, 3, 64), 1020 + 192);
  EXPECT_DOUBLE_EQ(AllowedTokens(1000, 3, 0), 1020);
}

TEST(BenchSummary, AddsUpTheRunsThatWentWell) {
  const BenchResult result = SampleBench();
  const ScenarioSummary summary = Summarize(result.servers[0], "chat");
  EXPECT_EQ(summary.runs, 2U);
  EXPECT_EQ(summary.tokens.requests, 8U);
  EXPECT_EQ(summary.tokens.sent, 2U * (5000 + 5200 + 5400 + 5600));
  EXPECT_EQ(summary.tokens.read, 2U * 5600);
  EXPECT_EQ(summary.tokens.lower_bound, 2U * 5600);
  EXPECT_EQ(summary.tokens.read_in_all, 2U * 5900);
  EXPECT_EQ(summary.tokens.ReadRatio(), 1);
  EXPECT_DOUBLE_EQ(summary.tokens.ReadInAllRatio(), 5900.0 / 5600);
  EXPECT_DOUBLE_EQ(summary.allowed_tokens, (1.02 * 2 * 5600) + (8 * 64));
  EXPECT_DOUBLE_EQ(summary.tokens_per_second, 100);
  // 50, 50, 50, 55, 55, 55, 1250, 1375
  EXPECT_DOUBLE_EQ(summary.first_token_median_ms, 55);
  EXPECT_GT(summary.first_token_p99_ms, summary.first_token_p90_ms);
  EXPECT_TRUE(summary.errors.empty());
}

TEST(BenchSummary, LeavesOutRunsThatFailedButKeepsTheirErrors) {
  const BenchResult result = SampleBench();
  const ScenarioSummary summary = Summarize(result.servers[1], "edit-early");
  EXPECT_EQ(summary.runs, 1U);
  EXPECT_EQ(summary.tokens.requests, 4U);
  ASSERT_EQ(summary.errors.size(), 1U);
  EXPECT_EQ(summary.errors[0], result.servers[1].runs[3].error);
}

TEST(BenchSummary, CountsCancelledRequestsButNotTheirTimes) {
  ServerFigures server;
  server.runs = {SampleRun("chat", 0, 1)};
  server.runs[0].requests[0].cancelled = true;
  const ScenarioSummary summary = Summarize(server, "chat");
  EXPECT_EQ(summary.tokens.requests, 4U);
  EXPECT_EQ(summary.tokens.read, 5600U);
  EXPECT_EQ(summary.first_token_p99_ms, 50) << "the slow first request does not count";
}

TEST(BenchSummary, KnowsNoRatioWhenTheLowerBoundOfOneRequestIsNotKnown) {
  ServerFigures server;
  server.runs = {SampleRun("chat", 0, 1), SampleRun("chat", 1, 1)};
  server.runs[1].requests[2].lower_bound_tokens = 0;
  EXPECT_EQ(CountTokens(server.runs[0]).lower_bound, 5600U);
  EXPECT_EQ(CountTokens(server.runs[1]).lower_bound, 0U);
  const ScenarioSummary summary = Summarize(server, "chat");
  EXPECT_EQ(summary.tokens.lower_bound, 0U);
  EXPECT_EQ(summary.tokens.ReadRatio(), 0);
  EXPECT_EQ(summary.allowed_tokens, 0);
}

TEST(BenchSummary, OfNothingIsNothing) {
  const ScenarioSummary summary = Summarize({}, "chat");
  EXPECT_EQ(summary.runs, 0U);
  EXPECT_EQ(summary.tokens.ReadRatio(), 0);
  EXPECT_EQ(summary.first_token_median_ms, 0);
  EXPECT_EQ(summary.tokens_per_second, 0);
  EXPECT_TRUE(ScenarioNames({}).empty());
}

TEST(BenchSummary, HasNoTokensASecondOfAnswersOfOneToken) {
  ServerFigures server;
  server.runs = {SampleRun("chat", 0, 1)};
  for (RequestFigures& request : server.runs[0].requests) request.answer_tokens = 1;
  EXPECT_EQ(Summarize(server, "chat").tokens_per_second, 0);
}

TEST(BenchPairs, CompareRequestsOfTheSameRepetitionAndPlace) {
  const BenchResult result = SampleBench();
  const PairSummary pairs = Compare(result.servers[0], result.servers[1], "chat");
  ASSERT_EQ(pairs.pairs.size(), 8U);
  EXPECT_DOUBLE_EQ(pairs.pairs[0].first_token_ratio, 1);
  EXPECT_DOUBLE_EQ(pairs.pairs[1].first_token_ratio, 1.0 / 12);
  EXPECT_EQ(pairs.pairs[5].what, "turn 2");
  EXPECT_EQ(pairs.pairs[5].repetition, 1U);
  EXPECT_NEAR(pairs.first_token_ratio, std::pow(1.0 / 12, 0.75), 1e-9);
}

TEST(BenchPairs, LeaveOutCancelledRequestsAndRunsWithoutAPartner) {
  const BenchResult result = SampleBench();
  // The second run failed on the other server, the first one's last request was cancelled.
  EXPECT_EQ(Compare(result.servers[0], result.servers[1], "edit-early").pairs.size(), 3U);
  ServerFigures shorter = result.servers[1];
  shorter.runs[0].requests.resize(1);
  EXPECT_EQ(Compare(result.servers[0], shorter, "chat").pairs.size(), 5U);
  EXPECT_EQ(Compare(result.servers[0], {}, "chat").first_token_ratio, 0);
}

TEST(MergeResults, PutsRunsOfOneServerBehindEachOther) {
  const BenchResult once = SampleBench();
  const std::vector<BenchResult> merged = MergeResults({once, once});
  ASSERT_EQ(merged.size(), 1U);
  ASSERT_EQ(merged[0].servers.size(), 2U);
  const ServerFigures& ours = merged[0].servers[0];
  EXPECT_EQ(ours.name, "cairn");
  ASSERT_EQ(ours.runs.size(), 8U);
  EXPECT_EQ(ours.runs[3].repetition, 1U);
  EXPECT_EQ(ours.runs[4].repetition, 2U);
  EXPECT_EQ(ours.runs[6].repetition, 3U);
  EXPECT_EQ(Compare(ours, merged[0].servers[1], "chat").pairs.size(), 16U);
}

TEST(MergeResults, MakesOneResultForEachModelOfServersPlayedAlone) {
  BenchResult ours;
  ours.servers = {SampleServer("cairn", 1)};
  ours.servers[0].memory = "hybrid";
  BenchResult theirs;
  theirs.servers = {SampleServer("llama-server", 2)};
  theirs.servers[0].model = "qwen35.gguf";
  BenchResult other = ours;
  other.servers[0].model = "llama.gguf";
  other.servers[0].memory = "attention";
  const std::vector<BenchResult> merged = MergeResults({ours, theirs, other, ours});
  ASSERT_EQ(merged.size(), 2U);
  ASSERT_EQ(merged[0].servers.size(), 2U);
  EXPECT_EQ(merged[0].servers[0].runs.size(), 8U);
  EXPECT_EQ(merged[0].servers[1].name, "llama-server");
  EXPECT_EQ(merged[0].servers[1].memory, "hybrid") << "as the other server says";
  EXPECT_EQ(ResultTitle(merged[0]), "hybrid: qwen35");
  EXPECT_EQ(ResultTitle(merged[1]), "attention: llama");
}

TEST(MergeResults, OfNothingIsNothing) {
  EXPECT_TRUE(MergeResults({}).empty());
  EXPECT_TRUE(MergeResults({BenchResult()}).empty());
}

}  // namespace
}  // namespace cairn
