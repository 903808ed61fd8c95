// `cairn serve --trace-out`, on a synthetic hybrid model, and a replay of the file.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "lab/sim/simulator.h"
#include "served.h"
#include "trace/replay/trace.h"

namespace cairn {
namespace {

class TraceOutTest : public test::ServedTest {
 protected:
  void ServeTraced() {
    // A trace does not say where messages begin, so the replay cuts on the grid alone.
    Serve({"--cache-disk", "0", "-c", "8192", "-np", "1", "--cache-ram", "-1", "--trace-out", path_,
           "--no-cut-at-messages"});
  }

  // Sends the next message of a conversation and appends it; records the reuse.
  void Say(const std::string& question, Json* messages) {
    messages->push_back({{"role", "user"}, {"content", question}});
    const Json body = {{"max_tokens", 16}, {"temperature", 0}, {"messages", *messages}};
    const Json answer = Ask(body);
    reused_.push_back(answer["usage"]["prompt_tokens_details"]["cached_tokens"].get<size_t>());
    messages->push_back(answer["choices"][0]["message"]);
  }

  const std::string path_ = files_ + "/trace.jsonl";
  std::vector<size_t> reused_;
};

TEST_F(TraceOutTest, AReplayOfWhatWasServedReusesTheSame) {
  const std::string header = "lighthouse " + std::string(1500, 'h');
  Json one = Json::array({{{"role", "system"}, {"content", header}}});
  Json other = one;
  {
    ServeTraced();
    Say("which marigold " + std::string(300, 'a'), &one);
    Say("whose barque " + std::string(300, 'b'), &other);
    Say("and the steamer", &one);
    Say("and the cutter", &other);
    Say("and the harbour", &other);
    EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
  }
  const std::string text = ReadFile(path_).value_or(std::string());
  for (const char* word : {"lighthouse", "marigold", "barque", "steamer", "hhhh"}) {
    EXPECT_EQ(text.find(word), std::string::npos) << word;
  }
  std::ifstream in(path_);
  const auto trace = ReadTrace(in, TraceFormat::kAuto);
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_EQ(trace->sessions.size(), 2u);
  const auto steps = Interleave(*trace, 0);
  ASSERT_EQ(steps.size(), reused_.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].request->reused_tokens, reused_[i]) << i;
    EXPECT_GT(steps[i].request->shape.header_end, 1500u);
  }
  SimOptions options;
  options.profile = *FindModelProfile("qwen3.5-4b");
  options.cache.ram_bytes_max = SIZE_MAX;
  options.slots = 1;
  options.context_tokens = 8192;
  const auto report = Simulate(steps, trace->block_tokens, options);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->reused_each, reused_);
}

TEST_F(TraceOutTest, TheProgramReplaysTheFile) {
  Json messages = Json::array();
  {
    ServeTraced();
    Say(std::string(700, 'q'), &messages);
    Say("go on", &messages);
    EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
  }
  const std::string figures = path_ + ".json";
  const std::string command = std::string(CAIRN_LAB_PROGRAM) + " sim --trace " + path_ +
                              " --json " + figures + " > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const Json report = Json::parse(ReadFile(figures).value());
  EXPECT_EQ(report["requests"], 2);
  EXPECT_EQ(report["served_reused_tokens"], reused_[0] + reused_[1]);
}

// A client whose system prompt names a mode that changes.
TEST_F(TraceOutTest, TheDoctorFindsInTheFileWhatTheServerFound) {
  constexpr const char* kFound = "1. Old text changes from request to request.";
  Json live;
  {
    Serve(
        {"--cache-disk", "0", "-c", "8192", "-np", "1", "--volatile", "off", "--trace-out", path_});
    Json messages = Json::array({{{"role", "system"}, {"content", ""}}});
    for (const char* mode : {"plan", "build", "look", "test", "rest"}) {
      messages[0]["content"] = std::string("The mode is ") + mode + std::string(900, 'h');
      Say("and then " + std::string(200, 'q'), &messages);
    }
    live = Json::parse(Get("/cairn/doctor").body)["clients"][0];
    EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
  }
  ASSERT_EQ(live["causes"].size(), 1u) << live.dump();
  EXPECT_EQ(live["causes"][0]["cause"], "changing_text");
  const std::string out = path_ + ".txt";
  const std::string command = std::string(CAIRN_PROGRAM) + " doctor --trace " + path_ + " > " + out;
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string report = ReadFile(out).value_or("");
  const size_t found = report.find(kFound);
  ASSERT_NE(found, std::string::npos) << report;
  // Returns the number in front of " tokens" behind the words.
  const auto tokens_behind = [&](const std::string& words) {
    const size_t begin = report.find(words, found) + words.size();
    std::string digits = report.substr(begin, report.find(" tokens", begin) - begin);
    std::erase(digits, ',');
    return std::stod(digits);
  };
  const auto tokens = live["causes"][0]["tokens"].get<double>();
  EXPECT_NEAR(tokens_behind(" requests, "), tokens, 0.05 * tokens) << report << live.dump();
  EXPECT_NEAR(tokens_behind("saves "), tokens, 0.05 * tokens) << report << live.dump();
}

TEST_F(TraceOutTest, AFileThatCannotBeWrittenIsSaidBeforeTheModelLoads) {
  const std::string refusal = Refusal({"--trace-out", "/nowhere/trace"}, "/no/model.gguf");
  EXPECT_NE(refusal.find("--trace-out '/nowhere/trace' cannot be written"), std::string::npos)
      << refusal;
}

}  // namespace
}  // namespace cairn
