#include "cmd/doctor/doctor_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/tokens.h"
#include "trace/sequence_numbers.h"

namespace cairn::doctor_trace_test {
namespace {

// Returns the path of a file with these lines.
std::string FileOf(const std::string& name, const std::string& text) {
  std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

constexpr size_t kHeaderTokens = 1000;
constexpr size_t kOpeningTokens = 5;  // the generation prompt, which begins an answer too
constexpr int kTurns = 8;

// The trace of a server that reuses all that it has had before. Messages are numbers; their length
// depends on the number.
class Day {
 public:
  struct Request {
    int system = 0;                  // a system prefix of 1,000 tokens; all begin with the same ten
    std::vector<int> messages = {};  // a user's, an answer, …, a user's
    int answer = 0;
    uint64_t name_space = 0;
    bool reuse = true;
  };

  void Ask(const Request& asked) {
    Json line = {{"timestamp", 1000 * requests_++},
                 {"header_end", kHeaderTokens},
                 {"namespace", asked.name_space},
                 {"conversation", asked.name_space},
                 {"end", "model"},
                 {"turns", Json::array()},
                 {"eog_ends", Json::array()}};
    if (!asked.reuse) line["reuse"] = false;
    Tokens tokens(10, 1);
    tokens.resize(kHeaderTokens, 10 + asked.system);
    line["eog_ends"].push_back(tokens.size());
    for (size_t i = 0; i < asked.messages.size(); ++i) {
      if (i % 2 == 0) line["turns"].push_back(Json::array({tokens.size(), 1}));
      if (i % 2 == 1) tokens.insert(tokens.end(), kOpeningTokens, 2);
      Say(asked.messages[i], &tokens);
      line["eog_ends"].push_back(tokens.size());
    }
    line["messages_end"] = tokens.size();
    tokens.insert(tokens.end(), kOpeningTokens, 2);
    const size_t prompt = tokens.size();
    Say(asked.answer, &tokens);
    const uint64_t known_numbers = numbers_.next();
    size_t known = 0;
    line["token_ids"] = Json::array();
    const auto numbers = numbers_.Add(asked.name_space, tokens);
    for (const BlockRange& range : numbers.value()) {
      line["token_ids"].push_back(Json::array({range.first, range.last}));
      if (range.first < known_numbers) known += range.last - range.first + 1;
    }
    const size_t reused = asked.reuse ? std::min(known, prompt - 1) : 0;
    line["input_length"] = line["processed"] = prompt;
    line["output_length"] = tokens.size() - prompt;
    line["reused"] = reused;
    line["prompt_ms"] = prompt - reused;
    text_ += ToText(line) + "\n";
  }

  const std::string& text() const { return text_; }

 private:
  static void Say(int message, Tokens* tokens) {
    tokens->insert(tokens->end(), static_cast<size_t>(200 + 30 * (message % 23)), 1000 + message);
  }

  size_t requests_ = 0;
  SequenceNumbers numbers_;
  std::string text_;
};

// The messages up to the turn's question.
std::vector<int> Until(int turn) {
  std::vector<int> messages;
  for (int i = 0; i <= 2 * turn; ++i) messages.push_back(i);
  return messages;
}

// Plays a conversation; `change` makes the fault.
std::string Played(const std::function<void(int turn, Day::Request*)>& change) {
  Day day;
  for (int turn = 0; turn < kTurns; ++turn) {
    Day::Request request{.messages = Until(turn), .answer = 2 * turn + 1};
    change(turn, &request);
    day.Ask(request);
  }
  return day.text();
}

std::string FirstLine() {
  const std::string text = Played([](int, Day::Request*) {});
  return text.substr(0, text.find('\n') + 1);
}

Json ReportOf(const std::vector<std::string>& paths, std::string* notes = nullptr) {
  std::string unread;
  const auto report = DoctorOfTraces(paths, {}, notes == nullptr ? &unread : notes);
  EXPECT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(notes != nullptr || unread.empty()) << unread;
  return report ? Json::parse(*report) : Json();
}

struct Planted {
  const char* cause;
  std::function<void(int turn, Day::Request*)> change;
};

TEST(DoctorTrace, NamesEachPlantedFaultAndReplaysItsCure) {
  const std::vector<Planted> all = {
      {"changing_text", [](int turn, Day::Request* request) { request->system = turn; }},
      {"two_system_prompts", [](int turn, Day::Request* request) { request->system = turn % 2; }},
      {"trimmed_history",
       [](int turn, Day::Request* request) {
         auto& messages = request->messages;
         if (turn > 3) messages.erase(messages.begin(), messages.begin() + 2 * (turn - 3));
       }},
      {"rewritten_answer",
       [](int turn, Day::Request* request) {
         for (int i = 1; i < 2 * turn; i += 2) request->messages[static_cast<size_t>(i)] += 100;
         if (turn > 0) request->messages[1] += turn;
       }},
      {"not_allowed", [](int, Day::Request* request) { request->reuse = false; }}};
  for (const Planted& planted : all) {
    const Json report = ReportOf({FileOf("planted.jsonl", Played(planted.change))});
    const Json client = report["clients"][0];
    EXPECT_EQ(client["requests"], kTurns);
    ASSERT_GE(client["causes"].size(), 1u) << planted.cause << ToText(report);
    const Json cause = client["causes"][0];
    EXPECT_EQ(cause["cause"], planted.cause) << ToText(report);
    // The sketches and the replay agree, but for a few tokens at the cuts.
    const auto tokens = cause["tokens"].get<double>();
    const auto saved = cause["saved_tokens"].get<double>();
    EXPECT_GT(tokens, 3000) << planted.cause;
    EXPECT_NEAR(saved, tokens, 0.05 * tokens) << planted.cause << ToText(report);
    EXPECT_NEAR(cause["saved_minutes"].get<double>(), saved / 60'000, 0.002) << planted.cause;
    EXPECT_EQ(report["replay"]["model_profile"], "qwen3.5-4b");
  }
}

TEST(DoctorTrace, FindsNothingWhereAllIsReused) {
  const Json report = ReportOf({FileOf("whole.jsonl", Played([](int, Day::Request*) {}))});
  EXPECT_EQ(report["clients"][0]["causes"].size(), 0u) << ToText(report);
}

TEST(DoctorTrace, FindsWhatTheServerDidNotKeep) {
  std::istringstream text(Played([](int, Day::Request*) {}));
  std::string unkept;
  for (std::string line; std::getline(text, line);) {
    Json json = Json::parse(line);
    json["reused"] = 0;
    unkept += ToText(json) + "\n";
  }
  const Json report = ReportOf({FileOf("unkept.jsonl", unkept)});
  EXPECT_EQ(report["clients"][0]["causes"][0]["cause"], "not_kept") << ToText(report);
  // The replayed server keeps everything, so more memory saves nothing there.
  EXPECT_EQ(report["clients"][0]["causes"][0]["saved_tokens"], 0);
}

TEST(DoctorTrace, EachKeyIsAClient) {
  Day day;
  for (const uint64_t name_space : {0, 1}) {
    day.Ask({.messages = {0}, .answer = 1, .name_space = name_space});
  }
  const Json report = ReportOf({FileOf("keys.jsonl", day.text())});
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
  const std::string line = FirstLine();
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
  const std::string good = FirstLine();
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
