#include "trace/replay/trace.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace cairn {
namespace {

Result<Trace> Read(const std::string& lines, TraceFormat format = TraceFormat::kAuto) {
  std::istringstream in(lines);
  return ReadTrace(in, format);
}

std::string Message(const std::string& lines) {
  const auto trace = Read(lines);
  EXPECT_FALSE(trace.has_value());
  return trace ? "" : trace.error().message;
}

constexpr char kTwoSessions[] =
    R"({"session":"a","block_size":64,"tool_tokens":100,"system_tokens":28,"requests":[)"
    R"({"t":0,"agent":0,"in":300,"out":10,"blocks":[[1,4]],"kind":"text"},)"
    R"({"t":2.5,"agent":0,"in":450,"out":10,"blocks":[[1,4],[9,11]],"kind":"tool_result"}]})"
    "\n"
    R"({"session":"b","block_size":64,"requests":[)"
    R"({"t":1,"agent":0,"in":130,"out":5,"blocks":[[1,2]],"kind":"text"}]})";

TEST(Trace, SessionsShareNoBlocks) {
  const auto trace = Read(kTwoSessions);
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  ASSERT_EQ(trace->sessions.size(), 2u);
  Token unique = 1 << 30;
  const Tokens first = PromptOf(trace->sessions[0].requests[0], 64, &unique);
  const Tokens second = PromptOf(trace->sessions[0].requests[1], 64, &unique);
  const Tokens other = PromptOf(trace->sessions[1].requests[0], 64, &unique);
  EXPECT_EQ(first.size(), 300u);
  EXPECT_EQ(second.size(), 450u);
  EXPECT_EQ(CommonPrefix(first, second), 256u);
  EXPECT_EQ(CommonPrefix(first, other), 0u);
}

TEST(Trace, SaysWhatIsKnownOfASessionsMessages) {
  const auto trace = Read(kTwoSessions);
  const PromptShape& first = trace->sessions[0].requests[0].shape;
  const PromptShape& second = trace->sessions[0].requests[1].shape;
  EXPECT_EQ(first.header_end, 128u);
  EXPECT_EQ(first.query_end, 300u);
  ASSERT_EQ(second.turns.size(), 2u);
  EXPECT_TRUE(second.turns[0].by_user);
  EXPECT_EQ(second.turns[1].position, 310u);  // after the first prompt and its answer
  EXPECT_FALSE(second.turns[1].by_user);
  EXPECT_EQ(second.query_end, 300u);
  EXPECT_EQ(second.messages_end, 450u);
}

TEST(Trace, BlocksAreGlobalAndTheLastMayBeCutShort) {
  const auto trace =
      Read(R"({"timestamp":0,"input_length":700,"output_length":5,"hash_ids":[70,71]})"
           "\n"
           R"({"timestamp":9,"input_length":600,"output_length":5,"hash_ids":[70,99]})");
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_TRUE(trace->absolute_time);
  EXPECT_EQ(trace->block_tokens, 512u);
  Token unique = 1 << 30;
  const Tokens first = PromptOf(trace->sessions[0].requests[0], 512, &unique);
  const Tokens second = PromptOf(trace->sessions[1].requests[0], 512, &unique);
  EXPECT_EQ(first.size(), 700u);
  EXPECT_EQ(CommonPrefix(first, second), 512u);
}

TEST(Trace, ErrorsNameTheLineAndTheField) {
  EXPECT_NE(Message("{}").find("line 1: the format is not known"), std::string::npos);
  EXPECT_NE(Message("[1]").find("line 1: expected a JSON object"), std::string::npos);
  EXPECT_NE(Message(R"({"timestamp":0,"input_length":-3,"output_length":5,"hash_ids":[]})")
                .find("input_length"),
            std::string::npos);
  EXPECT_NE(
      Message(R"({"block_size":64,"requests":[{"in":9,"out":1,"blocks":[[3,2]]}]})").find("blocks"),
      std::string::npos);
  EXPECT_NE(Message("").find("no requests"), std::string::npos);
  EXPECT_NE(Message(R"({"block_size":64,"requests":[{"in":9,"out":1,"blocks":[[1,99999999]]}]})")
                .find("more than tokens"),
            std::string::npos);
  for (const char* ids : {"[[0,7]]", "[[5,0]]", "[0,8]", "[[0,99999999999]]", "7"}) {
    EXPECT_NE(Message(R"({"timestamp":0,"input_length":8,"output_length":1,"hash_ids":[7],)"
                      R"("token_ids":)" +
                      std::string(ids) + "}")
                  .find("line 1: token_ids: expected"),
              std::string::npos)
        << ids;
  }
}

TEST(Trace, SizesThatNoTraceHasAreRefused) {
  const std::string block = R"({"timestamp":0,"hash_ids":[0],"output_length":5)";
  const std::string request = R"("in":9,"out":1,"blocks":[[0,0]])";
  const std::string session = R"({"block_size":64,"requests":[{"in":9,"out":1,)";
  for (const std::string& line : std::vector<std::string>{
           block + R"(,"input_length":18446744073709551615})",
           block + R"(,"input_length":1e300})",
           block + R"(,"input_length":9,"block_size":-1})",
           R"({"timestamp":0,"hash_ids":[0],"input_length":9,"output_length":1e18})",
           R"({"block_size":1e300,"requests":[{)" + request + "}]}",
           R"({"block_size":64,"tool_tokens":-1,"requests":[{)" + request + "}]}",
           session + R"("blocks":[[0,18446744073709551615]]}]})",
           session + R"("blocks":[[0,0]],"t":1e308}]})",
           session + R"("blocks":[[0,0]],"agent":1e300}]})",
       }) {
    EXPECT_NE(Message(line).find("line 1: "), std::string::npos) << line;
  }
}

TEST(Trace, LinesThatAreNoJsonAreCountedAndLeftOut) {
  const std::string line = R"({"timestamp":0,"input_length":9,"output_length":1,"hash_ids":[7]})";
  const auto trace = Read(line + "\n" + line.substr(0, 30) + "\n" + line);
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_EQ(trace->torn_lines, 1u);
  EXPECT_EQ(trace->sessions.size(), 2u);
  EXPECT_NE(Message("no\ntrace").find("2 lines are no JSON"), std::string::npos);
}

std::vector<size_t> Order(const std::vector<TraceStep>& steps) {
  std::vector<size_t> sessions;
  for (const TraceStep& step : steps) sessions.push_back(step.session);
  return sessions;
}

TEST(Trace, RunsSoManySessionsSideBySide) {
  const auto trace = Read(kTwoSessions);
  EXPECT_EQ(Order(Interleave(*trace, 0)), (std::vector<size_t>{0, 1, 0}));
  EXPECT_EQ(Order(Interleave(*trace, 1)), (std::vector<size_t>{0, 0, 1}));
  EXPECT_EQ(Interleave(*trace, 1).back().at_ms, 3500);
}

}  // namespace
}  // namespace cairn
