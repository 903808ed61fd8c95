// The end of the real program: what one interrupt waits for, and a second does not.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/read_file.h"
#include "made_model.h"
#include "play/http_client.h"
#include "play/server_process.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

constexpr int kPatienceMs = 60'000;

const std::string& ModelPath() {
  static const std::string path = test::WriteMadeModel("stop_test");
  return path;
}

class StopTest : public testing::Test {
 protected:
  StopTest() { Clear(); }
  ~StopTest() override {
    server_.reset();
    Clear();
  }
  void Clear() const {
    for (const std::string& path : {log_, folder_}) std::filesystem::remove_all(path);
  }

  // A server that has read much and saved nothing of it.
  void ServeAndRead(const std::vector<std::string>& flags) {
    Serve(flags);
    const Json body = {{"prompt", std::string(3500, 'p')}, {"max_tokens", 2}, {"temperature", 0}};
    const auto reply = HttpClient(server_->url()).Post("/v1/completions", body.dump());
    ASSERT_TRUE(reply.has_value() && reply->status == 200);
    ASSERT_EQ(Log().find("stopping"), std::string::npos);
  }
  void Serve(const std::vector<std::string>& flags) {
    ServerProcessOptions options;
    options.argv = {CAIRN_PROGRAM, "serve",    "--cache-dir", folder_,  "--save-after-ms",
                    "1000000",     "-m",       ModelPath(),   "--port", "0",
                    "-c",          "4096",     "-t",          "2",      "--grid",
                    "64",          "--no-warm"};
    options.argv.insert(options.argv.end(), flags.begin(), flags.end());
    options.log_path = log_;
    auto server = ServerProcess::Start(options);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }
  std::string Log() const {
    const auto text = ReadFile(log_);
    return text ? *text : std::string();
  }
  bool LogSays(const std::string& words) const {
    for (int ms = 0; ms < kPatienceMs; ms += 20) {
      if (Log().find(words) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  const std::string log_ = test::OwnPath("stop_test.log");
  const std::string folder_ = test::OwnPath("stop_test.cache");
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(StopTest, OneInterruptSavesWhatWasRead) {
  ServeAndRead({});
  server_->Signal(SIGINT);
  EXPECT_EQ(server_->WaitForExit(kPatienceMs), 0);
  EXPECT_TRUE(LogSays("saved to")) << Log();
}

TEST_F(StopTest, ASecondInterruptWaitsForNoDisk) {
  // Slow enough that the second comes in the middle of it.
  ServeAndRead({"--disk-write-mib-s", "1", "--shutdown-timeout", "3600"});
  server_->Signal(SIGINT);
  ASSERT_TRUE(LogSays("stopping")) << Log();
  server_->Signal(SIGINT);
  EXPECT_EQ(server_->WaitForExit(kPatienceMs), 128 + SIGINT);
  EXPECT_TRUE(LogSays("interrupted again")) << Log();
  EXPECT_EQ(Log().find("saved to"), std::string::npos);
  // What was half written is no trouble.
  const std::string verify = "'" CAIRN_PROGRAM "' cache verify --cache-dir '" + folder_ + "'";
  EXPECT_EQ(std::system((verify + " > /dev/null").c_str()), 0);
  Serve({});
}

TEST_F(StopTest, AskingTwiceToTerminateStillSaves) {
  ServeAndRead({});
  server_->Signal(SIGTERM);
  server_->Signal(SIGTERM);
  EXPECT_EQ(server_->WaitForExit(kPatienceMs), 0);
  EXPECT_TRUE(LogSays("saved to")) << Log();
}

}  // namespace
}  // namespace cairn
