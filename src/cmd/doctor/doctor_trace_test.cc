#include "cmd/doctor/doctor.h"

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

// A conversation of which each request reuses all that it shares: a system prefix of 1,000 tokens,
// a question of 50 and an answer of 50 a turn. With `first`, the numbers of all tokens are new.
std::string TurnLine(size_t turn, size_t reused, uint64_t first, uint64_t last, uint64_t known) {
  const size_t prompt = 1000 + 100 * turn + 55;
  Json line = {{"timestamp", turn},          {"input_length", prompt}, {"output_length", 45},
               {"reused", reused},           {"prompt_ms", 600},       {"header_end", 1000},
               {"messages_end", prompt - 5}, {"namespace", 0}};
  line["turns"] = Json::array();
  for (size_t i = 0; i <= turn; ++i) line["turns"].push_back(Json::array({1000 + 100 * i, 1}));
  line["token_ids"] = Json::array();
  if (known > 0) line["token_ids"].push_back(Json::array({0, known - 1}));
  line["token_ids"].push_back(Json::array({first, last}));
  return ToText(line) + "\n";
}

TEST(DoctorTrace, FindsThatTheSystemPrefixChanges) {
  std::string text = TurnLine(0, 0, 0, 1099, 0);
  uint64_t next = 1100;
  for (size_t turn = 1; turn < 6; ++turn) {
    // All behind the tenth token is new.
    const uint64_t tokens = 1000 + 100 * turn + 100 - 10;
    text += TurnLine(turn, 10, next, next + tokens - 1, 10);
    next += tokens;
  }
  std::string notes;
  const auto report = DoctorOfTraces({FileOf("changing.jsonl", text)}, &notes);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(notes, "");
  const Json client = Json::parse(*report)["clients"][0];
  EXPECT_EQ(client["requests"], 6);
  EXPECT_EQ(client["causes"][0]["cause"], "changing_text") << *report;
  // From the second turn on, all but the system prefix and what is new.
  EXPECT_GT(client["avoidable_tokens"].get<size_t>(), 4 * 1000u);
}

TEST(DoctorTrace, FindsNothingWhereAllIsReused) {
  std::string text = TurnLine(0, 0, 0, 1099, 0);
  for (size_t turn = 1; turn < 6; ++turn) {
    const uint64_t known = 1000 + 100 * turn;
    text += TurnLine(turn, known, known, known + 99, known);
  }
  std::string notes;
  const auto report = DoctorOfTraces({FileOf("whole.jsonl", text)}, &notes);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(Json::parse(*report)["clients"][0]["causes"].size(), 0u) << *report;
}

TEST(DoctorTrace, LeavesOutLinesThatAreCutOrOfAnotherVersion) {
  const std::string line = TurnLine(0, 0, 0, 1099, 0);
  std::string notes;
  const std::string path =
      FileOf("cut.jsonl", line + line.substr(0, line.size() / 2) + "\n" +
                              R"({"input_length": "many", "token_ids": []})"
                              "\n" +
                              R"({"input_length": 5, "token_ids": [[9, 3]]})"
                              "\n" +
                              R"({"input_length": 5, "token_ids": [[0, 18446744073709551615]]})"
                              "\n" +
                              R"({"input_length": 5, "reused": -1, "token_ids": [[0, 3]]})"
                              "\n[]\n\n" +
                              line);
  const auto report = DoctorOfTraces({path}, &notes);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(Json::parse(*report)["clients"][0]["requests"], 2);
  EXPECT_NE(notes.find("6 lines of " + path), std::string::npos) << notes;
}

TEST(DoctorTrace, RefusesWhatIsNoTrace) {
  std::string notes;
  const auto missing = DoctorOfTraces({"/nowhere/day.jsonl"}, &notes);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  const auto other = DoctorOfTraces({FileOf("other.txt", "Hello\n{}\n")}, &notes);
  ASSERT_FALSE(other.has_value());
  EXPECT_NE(other.error().message.find("--trace-out"), std::string::npos);
}

}  // namespace
}  // namespace cairn::doctor_trace_test
