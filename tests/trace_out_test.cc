// `cairn serve --trace-out`, on a made hybrid model, and what a replay makes of the file.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "made_model.h"
#include "play/http_client.h"
#include "play/server_process.h"
#include "sim/simulator.h"
#include "sim/trace.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

class TraceOutTest : public testing::Test {
 protected:
  TraceOutTest() { std::filesystem::remove(path_); }

  std::unique_ptr<ServerProcess> Serve() {
    const std::string model = test::WriteMadeModel(name_);
    ServerProcessOptions options;
    options.argv = {CAIRN_PROGRAM, "serve", "--cache-disk", "0",  "-m",          model, "--port",
                    "0",           "-c",    "8192",         "-t", "1",           "-np", "1",
                    "--cache-ram", "-1",    "--grid",       "64", "--trace-out", path_};
    auto server = ServerProcess::Start(options);
    EXPECT_TRUE(server.has_value()) << (server ? "" : server.error().message);
    return server ? std::move(*server) : nullptr;
  }

  // Asks for the next message of a conversation and adds it; remembers what was reused.
  void Ask(const ServerProcess& server, const std::string& question, Json* messages) {
    messages->push_back({{"role", "user"}, {"content", question}});
    const Json body = {{"max_tokens", 16}, {"temperature", 0}, {"messages", *messages}};
    const auto reply = HttpClient(server.url()).Post("/v1/chat/completions", body.dump());
    ASSERT_TRUE(reply.has_value());
    ASSERT_EQ(reply->status, 200) << reply->body;
    const Json answer = Json::parse(reply->body);
    reused_.push_back(answer["usage"]["prompt_tokens_details"]["cached_tokens"]);
    messages->push_back(answer["choices"][0]["message"]);
  }

  std::string Text() const {
    std::ifstream in(path_);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  // Tests may run side by side, each with files of its own.
  const std::string name_ = std::string("trace_out_test_") +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path_ = testing::TempDir() + name_ + ".jsonl";
  std::vector<size_t> reused_;
};

TEST_F(TraceOutTest, AReplayOfWhatWasServedReusesTheSame) {
  const std::string header = "lighthouse " + std::string(1500, 'h');
  Json one = Json::array({{{"role", "system"}, {"content", header}}});
  Json other = one;
  {
    const auto server = Serve();
    ASSERT_NE(server, nullptr);
    Ask(*server, "which marigold " + std::string(300, 'a'), &one);
    Ask(*server, "whose barque " + std::string(300, 'b'), &other);
    Ask(*server, "and the steamer", &one);
    Ask(*server, "and the cutter", &other);
    Ask(*server, "and the harbour", &other);
    EXPECT_EQ(server->Stop(), 0) << server->LastLines();
  }
  const std::string text = Text();
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
    const auto server = Serve();
    ASSERT_NE(server, nullptr);
    Ask(*server, std::string(700, 'q'), &messages);
    Ask(*server, "go on", &messages);
    EXPECT_EQ(server->Stop(), 0) << server->LastLines();
  }
  const std::string figures = path_ + ".json";
  const std::string command =
      std::string(CAIRN_PROGRAM) + " sim --trace " + path_ + " --json " + figures + " > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream in(figures);
  const Json report = Json::parse(in);
  EXPECT_EQ(report["requests"], 2);
  EXPECT_EQ(report["served_reused_tokens"], reused_[0] + reused_[1]);
}

TEST_F(TraceOutTest, AFileThatCannotBeWrittenIsSaidBeforeTheModelLoads) {
  ServerProcessOptions options;
  options.argv = {CAIRN_PROGRAM, "serve", "-m",          "/no/model.gguf",
                  "--port",      "0",     "--trace-out", "/nowhere/trace"};
  const auto server = ServerProcess::Start(options);
  ASSERT_FALSE(server.has_value());
  EXPECT_NE(server.error().message.find("--trace-out '/nowhere/trace' cannot be written"),
            std::string::npos)
      << server.error().message;
}

}  // namespace
}  // namespace cairn
