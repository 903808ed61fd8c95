// Dialogues with their text: one of our own, and those of ../shared/traces if they are there.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "lab/sim/simulator.h"
#include "trace/replay/trace.h"

namespace cairn::trace_messages_test {
namespace {

Result<Trace> ReadFileOf(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  return ReadTrace(in, TraceFormat::kAuto);
}

TEST(MessagesTrace, EachAnswerIsARequestWithAllBeforeIt) {
  const auto trace = ReadFileOf(CAIRN_SOURCE_DIR "/testdata/traces/lighthouse.jsonl");
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  ASSERT_EQ(trace->sessions.size(), 2u);
  const auto& requests = trace->sessions[0].requests;
  ASSERT_EQ(requests.size(), 3u);
  Token unique = INT32_MAX;
  for (size_t i = 0; i + 1 < requests.size(); ++i) {
    Tokens gone_on = PromptOf(requests[i], 64, &unique);
    const Tokens answer = AnswerOf(requests[i]);
    EXPECT_EQ(answer.size(), requests[i].output_tokens);
    EXPECT_GT(answer.size(), 0u);
    gone_on.insert(gone_on.end(), answer.begin(), answer.end());
    const Tokens next = PromptOf(requests[i + 1], 64, &unique);
    EXPECT_EQ(CommonPrefix(next, gone_on), gone_on.size());
  }
  EXPECT_EQ(requests[1].shape.turns.size(), 2u);
  EXPECT_FALSE(requests[1].shape.turns[1].by_user);
}

TEST(MessagesTrace, DialoguesShareTheirHeaderAndNoMore) {
  const auto trace = ReadFileOf(CAIRN_SOURCE_DIR "/testdata/traces/lighthouse.jsonl");
  ASSERT_TRUE(trace.has_value());
  const TraceRequest& one = trace->sessions[0].requests[0];
  const TraceRequest& other = trace->sessions[1].requests[0];
  Token unique = INT32_MAX;
  EXPECT_GT(one.shape.header_end, 64u);
  EXPECT_EQ(one.shape.header_end, other.shape.header_end);
  EXPECT_EQ(CommonPrefix(PromptOf(one, 64, &unique), PromptOf(other, 64, &unique)),
            one.shape.header_end);
}

TEST(MessagesTrace, ArgumentsThatAreObjectsAreEqualInAnyOrder) {
  std::stringstream lines;
  for (const char* arguments : {R"({"b":[{"d":1,"c":2}],"a":3})", R"({"a":3,"b":[{"c":2,"d":1}]})",
                                R"({"a":3,"b":[{"c":1,"d":2}]})"}) {
    lines << R"({"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":)"
          << R"([{"function":{"name":"f","arguments":)" << arguments << "}}]}]}\n";
  }
  const auto trace = ReadTrace(lines, TraceFormat::kAuto);
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  ASSERT_EQ(trace->sessions.size(), 3u);
  const auto answer = [&](size_t i) { return AnswerOf(trace->sessions[i].requests[0]); };
  EXPECT_EQ(answer(0), answer(1));
  EXPECT_NE(answer(0), answer(2));
}

TEST(MessagesTrace, SaysWhatIsWrongWithALine) {
  for (const char* line : {R"({"messages":7})", R"({"messages":[{"role":"nobody","content":"x"}]})",
                           R"({"messages":["x"]})"}) {
    std::istringstream in(line);
    const auto trace = ReadTrace(in, TraceFormat::kAuto);
    ASSERT_FALSE(trace.has_value()) << line;
    EXPECT_NE(trace.error().message.find("line 1: messages: expected"), std::string::npos);
  }
}

TEST(MessagesTrace, AFieldOfAnotherTypeIsAnErrorAndNoCrash) {
  std::istringstream in(R"({"timestamp":0,"input_length":9,"output_length":1,"hash_ids":[1],)"
                        R"("block_size":"many"})");
  EXPECT_FALSE(ReadTrace(in, TraceFormat::kAuto).has_value());
}

SimOptions Options() {
  SimOptions options;
  options.profile = *FindModelProfile("qwen3.5-4b");
  options.cache.ram_bytes_max = SIZE_MAX;
  return options;
}

TEST(MessagesTrace, AServerGoesOnFromItsAnswers) {
  const auto trace = ReadFileOf(CAIRN_SOURCE_DIR "/testdata/traces/lighthouse.jsonl");
  ASSERT_TRUE(trace.has_value());
  const auto steps = Interleave(*trace, 1);
  const auto report = Simulate(steps, trace->block_tokens, Options());
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->reused_each.size(), 4u);
  for (size_t i = 1; i < 3; ++i) {
    const TraceRequest& last = *steps[i - 1].request;
    EXPECT_EQ(report->reused_each[i], last.input_tokens + last.output_tokens);
  }
  EXPECT_GE(report->reused_each[3], 64u);  // the system prefix, down to the grid
  EXPECT_LE(report->reused_tokens, report->shared_tokens);
  SimOptions prompts_only = Options();
  prompts_only.answers = false;
  const auto less = Simulate(steps, trace->block_tokens, prompts_only);
  EXPECT_LT(less->reused_tokens, report->reused_tokens);
}

TEST(MessagesTrace, WithoutTheEndOfAQueryItIsNotTaken) {
  const auto trace = ReadFileOf(CAIRN_SOURCE_DIR "/testdata/traces/lighthouse.jsonl");
  const auto steps = Interleave(*trace, 1);
  SimOptions options = Options();
  options.placement = "near-end";
  const auto all = Simulate(steps, trace->block_tokens, options);
  options.without = {CheckpointClass::kPrompt, CheckpointClass::kQuery, CheckpointClass::kLadder};
  const auto some = Simulate(steps, trace->block_tokens, options);
  EXPECT_LT(some->checkpoints_taken, all->checkpoints_taken);
}

TEST(MessagesTrace, ReadsTheAirlineDialogues) {
  const std::string path = CAIRN_SOURCE_DIR "/../shared/traces/tau-airline.jsonl";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const auto trace = ReadFileOf(path);
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_EQ(trace->sessions.size(), 100u);
  size_t requests = 0;
  const size_t header_end = trace->sessions[0].requests[0].shape.header_end;
  for (const TraceSession& session : trace->sessions) {
    requests += session.requests.size();
    EXPECT_EQ(session.requests[0].shape.header_end, header_end);
  }
  EXPECT_EQ(requests, 1163u);
  EXPECT_GT(header_end, 1000u);
}

}  // namespace
}  // namespace cairn::trace_messages_test
