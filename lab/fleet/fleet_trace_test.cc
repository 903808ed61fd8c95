#include "lab/fleet/fleet_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lab/fleet/fleet_fixture.h"
#include "lab/sim/simulator.h"
#include "lab/sim/trace_fixture.h"

namespace cairn::fleet_trace_test {
namespace {

using test::BlocksRequest;
using test::kBlockTokens;
using test::OneSession;
using test::RandomTraces;
using test::Unnamed;

FleetTrace Make(const Trace& trace) {
  OracleInput oracle;
  oracle.grid_tokens = 64;
  auto made = FleetTrace::Make(trace, 0, oracle);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return std::move(*made);
}

TEST(FleetTrace, RequestsWithTheSameFirstPrivateBlockAreAConversation) {
  std::vector<TraceRequest> requests;
  // Twenty conversations behind blocks 0 and 1, each of two requests.
  for (uint32_t i = 0; i < 20; ++i) {
    requests.push_back(BlocksRequest({{0, 1}, {10 * i + 10, 10 * i + 12}}));
    requests.push_back(BlocksRequest({{0, 1}, {10 * i + 10, 10 * i + 14}}));
  }
  requests.push_back(BlocksRequest({{0, 1}}));
  const Trace trace = Unnamed(OneSession(requests));
  const FleetTrace fleet = Make(trace);
  EXPECT_EQ(fleet.conversations(), 21u);
  EXPECT_EQ(fleet.header_tokens(), 2 * kBlockTokens);
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(fleet.requests()[i].header_tokens, 2 * kBlockTokens);
    EXPECT_EQ(fleet.requests()[i].conversation, fleet.requests()[i / 2 * 2].conversation);
  }
  EXPECT_EQ(fleet.PrivateTokens(fleet.requests()[0].conversation), 5 * kBlockTokens);
  EXPECT_EQ(fleet.requests()[0].new_header_tokens + fleet.requests()[0].new_private_tokens,
            5 * kBlockTokens);
  EXPECT_EQ(fleet.requests()[1].new_private_tokens, 2 * kBlockTokens);
  EXPECT_EQ(fleet.requests()[2].new_header_tokens, 0u);
}

TEST(FleetTrace, SessionsAreConversationsAndTheirHeadersAreShared) {
  Trace trace = OneSession({BlocksRequest({{1, 9}}), BlocksRequest({{1, 9}, {20, 24}}, 10)});
  for (TraceRequest& request : trace.sessions[0].requests) request.shape.header_end = 4 * 64 + 63;
  Trace other = OneSession({BlocksRequest({{1, 2}, {40, 44}}), BlocksRequest({{1, 2}, {40, 45}})});
  trace.sessions.push_back(other.sessions[0]);
  const FleetTrace fleet = Make(trace);
  EXPECT_EQ(fleet.conversations(), 2u);
  // Four blocks of the header that the first session names, of which the second has two.
  EXPECT_EQ(fleet.header_tokens(), 4 * kBlockTokens);
  EXPECT_EQ(fleet.requests()[0].header_tokens, 4 * kBlockTokens);
  EXPECT_EQ(fleet.requests()[2].header_tokens, 2 * kBlockTokens);
  EXPECT_EQ(fleet.requests()[1].known_tokens, 14 * kBlockTokens);
}

TEST(FleetTrace, RefusesATraceWhoseBlocksNameNoPrefixes) {
  const Trace trace =
      OneSession({BlocksRequest({{1, 1}, {5, 5}}), BlocksRequest({{2, 2}, {5, 5}})});
  const auto made = FleetTrace::Make(trace, 0, {});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
}

// A plain model: two prompts share as many tokens as those of the trace, if they are of one copy;
// of two copies, they share no more than a header.
TEST(FleetTrace, TokensOfCopiesAreSharedAsFarAsTheHeader) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    RandomTraces random(seed);
    const Trace trace = seed % 2 == 0 ? Unnamed(random.Next(30)) : Unnamed(random.NextAnswered(30));
    const FleetTrace fleet = Make(trace);
    const std::vector<FleetStep> steps = fleet.Steps(2, 0);
    ASSERT_EQ(steps.size(), 60u);
    Numbering numbering(fleet.header_tokens());
    Token unique = INT32_MAX - 1;
    std::vector<Tokens> prompts;
    std::vector<Tokens> plain;
    for (const FleetStep& step : steps) {
      numbering.Add(step.conversation, fleet.PrivateTokens(step.conversation));
      prompts.push_back(fleet.PromptOf(step, &numbering));
      plain.push_back(PromptOf(*step.request->asked, trace.block_tokens, &unique));
      ASSERT_EQ(prompts.back().size(), plain.back().size()) << "seed " << seed;
      const Tokens answer = fleet.AnswerOf(step, numbering);
      ASSERT_EQ(answer.size(), AnswerOf(*step.request->asked).size()) << "seed " << seed;
    }
    for (size_t i = 0; i < steps.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const bool one_copy = steps[i].conversation >> 32 == steps[j].conversation >> 32;
        size_t shared = CommonPrefix(plain[i], plain[j]);
        if (!one_copy) shared = std::min(shared, steps[i].request->header_tokens);
        ASSERT_EQ(CommonPrefix(prompts[i], prompts[j]), shared)
            << "seed " << seed << ", steps " << i << " and " << j;
      }
    }
  }
}

TEST(FleetTrace, AnotherServerMakesTheSameTokensOfRuns) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    RandomTraces random(seed);
    const Trace trace = Unnamed(random.Next(30));
    const FleetTrace fleet = Make(trace);
    const std::vector<FleetStep> steps = fleet.Steps(2, 0);
    Numbering one(fleet.header_tokens());
    Numbering two(fleet.header_tokens());
    for (size_t i = steps.size(); i-- > 0;) {
      two.Add(steps[i].conversation, fleet.PrivateTokens(steps[i].conversation));
    }
    for (const FleetStep& step : steps) {
      one.Add(step.conversation, fleet.PrivateTokens(step.conversation));
      const Tokens known = fleet.KnownPromptOf(step, one);
      const auto runs = one.RunsOf(known);
      ASSERT_TRUE(runs.has_value());
      ASSERT_EQ(fleet.TokensOf(*runs, &two), fleet.KnownPromptOf(step, two)) << "seed " << seed;
      for (size_t position = 1; position <= known.size(); position += 7) {
        const auto before = one.RunsOf(TokenSpan(known).subspan(position - 1, 1));
        ASSERT_EQ(fleet.TokenBefore(step, position), before->front().first) << "seed " << seed;
      }
    }
  }
}

TEST(FleetTrace, TokensInNoBlockAreOfNoRun) {
  const Trace trace = Unnamed(OneSession({BlocksRequest({{1, 2}}, 5), BlocksRequest({{3, 4}})}));
  const FleetTrace fleet = Make(trace);
  const std::vector<FleetStep> steps = fleet.Steps(1, 0);
  Numbering numbering(fleet.header_tokens());
  numbering.Add(steps[0].conversation, fleet.PrivateTokens(steps[0].conversation));
  EXPECT_FALSE(numbering.RunsOf(fleet.PromptOf(steps[0], &numbering)).has_value());
  EXPECT_TRUE(numbering.RunsOf(fleet.KnownPromptOf(steps[0], numbering)).has_value());
}

TEST(FleetTrace, CopiesOfSessionsBeginAtDifferentSessions) {
  Trace trace;
  trace.block_tokens = kBlockTokens;
  for (uint32_t i = 0; i < 4; ++i) {
    const Trace one = OneSession({BlocksRequest({{10 * i, 10 * i + 3}})});
    trace.sessions.push_back({std::to_string(i), one.sessions[0].requests});
  }
  const FleetTrace fleet = Make(trace);
  const std::vector<FleetStep> steps = fleet.Steps(2, 2);
  ASSERT_EQ(steps.size(), 8u);
  EXPECT_EQ(FleetTrace::IndexOf(steps[0].conversation), 0u);
  EXPECT_EQ(FleetTrace::IndexOf(steps[1].conversation), 2u);
  std::set<ConversationKey> all;
  for (const FleetStep& step : steps) all.insert(step.conversation);
  EXPECT_EQ(all.size(), 8u);
}

}  // namespace
}  // namespace cairn::fleet_trace_test
