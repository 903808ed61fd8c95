#include "cmd/doctor/cured_trace.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::cured_trace_test {
namespace {

using Numbers = std::vector<BlockRange>;

TraceRequest RequestOf(Numbers numbers, size_t header_end, size_t output_tokens = 0) {
  TraceRequest request;
  for (const BlockRange& range : numbers) request.input_tokens += range.last - range.first + 1;
  request.input_tokens -= output_tokens;
  request.output_tokens = output_tokens;
  request.token_ids = std::move(numbers);
  request.shape.tokens = request.input_tokens;
  request.shape.header_end = header_end;
  request.shape.messages_end = request.input_tokens;
  return request;
}

// Returns "0-9 30-35".
std::string Shown(const TraceRequest& request) {
  std::string text;
  for (const BlockRange& range : request.token_ids) {
    if (!text.empty()) text += ' ';
    text += std::to_string(range.first) + "-" + std::to_string(range.last);
  }
  return text;
}

TEST(NumberOwners, KnowWhichRequestHadThePrefix) {
  NumberOwners owners;
  EXPECT_EQ(owners.Find({{0, 9}}).tokens, 0u);
  owners.Add({{0, 9}}, 0, 0);
  owners.Add({{0, 4}, {10, 19}}, 5, 1);
  const auto known = owners.Find({{0, 4}, {10, 14}, {20, 29}});
  EXPECT_EQ(known.tokens, 10u);
  EXPECT_EQ(known.owner, 1u);
  EXPECT_EQ(owners.Find({{0, 9}, {20, 29}}).owner, 0u);
  EXPECT_EQ(owners.Find({{0, 19}}).tokens, 20u) << "numbers of two owners in one range";
}

TEST(CuredRequests, WithoutCuresAllStayAsTheyWere) {
  const std::vector<TraceRequest> requests = {RequestOf({{0, 9}}, 4),
                                              RequestOf({{0, 7}, {10, 19}}, 4)};
  const auto cured = CuredRequests(requests, {{}, {}});
  EXPECT_EQ(Shown(cured[0]), "0-9");
  EXPECT_EQ(Shown(cured[1]), "0-7 10-19");
  EXPECT_EQ(cured[1].input_tokens, 18u);
  EXPECT_EQ(cured[1].shape.header_end, 4u);
}

TEST(CuredRequests, TakeTheBeginningOfTheEarlierOneAndAreContinuedByLaterOnes) {
  const std::vector<TraceRequest> requests = {
      RequestOf({{0, 9}}, 4, 2),            // 8 tokens and an answer of two
      RequestOf({{0, 0}, {10, 24}}, 4, 2),  // the system prefix differs from its second token on
      RequestOf({{0, 0}, {10, 24}, {25, 29}}, 4)};  // continues the second
  const auto cured = CuredRequests(requests, {{}, Cure{0, 10, 10}, {}});
  EXPECT_EQ(Shown(cured[1]), "0-9 19-24");
  EXPECT_EQ(Shown(cured[2]), "0-9 19-24 25-29");
  EXPECT_EQ(cured[1].input_tokens, 14u);
  EXPECT_EQ(cured[1].output_tokens, 2u);
}

TEST(CuredRequests, AreLongerWhereTheEarlierOneWas) {
  // The second leaves out six tokens of history behind the system prefix.
  const std::vector<TraceRequest> requests = {RequestOf({{0, 19}}, 4),
                                              RequestOf({{0, 3}, {20, 29}}, 4)};
  auto second = requests[1];
  second.shape.turns = {{4, true}, {12, true}};
  const auto cured = CuredRequests({requests[0], second}, {{}, Cure{0, 16, 10}});
  EXPECT_EQ(Shown(cured[1]), "0-15 26-29");
  EXPECT_EQ(cured[1].input_tokens, 20u);
  EXPECT_EQ(cured[1].shape.tokens, 20u);
  EXPECT_EQ(cured[1].shape.header_end, 4u);
  EXPECT_EQ(cured[1].shape.messages_end, 20u);
  EXPECT_EQ(cured[1].shape.turns.back().position, 18u);
}

TEST(CuredRequests, ACureThatSharesLessThanWasSharedIsNone) {
  const std::vector<TraceRequest> requests = {RequestOf({{0, 9}}, 4),
                                              RequestOf({{0, 7}, {10, 19}}, 4)};
  EXPECT_EQ(Shown(CuredRequests(requests, {{}, Cure{0, 4, 4}})[1]), "0-7 10-19");
}

TEST(RecordedRequests, NumberTheTokensOfBlocks) {
  Trace trace{.block_tokens = 4, .sessions = {{"a", {}}}, .absolute_time = true};
  for (const uint32_t block : {1U, 2U}) {
    TraceRequest request;
    request.at_ms = block;
    request.input_tokens = 9;
    request.output_tokens = 7;
    request.blocks = {{0, 0}, {block, block}};
    trace.sessions[0].requests.push_back(request);
  }
  const RecordedRequests recorded = RecordedRequestsOf(trace);
  EXPECT_EQ(Shown(recorded.requests[0]), "0-3 4-7 12-12");
  EXPECT_EQ(Shown(recorded.requests[1]), "0-3 8-11 13-13");
  EXPECT_EQ(recorded.requests[0].output_tokens, 0u) << "the answer is not known";
}

TEST(ReusedInReplay, IsWhatAServerReuses) {
  SimOptions options;
  options.profile = *FindModelProfile("qwen3.5-4b");
  options.cache.ram_bytes_max = size_t{1} << 30U;
  const std::vector<TraceRequest> requests = {RequestOf({{0, 999}}, 0), RequestOf({{0, 1999}}, 0)};
  const auto reused = ReusedInReplay(requests, {0, 1000}, options);
  ASSERT_TRUE(reused.has_value());
  EXPECT_EQ((*reused)[0], 0u);
  EXPECT_GT((*reused)[1], 900u);
  options.placement = "nowhere";
  EXPECT_FALSE(ReusedInReplay(requests, {0, 1000}, options).has_value());
}

}  // namespace
}  // namespace cairn::cured_trace_test
