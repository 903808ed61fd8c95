// FaultyServerTest: a server with injected faults, and one without a cache that gives the right
// answers.

#ifndef CAIRN_TESTS_FAULTY_SERVER_H_
#define CAIRN_TESTS_FAULTY_SERVER_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "faulty_world.h"
#include "served.h"

namespace cairn::test {

class FaultyServerTest : public ServedTest {
 protected:
  // A hanging server could not be stopped.
  void TearDown() override { world_.Heal(); }

  static Flags ExactCommand(const Flags& flags) {
    return ServeCommand(Join({"--reuse", "exact", "-np", "1"}, flags));
  }
  void ServeInFaultyWorld(const Flags& flags) {
    ServeAs({.argv = ExactCommand(flags), .environment = world_.environment()});
  }
  void ServeFaulty(const Flags& flags = {}) {
    ServeInFaultyWorld(Join(flags, {"--cache-dir", folder_}));
  }

  // Sends a request and compares with a server without a cache. Returns the tokens prefilled.
  int AskAndCompare(const Json& body) {
    const Json reply = Ask(body);
    if (reply.is_null()) return 0;
    EXPECT_EQ(reply["choices"][0]["message"]["content"], PlainAnswer(body));
    return ReadTokens(reply);
  }
  std::string PlainAnswer(const Json& body) {
    std::string& answer = plain_answers_[body.dump()];
    if (!answer.empty()) return answer;
    if (plain_ == nullptr) {
      auto server =
          ServerProcess::Start({.argv = ExactCommand({"--cache-ram", "0", "--cache-disk", "0"})});
      EXPECT_TRUE(server.has_value()) << server.error().message;
      plain_ = std::move(*server);
    }
    const auto reply = HttpClient(plain_->url()).Post("/v1/chat/completions", body.dump());
    EXPECT_TRUE(reply.has_value());
    return answer = Json::parse(reply->body)["choices"][0]["message"]["content"].get<std::string>();
  }
  // Returns the first question of a conversation.
  static Json Talk(int number) {
    const std::string name = "conversation " + std::to_string(number) + " ";
    return {{"max_tokens", 8},
            {"temperature", 0},
            {"messages",
             {{{"role", "system"}, {"content", name + std::string(900, 's')}},
              {{"role", "user"}, {"content", "first question"}}}}};
  }
  // Each leaves some hundred KiB of snapshots.
  static Json LongTalk(int number) {
    Json body = Talk(number);
    std::string text;
    for (int i = 0; i < 300; ++i) {
      text += std::to_string(number) + " and " + std::to_string(i) + " ";
    }
    body["messages"][1]["content"] = text;
    return body;
  }
  // The most tokens that a server prefills for a Talk that it has cached.
  static constexpr int kReadAgainMax = 100;

  void WaitUntilRefusing() const {
    WaitUntil("it is refused", [&] { return Metric("cairn_disk_refusing") == 1; });
  }
  bool IsHealthy() const {
    const auto reply = HttpClient(server_->url()).Get("/health");
    return reply && reply->status == 200;
  }

  // Returns how many lines of the servers' logs contain `text`. The last lines may be missing.
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

  const std::string folder_ = files_ + "/cache";
  FaultyWorld world_{files_ + "/control", folder_};

 private:
  std::unique_ptr<ServerProcess> plain_;
  std::map<std::string, std::string> plain_answers_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTS_FAULTY_SERVER_H_
