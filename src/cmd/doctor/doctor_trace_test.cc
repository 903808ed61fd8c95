#include "cmd/doctor/doctor_trace.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"

namespace cairn::doctor_trace_test {
namespace {

// Returns the path of a file with these lines.
std::string FileOf(const std::string& name, const std::string& text) {
  std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

constexpr size_t kHeaderTokens = 1000;
constexpr size_t kTurnTokens = 100;
constexpr size_t kQuestionTokens = 50;
constexpr size_t kOpeningTokens = 5;  // the generation prompt

// A turn of a conversation: a system prefix of 1,000 tokens, a question of 50 and an answer of 50 a
// turn. The first `known` tokens have the numbers from 0 on, the others those from `first` on.
std::string TurnLine(size_t turn, size_t reused, size_t known, uint64_t first,
                     uint64_t name_space = 0) {
  const size_t question = kHeaderTokens + kTurnTokens * turn;
  const size_t prompt = question + kQuestionTokens + kOpeningTokens;
  const size_t output = kTurnTokens - kQuestionTokens - kOpeningTokens;
  Json line = {{"timestamp", 1000 * turn},    {"input_length", prompt},
               {"output_length", output},     {"reused", reused},
               {"processed", prompt},         {"prompt_ms", prompt - reused},
               {"header_end", kHeaderTokens}, {"messages_end", prompt - kOpeningTokens},
               {"namespace", name_space},     {"conversation", name_space}};
  line["turns"] = Json::array();
  line["eog_ends"] = Json::array();
  line["eog_ends"].push_back(kHeaderTokens);
  for (size_t i = 0; i <= turn; ++i) {
    const size_t begin = kHeaderTokens + kTurnTokens * i;
    line["turns"].push_back(Json::array({begin, 1}));
    line["eog_ends"].push_back(begin + kQuestionTokens);
    if (i < turn) line["eog_ends"].push_back(begin + kTurnTokens);
  }
  line["token_ids"] = Json::array();
  if (known > 0) line["token_ids"].push_back(Json::array({0, known - 1}));
  line["token_ids"].push_back(Json::array({first, first + (prompt + output - known) - 1}));
  return ToText(line) + "\n";
}

constexpr size_t kTurns = 6;

// All behind the tenth token of the system prefix is new in each turn.
std::string Changing() {
  std::string text = TurnLine(0, 0, 0, 0);
  uint64_t next = kHeaderTokens + kTurnTokens;
  for (size_t turn = 1; turn < kTurns; ++turn) {
    text += TurnLine(turn, 10, 10, next);
    next += kHeaderTokens + kTurnTokens * (turn + 1) - 10;
  }
  return text;
}

// Each turn continues the last one.
std::string Unchanged(bool reuses) {
  std::string text = TurnLine(0, 0, 0, 0);
  for (size_t turn = 1; turn < kTurns; ++turn) {
    const size_t known = kHeaderTokens + kTurnTokens * turn;
    text += TurnLine(turn, reuses ? known : 0, known, known);
  }
  return text;
}

Json ReportOf(const std::vector<std::string>& paths, std::string* notes = nullptr) {
  std::string unread;
  const auto report = DoctorOfTraces(paths, {}, notes == nullptr ? &unread : notes);
  EXPECT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(notes != nullptr || unread.empty()) << unread;
  return report ? Json::parse(*report) : Json();
}

TEST(DoctorTrace, FindsThatTheSystemPrefixChanges) {
  const Json report = ReportOf({FileOf("changing.jsonl", Changing())});
  const Json client = report["clients"][0];
  EXPECT_EQ(client["requests"], kTurns);
  ASSERT_EQ(client["causes"].size(), 1u) << ToText(report);
  const Json cause = client["causes"][0];
  EXPECT_EQ(cause["cause"], "changing_text");
  // All that the turn before had, its answer included.
  size_t known = 0;
  for (size_t turn = 1; turn < kTurns; ++turn) known += kHeaderTokens + kTurnTokens * turn - 10;
  EXPECT_EQ(cause["tokens"], known);
  // A replay without the change reuses as much, but for a few tokens at the cuts.
  const auto saved = cause["saved_tokens"].get<double>();
  EXPECT_GT(saved, 0.95 * static_cast<double>(known)) << ToText(report);
  EXPECT_LE(saved, 1.05 * static_cast<double>(known));
  EXPECT_NEAR(cause["saved_minutes"].get<double>(), saved / 60'000, 0.001);
  EXPECT_EQ(report["replay"]["model_profile"], "qwen3.5-4b");
}

TEST(DoctorTrace, FindsNothingWhereAllIsReused) {
  const Json report = ReportOf({FileOf("whole.jsonl", Unchanged(true))});
  EXPECT_EQ(report["clients"][0]["causes"].size(), 0u) << ToText(report);
}

TEST(DoctorTrace, FindsWhatTheServerDidNotKeep) {
  const Json report = ReportOf({FileOf("unkept.jsonl", Unchanged(false))});
  EXPECT_EQ(report["clients"][0]["causes"][0]["cause"], "not_kept") << ToText(report);
  // The replayed server keeps everything, so more memory saves nothing there.
  EXPECT_EQ(report["clients"][0]["causes"][0]["saved_tokens"], 0);
}

TEST(DoctorTrace, EachKeyIsAClient) {
  const Json report =
      ReportOf({FileOf("keys.jsonl", TurnLine(0, 0, 0, 0, 0) + TurnLine(0, 0, 0, 5000, 1))});
  EXPECT_EQ(report["clients"].size(), 2u);
}

// The form of Mooncake's traces: a replay says what would have been reused.
TEST(DoctorTrace, ReplaysTracesThatNoServerOfOursWrote) {
  std::string text;
  for (size_t i = 0; i < 4; ++i) {
    Json line = {{"timestamp", 1000 * i}, {"input_length", 2000 + i}, {"output_length", 10}};
    line["hash_ids"] = Json::array({0, 1, 2, 10 + i});
    text += ToText(line) + "\n";
  }
  const Json report = ReportOf({FileOf("blocks.jsonl", text)});
  const Json client = report["clients"][0];
  EXPECT_EQ(client["requests"], 4);
  EXPECT_EQ(client["prompt_tokens"], 8006);
  EXPECT_GT(client["reused_tokens"].get<size_t>(), 2u * 1024);
  EXPECT_LE(client["reused_tokens"].get<size_t>(), 3u * 1536);
}

TEST(DoctorTrace, LeavesOutLinesThatAreCut) {
  const std::string line = TurnLine(0, 0, 0, 0);
  std::string notes;
  const std::string path =
      FileOf("cut.jsonl", line + line.substr(0, line.size() / 2) + "\n\n" + line + "{\"input_");
  const Json report = ReportOf({path}, &notes);
  EXPECT_EQ(report["clients"][0]["requests"], 2);
  EXPECT_EQ(notes, "cairn doctor: 2 lines of " + path + " are cut, and left out\n");
}

TEST(DoctorTrace, RefusesWhatIsNoTraceAndNamesTheLine) {
  std::string notes;
  const auto missing = DoctorOfTraces({"/nowhere/day.jsonl"}, {}, &notes);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  const std::string good = TurnLine(0, 0, 0, 0);
  const std::string five =
      R"({"timestamp": 5, "input_length": 5, "output_length": 0, "token_ids": )";
  const std::vector<std::string> texts = {"Hello\n",
                                          "{}\n",
                                          good + "[]\n",
                                          good + "{\"input_length\": \"many\"}\n",
                                          good + five + "[[9, 3]]}\n",
                                          good + five + "[[0, 99999999999]]}\n",
                                          good + five + "[[0, 3]]}\n"};
  for (const std::string& text : texts) {
    const std::string path = FileOf("other.txt", text);
    const auto refused = DoctorOfTraces({path}, {}, &notes);
    ASSERT_FALSE(refused.has_value()) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(refused.error().message.starts_with(path + ": ")) << refused.error().message;
    EXPECT_NE(refused.error().message.find("--trace-out"), std::string::npos);
    const bool second = text.starts_with(good);
    EXPECT_EQ(refused.error().message.find("line 2: ") != std::string::npos, second)
        << refused.error().message;
  }
  const auto profile = DoctorOfTraces({FileOf("day.jsonl", good)}, {"gpt-2"}, &notes);
  ASSERT_FALSE(profile.has_value());
  EXPECT_NE(profile.error().message.find("qwen3.5-4b"), std::string::npos);
}

}  // namespace
}  // namespace cairn::doctor_trace_test
