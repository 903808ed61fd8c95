// A server is killed (kill -9) at random moments during writes and restarted on the same folder.
// Afterwards no answer may differ from that of a server without a cache, no file may have contents
// that its header does not promise, and the folder must be within its budget.
//
// CAIRN_CRASHES: the number of kills; 20 if unset. `make crash` sets 200.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "served.h"

namespace cairn {
namespace {

using test::MetricOf;

constexpr uintmax_t kBudgetMib = 24;
// The budget in the flag's unit.
constexpr const char* kBudgetGib = "0.0234375";

int Crashes() {
  constexpr int kUsual = 20;
  const char* asked = std::getenv("CAIRN_CRASHES");
  return asked == nullptr ? kUsual : std::atoi(asked);
}

class CrashTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = test::OwnPath("crash_test_cache");
    std::filesystem::remove_all(folder_);
    plain_ = Start({"--cache-ram", "0"});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<ServerProcess> Start(const test::Flags& flags) {
    const test::Flags exact = {"--reuse", "exact", "--cache-dir", folder_.string()};
    auto server = ServerProcess::Start({.argv = test::ServeCommand(test::Join(exact, flags))});
    EXPECT_TRUE(server.has_value()) << server.error().message;
    return server ? std::move(*server) : nullptr;
  }

  static std::string Ask(const ServerProcess& server, const Json& body) {
    const auto reply = HttpClient(server.url()).Post("/v1/chat/completions", body.dump());
    if (!reply || reply->status != 200) return "";
    return Json::parse(reply->body)["choices"][0]["message"]["content"].get<std::string>();
  }

  // Returns the answer of a server without a cache, requested once per body.
  const std::string& PlainAnswer(const Json& body) {
    std::string& answer = plain_answers_[body.dump()];
    if (answer.empty()) answer = Ask(*plain_, body);
    return answer;
  }

  // Returns one of a few conversations, at one of its first turns.
  Json AnyTurn() {
    constexpr unsigned kConversations = 6;
    constexpr unsigned kTurns = 3;
    const char letter = static_cast<char>('a' + random_() % kConversations);
    Json body = {{"max_tokens", 8}, {"temperature", 0}};
    body["messages"].push_back({{"role", "system"}, {"content", std::string(700, letter)}});
    const uint64_t turns = 1 + random_() % kTurns;
    for (uint64_t turn = 0; turn < turns; ++turn) {
      if (turn > 0) {
        body["messages"].push_back({{"role", "assistant"}, {"content", std::string(60, letter)}});
      }
      body["messages"].push_back(
          {{"role", "user"}, {"content", std::string(100 + 10 * turn, letter)}});
    }
    return body;
  }

  uintmax_t FolderBytes() const {
    uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    return bytes;
  }

  // A server is writing meanwhile, so files and folders may appear and vanish.
  bool HoldsObject() const {
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator entry(folder_, error), end;
         !error && entry != end; entry.increment(error)) {
      if (entry->path().extension() == ".cairn") return true;
    }
    return false;
  }

  void WaitForFirstFile() const {
    constexpr std::chrono::milliseconds kStep(10);
    for (std::chrono::milliseconds waited(0); waited < std::chrono::minutes(1); waited += kStep) {
      if (HoldsObject()) return;
      std::this_thread::sleep_for(kStep);
    }
  }

  std::filesystem::path folder_;
  std::unique_ptr<ServerProcess> plain_;
  std::map<std::string, std::string> plain_answers_;
  std::mt19937 random_{20261121};
};

TEST_F(CrashTest, NothingWrongComesOfBeingKilledWhileWriting) {
  const std::vector<std::string> flags = {"--cache-disk", kBudgetGib, "--save-after-ms", "0"};
  const int crashes = Crashes();
  double taken_in = 0;
  for (int crash = 0; crash < crashes; ++crash) {
    SCOPED_TRACE(testing::Message() << "life " << crash + 1 << " of " << crashes);
    // Every second life has no memory for even one conversation.
    const test::Flags little = crash % 2 == 1 ? test::Flags{"--cache-ram", "1"} : test::Flags{};
    auto server = Start(test::Join(flags, little));
    ASSERT_NE(server, nullptr);
    // A request in flight when the server is killed gets no answer.
    const uint64_t lives_ms = 50 + random_() % 700;
    std::thread killer([&] {
      // A slow machine gets the time to write a first file, without which the test shows nothing.
      WaitForFirstFile();
      std::this_thread::sleep_for(std::chrono::milliseconds(lives_ms));
      server->Signal(SIGKILL);
    });
    while (!server->exit_code()) {
      const Json body = AnyTurn();
      const std::string answer = Ask(*server, body);
      if (answer.empty()) continue;
      EXPECT_EQ(answer, PlainAnswer(body));
    }
    killer.join();
    if (std::filesystem::exists(folder_)) {
      // The temporary file of an interrupted write may exceed the budget.
      EXPECT_LE(FolderBytes(), (kBudgetMib + 2) << 20);
    }
    if (HasFailure()) return;
  }
  auto server = Start(flags);
  ASSERT_NE(server, nullptr);
  for (int i = 0; i < 20; ++i) {
    const Json body = AnyTurn();
    EXPECT_EQ(Ask(*server, body), PlainAnswer(body));
  }
  taken_in = MetricOf(*server, "cairn_cache_discovered_total");
  EXPECT_GT(taken_in, 0);
  EXPECT_EQ(MetricOf(*server, "cairn_disk_corrupt_total"), 0);
  EXPECT_EQ(server->Stop(), 0) << server->LastLines();
  EXPECT_LE(FolderBytes(), kBudgetMib << 20);
}

}  // namespace
}  // namespace cairn
