// `cairn serve` is ended, killed and started again: what it had read comes back from its folder.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "made_model.h"
#include "play/http_client.h"
#include "play/server_process.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

const std::string& ModelPath() {
  static const std::string path = test::WriteMadeModel("restart_test");
  return path;
}

class RestartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ModelPath() + "-cache";
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Start(const std::vector<std::string>& flags = {}) {
    ServerProcessOptions options;
    options.argv = {CAIRN_PROGRAM, "serve", "-m", ModelPath(), "--port", "0",           "-c",
                    "4096",        "-t",    "2",  "--grid",    "64",     "--cache-dir", folder_};
    options.argv.insert(options.argv.end(), flags.begin(), flags.end());
    auto server = ServerProcess::Start(options);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }

  Json Ask(const Json& body) {
    const auto reply = HttpClient(server_->url()).Post("/v1/chat/completions", body.dump());
    EXPECT_TRUE(reply.has_value());
    EXPECT_EQ(reply->status, 200) << reply->body;
    return Json::parse(reply->body);
  }

  double Metric(const std::string& name) {
    const std::string metrics = HttpClient(server_->url()).Get("/metrics")->body;
    const size_t found = metrics.find("\n" + name + " ");
    EXPECT_NE(found, std::string::npos) << name;
    return std::stod(metrics.substr(found + name.size() + 2));
  }

  // Until nothing would be lost if the power went.
  void WaitUntilSaved() {
    constexpr std::chrono::milliseconds kStep(50);
    for (std::chrono::milliseconds waited(0); waited < std::chrono::minutes(1); waited += kStep) {
      if (Metric("cairn_disk_unsynced_bytes") == 0) return;
      std::this_thread::sleep_for(kStep);
    }
    FAIL() << "still unsaved: " << Metric("cairn_disk_unsynced_bytes") << " bytes";
  }

  static Json FirstTurn() {
    return {{"max_tokens", 16},
            {"temperature", 0},
            {"messages",
             {{{"role", "system"}, {"content", std::string(1500, 's')}},
              {{"role", "user"}, {"content", "first question"}}}}};
  }
  static Json NextTurn(Json body, const Json& reply) {
    body["messages"].push_back(reply["choices"][0]["message"]);
    body["messages"].push_back({{"role", "user"}, {"content", "second question"}});
    return body;
  }
  // What the next turn reads in a server that was never ended, and a grid step.
  static constexpr int kNewTokensMax = 100 + 64;

  std::string folder_;
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(RestartTest, AConversationGoesOnAfterTheServerWasEnded) {
  Start();
  const Json reply = Ask(FirstTurn());
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  Start();
  const Json next = Ask(NextTurn(FirstTurn(), reply));
  EXPECT_LT(next["timings"]["prompt_n"].get<int>(), kNewTokensMax) << server_->LastLines();
}

TEST_F(RestartTest, AConversationGoesOnAfterTheServerWasKilledOnceNothingIsUnsynced) {
  Start();
  const Json reply = Ask(FirstTurn());
  WaitUntilSaved();
  server_->Signal(SIGKILL);
  EXPECT_EQ(server_->WaitForExit(10'000), 128 + SIGKILL);
  Start();
  const Json next = Ask(NextTurn(FirstTurn(), reply));
  EXPECT_LT(next["timings"]["prompt_n"].get<int>(), kNewTokensMax) << server_->LastLines();
}

TEST_F(RestartTest, AnswersAreTheSameAsWithoutACache) {
  const std::vector<std::string> exact = {"--reuse", "exact"};
  Start(exact);
  const Json body = NextTurn(FirstTurn(), Ask(FirstTurn()));
  ASSERT_EQ(server_->Stop(), 0);
  Start(exact);
  const Json reused = Ask(body);
  EXPECT_LT(reused["timings"]["prompt_n"].get<int>(), kNewTokensMax + 16);
  ASSERT_EQ(server_->Stop(), 0);
  Start({"--reuse", "exact", "--cache-ram", "0"});
  const Json cold = Ask(body);
  EXPECT_GT(cold["timings"]["prompt_n"].get<int>(), 1500);
  EXPECT_EQ(cold["choices"][0]["message"], reused["choices"][0]["message"]);
}

TEST_F(RestartTest, NothingIsKeptWhereTheBudgetIsNothing) {
  Start({"--cache-disk", "0"});
  Ask(FirstTurn());
  ASSERT_EQ(server_->Stop(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(RestartTest, AFolderThatCannotBeUsedIsSaidAndTheServerGoesOn) {
  folder_ = "/proc/no-such-folder";
  Start();
  Ask(FirstTurn());
  EXPECT_GT(Metric("cairn_disk_errors_total"), 0);
  ASSERT_EQ(server_->Stop(), 0);
  EXPECT_NE(server_->LastLines().find("/proc/no-such-folder"), std::string::npos)
      << server_->LastLines();
}

}  // namespace
}  // namespace cairn
