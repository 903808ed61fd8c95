// What `cairn serve` logs: a line a request, for people or for programs, and never a text of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/read_file.h"
#include "made_model.h"
#include "play/http_client.h"
#include "play/server_process.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

constexpr char kSecret[] = "xyzzy-plugh-2718";

const std::string& ModelPath() {
  static const std::string path = test::WriteMadeModel("serve_log_test");
  return path;
}

class ServeLogTest : public testing::Test {
 protected:
  ~ServeLogTest() override { std::filesystem::remove(log_); }

  void Serve(const std::vector<std::string>& flags) {
    ServerProcessOptions options;
    options.argv = {CAIRN_PROGRAM, "serve", "--cache-disk", "0",  "-m", ModelPath(), "--port",
                    "0",           "-c",    "4096",         "-t", "2",  "--grid",    "64"};
    options.argv.insert(options.argv.end(), flags.begin(), flags.end());
    options.log_path = log_;
    auto server = ServerProcess::Start(options);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }

  // Two prompts that part in the secret, so that their difference would be worth telling.
  std::vector<std::string> AskTwiceAndStop() {
    for (const char* end : {"1", "2"}) {
      const Json body = {{"max_tokens", 4},
                         {"temperature", 0},
                         {"messages",
                          {{{"role", "system"},
                            {"content", std::string(600, 's') + " at " + kSecret + end + " it is"}},
                           {{"role", "user"}, {"content", "hello"}}}}};
      const auto reply = HttpClient(server_->url()).Post("/v1/chat/completions", body.dump());
      EXPECT_TRUE(reply.has_value());
      EXPECT_EQ(reply->status, 200);
      ids_.push_back(Json::parse(reply->body)["id"]);
    }
    EXPECT_EQ(server_->Stop(), 0);
    std::istringstream text(*ReadFile(log_));
    EXPECT_EQ(text.str().find(kSecret), std::string::npos) << text.str();
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

  const std::string log_ = test::OwnPath("serve_log_test.log");
  std::unique_ptr<ServerProcess> server_;
  std::vector<std::string> ids_;
};

TEST_F(ServeLogTest, SaysALineARequestThatPeopleCanRead) {
  Serve({});
  const auto lines = AskTwiceAndStop();
  for (const std::string& id : ids_) {
    size_t found = 0;
    for (const std::string& line : lines) {
      if (line.find(id + " done: ") == std::string::npos) continue;
      ++found;
      EXPECT_NE(line.find(" info "), std::string::npos) << line;
      EXPECT_NE(line.find(" prompt tokens, "), std::string::npos) << line;
    }
    EXPECT_EQ(found, 1u) << id;
  }
}

TEST_F(ServeLogTest, IsJsonLineByLineWithARequestsFieldsApart) {
  Serve({"--log-format", "json", "-v"});
  size_t requests = 0;
  bool ready = false;
  for (const std::string& text : AskTwiceAndStop()) {
    const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(line.is_object()) << text;
    ASSERT_TRUE(line.contains("time") && line.contains("level") && line.contains("message"))
        << text;
    ready = ready || line["message"].get<std::string>().starts_with("ready after ");
    if (!line.contains("request")) continue;
    EXPECT_EQ(line["request"]["id"], ids_.at(requests));
    EXPECT_EQ(line["request"]["state"], "done");
    EXPECT_EQ(line["request"]["generated_tokens"], 4);
    EXPECT_GT(line["request"]["reuse"]["prompt_tokens"], 600);
    ++requests;
  }
  EXPECT_TRUE(ready);
  EXPECT_EQ(requests, 2u);
}

TEST_F(ServeLogTest, TellsItsAddressAtEveryLevel) {
  for (const char* level : {"warning", "error"}) {
    for (const char* format : {"human", "json"}) {
      std::filesystem::remove(log_);
      // With --port 0 nothing but that line says where the server is.
      Serve({"--log-level", level, "--log-format", format});
      ASSERT_NE(server_, nullptr) << level;
      EXPECT_EQ(server_->Stop(), 0);
      const std::string text = *ReadFile(log_);
      EXPECT_NE(text.find("ready after "), std::string::npos) << text;
      EXPECT_NE(text.find(server_->url()), std::string::npos) << text;
      EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    }
  }
}

TEST_F(ServeLogTest, SaysThatItFailedAsJsonToo) {
  const std::string command = std::string(CAIRN_PROGRAM) +
                              " serve --port 0 -m /no/such/file.gguf --log-format json 2>" + log_;
  EXPECT_NE(std::system(command.c_str()), 0);
  const Json line = Json::parse(*ReadFile(log_), nullptr, /*allow_exceptions=*/false);
  EXPECT_EQ(line["level"], "error");
  EXPECT_NE(line["message"].get<std::string>().find("/no/such/file.gguf"), std::string::npos);
}

TEST_F(ServeLogTest, RefusesFormatsAndLevelsThatThereAreNot) {
  for (const char* flag : {"--log-format xml", "--log-level loud"}) {
    const std::string command =
        std::string(CAIRN_PROGRAM) + " serve -m x.gguf " + flag + " >" + log_ + " 2>&1";
    EXPECT_NE(std::system(command.c_str()), 0);
    EXPECT_NE(ReadFile(log_)->find(std::string(flag).substr(0, 11)), std::string::npos);
  }
}

}  // namespace
}  // namespace cairn
