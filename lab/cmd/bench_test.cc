// The whole benchmark, on small synthetic models served by the program itself.

#include "lab/cmd/bench.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/json.h"
#include "lab/bench/bench_runner.h"
#include "lab/client/server_process.h"
#include "lab/cmd/model_make.h"

namespace cairn {
namespace {

class BenchTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ =
        std::filesystem::temp_directory_path() / ("cairn_bench_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    ModelMakeOptions make;
    make.shape.architecture = "qwen35";
    make.shape.width = 64;
    make.path = folder_ / "model.gguf";
    ASSERT_EQ(RunModelMake(make), 0);
    server_ = Serve("0");
  }
  static void TearDownTestSuite() {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  static std::unique_ptr<ServerProcess> Serve(const std::string& port) {
    ServerProcessOptions options;
    options.argv = {CAIRN_PROGRAM, "serve", "--cache-disk", "0",     "-m", folder_ / "model.gguf",
                    "--port",      port,    "-c",           "16384", "-t", "1",
                    "--grid",      "64"};
    options.port = std::stoi(port);
    auto server = ServerProcess::Start(options);
    EXPECT_TRUE(server.has_value()) << (server ? "" : server.error().message);
    return server ? std::move(*server) : nullptr;
  }

  static ScenarioRun Play(const std::string& name, double scale,
                          std::function<Status()> restart = nullptr) {
    ScenarioParams params;
    params.scale = scale;
    params.bytes_per_token = 1;
    const auto scenario = MakeScenario(name, params);
    EXPECT_TRUE(scenario);
    const SteadyClock clock;
    PlayOptions options;
    options.url = server_->url();
    options.clock = &clock;
    options.restart = std::move(restart);
    PlayedScenario played = PlayScenario(*scenario, options);
    EXPECT_EQ(played.run.error, "");
    EXPECT_TRUE(played.notes.empty()) << played.notes.front();
    EXPECT_EQ(played.run.requests.size(), scenario->requests());
    return std::move(played.run);
  }

  static std::filesystem::path folder_;
  static std::unique_ptr<ServerProcess> server_;
};

std::filesystem::path BenchTest::folder_;
std::unique_ptr<ServerProcess> BenchTest::server_;

size_t Read(const ScenarioRun& run) {
  return std::accumulate(
      run.requests.begin(), run.requests.end(), size_t{0},
      [](size_t sum, const RequestFigures& one) { return sum + one.read_tokens; });
}

Json ServersIn(const std::string& path) {
  const Json json = Json::parse(ReadFile(path).value_or(""), nullptr, /*allow_exceptions=*/false);
  EXPECT_EQ(json.value("format", ""), "cairn-bench");
  return json.value("servers", Json::array());
}

TEST_F(BenchTest, OfAGrowingChatOnlyWhatIsNewCannotBeAvoided) {
  const ScenarioRun run = Play("growing-chat", 0.1);
  for (size_t i = 0; i < run.requests.size(); ++i) {
    const RequestFigures& request = run.requests[i];
    EXPECT_EQ(request.answer_tokens, 16u);
    EXPECT_GT(request.first_token_ms, 0);
    size_t known = 0;
    if (i > 0) known = run.requests[i - 1].prompt_tokens + run.requests[i - 1].answer_tokens;
    EXPECT_EQ(request.lower_bound_tokens, request.prompt_tokens - known) << request.what;
    // The answer's last token was sampled but not decoded.
    EXPECT_EQ(request.read_tokens, request.lower_bound_tokens + (i > 0 ? 1 : 0)) << request.what;
  }
  EXPECT_EQ(run.read_in_all_tokens, Read(run));
}

TEST_F(BenchTest, APromptThatComesAgainCostsNothing) {
  const ScenarioRun run = Play("regenerate", 0.1);
  for (const size_t i : {1, 2, 4, 5, 7, 8}) {
    EXPECT_EQ(run.requests[i].lower_bound_tokens, 1u) << run.requests[i].what;
    EXPECT_EQ(run.requests[i].read_tokens, 0u) << run.requests[i].what;
  }
}

TEST_F(BenchTest, TokensThatACancelledPromptLeftCountIntoTheLowerBoundLater) {
  const ScenarioRun run = Play("cancel", 0.5);
  const RequestFigures& cancelled = run.requests[1];
  const RequestFigures& again = run.requests[2];
  EXPECT_TRUE(cancelled.cancelled);
  EXPECT_LT(cancelled.read_tokens, again.prompt_tokens);
  EXPECT_EQ(cancelled.prompt_tokens, again.prompt_tokens);
  const size_t known = run.requests[0].prompt_tokens + run.requests[0].answer_tokens;
  EXPECT_EQ(cancelled.lower_bound_tokens + again.lower_bound_tokens, again.prompt_tokens - known);
  EXPECT_TRUE(run.requests[3].cancelled);
  EXPECT_EQ(run.requests[4].lower_bound_tokens, 1u);
}

TEST_F(BenchTest, GoesOnAfterARestart) {
  const std::string port = std::to_string(server_->port());
  size_t restarts = 0;
  const ScenarioRun run = Play("restart", 0.1, [&]() -> Status {
    ++restarts;
    server_->Stop();
    server_ = Serve(port);
    return {};
  });
  EXPECT_EQ(restarts, 1u);
  EXPECT_GE(run.read_in_all_tokens, Read(run));
}

TEST_F(BenchTest, WritesWhatItSawOfSeveralServers) {
  BenchOptions options;
  options.urls = {server_->url(), server_->url() + "/"};
  options.scenarios = {"regenerate,parallel-same"};
  options.scale = 0.05;
  options.json_path = folder_ / "result.json";
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunBench(options), 0);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("parallel-same"), std::string::npos);
  // Both URLs are the same server, so it has the second run's prefixes cached.
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("regenerate, cairn: the server knew"), std::string::npos) << said;
  EXPECT_NE(said.find("2/4 regenerate, cairn 2: the server knew how this begins"),
            std::string::npos)
      << said;
  const Json servers = ServersIn(options.json_path);
  ASSERT_EQ(servers.size(), 2u);
  EXPECT_EQ(servers[0]["name"], "cairn");
  EXPECT_EQ(servers[1]["name"], "cairn 2");
  EXPECT_EQ(servers[0]["memory"], "hybrid");
  for (const Json& server : servers) {
    ASSERT_EQ(server["runs"].size(), 2u);
    EXPECT_EQ(server["runs"][0]["scenario"], "regenerate");
    EXPECT_EQ(server["runs"][0]["requests"].size(), 9u);
    EXPECT_EQ(server["runs"][1]["requests"].size(), 12u);
  }
  EXPECT_EQ(servers[0]["runs"][0]["requests"][0]["lower_bound_tokens"],
            servers[1]["runs"][0]["requests"][0]["lower_bound_tokens"]);
}

TEST_F(BenchTest, KeepsWhatWasPlayedBeforeAScenarioThatTheServerRefuses) {
  BenchOptions options;
  options.urls = {server_->url()};
  options.scenarios = {"history-36k"};  // longer than the server's context
  options.json_path = folder_ / "refused.json";
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunBench(options), 1);
  testing::internal::GetCapturedStdout();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("1/1 history-36k, cairn ended early: the whole history: the server answered"),
            std::string::npos)
      << said;
  const Json servers = ServersIn(options.json_path);
  ASSERT_EQ(servers.size(), 1u);
  const auto error = servers[0]["runs"].at(0)["error"].get<std::string>();
  EXPECT_TRUE(error.starts_with("the whole history: ")) << error;
}

TEST_F(BenchTest, SaysThatAFileCannotBeWrittenBeforeItPlays) {
  BenchOptions options;
  options.urls = {server_->url()};
  options.scenarios = {"history-36k"};
  options.json_path = folder_ / "nowhere" / "result.json";
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunBench(options), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "cairn-lab bench: the file '" + options.json_path + "' cannot be written\n");
}

std::string ComplaintOf(const BenchOptions& options) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunBench(options), 1);
  return testing::internal::GetCapturedStderr();
}

TEST(BenchCommand, SaysWhatIsWrongBeforeItPlays) {
  BenchOptions options;
  EXPECT_EQ(ComplaintOf(options), "cairn-lab bench: --url is needed: which server?\n");
  options.urls = {"http://127.0.0.1:1"};
  options.scenarios = {"regenerate,nothing"};
  EXPECT_TRUE(ComplaintOf(options).starts_with(
      "cairn-lab bench: there is no scenario 'nothing'; there are all, growing-chat, "));
  options.scenarios = {"regenerate"};
  EXPECT_TRUE(
      ComplaintOf(options).starts_with("cairn-lab bench: no server at http://127.0.0.1:1: "));
  options.trace_path = "/nowhere.jsonl";
  EXPECT_TRUE(ComplaintOf(options).starts_with("cairn-lab bench: the trace '/nowhere.jsonl'"));
  options.restarts = {"a", "b"};
  EXPECT_EQ(ComplaintOf(options),
            "cairn-lab bench: there are 2 --restart commands for 1 servers\n");
}

TEST(BenchCommand, SaysWhatItLeavesOutOfAllAndWhy) {
  BenchOptions options;
  options.urls = {"http://127.0.0.1:1"};
  const std::string said = ComplaintOf(options);
  EXPECT_NE(said.find("Leaving out restart: it needs --restart CMD.\n"), std::string::npos);
  EXPECT_NE(said.find("Leaving out trace: it needs --trace FILE.\n"), std::string::npos);
}

}  // namespace
}  // namespace cairn
