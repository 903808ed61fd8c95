// FaultyServerTest: a server in a world that a test makes go wrong, and one without a cache beside
// it that says what is right.

#ifndef CAIRN_TESTS_FAULTY_SERVER_H_
#define CAIRN_TESTS_FAULTY_SERVER_H_

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "faulty_world.h"
#include "made_model.h"
#include "play/http_client.h"
#include "play/server_process.h"

namespace cairn::test {

using Json = nlohmann::json;

class FaultyServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    model_ = WriteMadeModel("faulty_server_test");
    folder_ = OwnPath("faulty_server_cache");
    log_ = OwnPath("faulty_server_log");
    std::filesystem::remove_all(folder_);
    std::filesystem::remove(log_);
    world_ = std::make_unique<FaultyWorld>(OwnPath("faulty_server_control"), folder_);
  }
  void TearDown() override {
    // One that hangs could not be ended.
    world_->Heal();
    server_ = nullptr;
    std::filesystem::remove_all(folder_);
    std::filesystem::remove(log_);
  }

  Result<std::unique_ptr<ServerProcess>> Run(const std::vector<std::string>& flags,
                                             bool faulty) const {
    ServerProcessOptions options;
    options.argv = {CAIRN_PROGRAM, "serve", "-m",     model_, "--port",  "0",     "-c",  "4096",
                    "-t",          "1",     "--grid", "64",   "--reuse", "exact", "-np", "1"};
    options.argv.insert(options.argv.end(), flags.begin(), flags.end());
    if (faulty) {
      options.environment = world_->environment();
      options.log_path = log_;
    }
    return ServerProcess::Start(options);
  }
  // Ends the server that runs, if one does.
  void Start(std::vector<std::string> flags = {}) {
    server_ = nullptr;
    flags.insert(flags.end(), {"--cache-dir", folder_});
    auto server = Run(flags, true);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }

  HttpReply Post(const std::string& path, const Json& body) const {
    auto reply = HttpClient(server_->url()).Post(path, body.dump());
    EXPECT_TRUE(reply.has_value()) << reply.error().message;
    return reply.value_or(HttpReply{});
  }
  Json Ask(const Json& body) const {
    const HttpReply reply = Post("/v1/chat/completions", body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.status == 200 ? Json::parse(reply.body) : Json();
  }
  // Asks, and compares with a server without a cache. Returns how many tokens it had to read.
  int AskAndCompare(const Json& body) {
    const Json reply = Ask(body);
    if (reply.is_null()) return 0;
    EXPECT_EQ(reply["choices"][0]["message"]["content"], PlainAnswer(body));
    return reply["timings"]["prompt_n"].get<int>();
  }
  std::string PlainAnswer(const Json& body) {
    std::string& answer = plain_answers_[body.dump()];
    if (!answer.empty()) return answer;
    if (plain_ == nullptr) {
      auto server = Run({"--cache-ram", "0", "--cache-disk", "0"}, false);
      EXPECT_TRUE(server.has_value()) << server.error().message;
      plain_ = std::move(*server);
    }
    const auto reply = HttpClient(plain_->url()).Post("/v1/chat/completions", body.dump());
    EXPECT_TRUE(reply.has_value());
    return answer = Json::parse(reply->body)["choices"][0]["message"]["content"];
  }
  // A conversation's first question.
  static Json Talk(int number) {
    const std::string name = "conversation " + std::to_string(number) + " ";
    return {{"max_tokens", 8},
            {"temperature", 0},
            {"messages",
             {{{"role", "system"}, {"content", name + std::string(900, 's')}},
              {{"role", "user"}, {"content", "first question"}}}}};
  }
  // What a server that has read it before reads at most.
  static constexpr int kReadAgainMax = 100;

  double Metric(const std::string& name) const {
    const std::string metrics = HttpClient(server_->url()).Get("/metrics")->body;
    const size_t found = metrics.find("\n" + name + " ");
    EXPECT_NE(found, std::string::npos) << name;
    return std::stod(metrics.substr(found + name.size() + 2));
  }
  template <typename Condition>
  void WaitUntil(const std::string& what, const Condition& condition) const {
    constexpr std::chrono::milliseconds kStep(20);
    for (std::chrono::milliseconds waited(0); waited < std::chrono::minutes(1); waited += kStep) {
      if (condition()) return;
      std::this_thread::sleep_for(kStep);
    }
    FAIL() << "in vain until " << what << ":\n" << server_->LastLines();
  }
  // Until it says that nothing would be lost if the power went.
  void WaitUntilSaved() const {
    WaitUntil("all is saved", [&] { return Metric("cairn_disk_unsynced_bytes") == 0; });
  }
  void WaitUntilRefusing() const {
    WaitUntil("it is refused", [&] { return Metric("cairn_disk_refusing") == 1; });
  }
  bool IsHealthy() const {
    const auto reply = HttpClient(server_->url()).Get("/health");
    return reply && reply->status == 200;
  }

  // How many lines of the servers' logs hold it. What was said last may not be there yet.
  size_t LinesWith(const std::string& text) const {
    std::ifstream file(log_);
    std::string line;
    size_t lines = 0;
    while (std::getline(file, line)) lines += line.find(text) == std::string::npos ? 0 : 1;
    return lines;
  }
  static std::vector<std::string> FilesIn(const std::string& folder) {
    std::vector<std::string> files;
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
      if (entry.is_regular_file()) files.push_back(entry.path().filename());
    }
    return files;
  }

  std::string model_;
  std::string folder_;
  std::string log_;
  std::unique_ptr<FaultyWorld> world_;
  std::unique_ptr<ServerProcess> server_;

 private:
  std::unique_ptr<ServerProcess> plain_;
  std::map<std::string, std::string> plain_answers_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTS_FAULTY_SERVER_H_
