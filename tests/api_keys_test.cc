// Keys of the real program: read again on SIGHUP, never shown, each with a cache of its own.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

const std::string& ModelPath() {
  static const std::string path = test::WriteMadeModel("api_keys_test");
  return path;
}

class ApiKeysTest : public testing::Test {
 protected:
  ApiKeysTest() { Clear(); }
  ~ApiKeysTest() override {
    server_.reset();
    Clear();
  }
  void Clear() const {
    for (const std::string& path : {log_, keys_, folder_}) std::filesystem::remove_all(path);
  }

  void Serve(const std::vector<std::string>& flags) {
    ServerProcessOptions options;
    options.argv = {CAIRN_PROGRAM, "serve",    "--cache-dir", folder_,  "--save-after-ms",
                    "0",           "-m",       ModelPath(),   "--port", "0",
                    "-c",          "4096",     "-t",          "2",      "--grid",
                    "64",          "--no-warm"};
    options.argv.insert(options.argv.end(), flags.begin(), flags.end());
    options.log_path = log_;
    auto server = ServerProcess::Start(options);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }
  void WriteKeys(const std::string& text) const {
    std::ofstream(keys_) << text;
    std::filesystem::permissions(keys_, std::filesystem::perms::owner_all);
  }
  std::string Log() const {
    const auto text = ReadFile(log_);
    return text ? *text : std::string();
  }
  // Sends SIGHUP and waits until the log says what became of it.
  void Hup(const std::string& said) {
    const size_t before = Log().size();
    server_->Signal(SIGHUP);
    for (int i = 0; i < 400 && Log().find(said, before) == std::string::npos; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ASSERT_NE(Log().find(said, before), std::string::npos) << said << " in:\n" << Log();
  }
  HttpReply Get(const std::string& key, const std::string& path) const {
    const auto reply = HttpClient(server_->url(), {.headers = {{"x-api-key", key}}}).Get(path);
    EXPECT_TRUE(reply.has_value());
    return reply ? *reply : HttpReply();
  }
  // Of a long prompt, how many tokens came from the cache.
  int Reused(const std::string& key) const {
    const Json body = {{"max_tokens", 2},
                       {"temperature", 0},
                       {"messages",
                        {{{"role", "system"}, {"content", std::string(900, 's')}},
                         {{"role", "user"}, {"content", "hello"}}}}};
    const auto reply = HttpClient(server_->url(), {.headers = {{"x-api-key", key}}})
                           .Post("/v1/chat/completions", body.dump());
    EXPECT_TRUE(reply.has_value());
    EXPECT_EQ(reply->status, 200) << reply->body;
    return Json::parse(reply->body)["usage"]["prompt_tokens_details"]["cached_tokens"];
  }

  const std::string log_ = test::OwnPath("api_keys_test.log");
  const std::string keys_ = test::OwnPath("api_keys_test.keys");
  const std::string folder_ = test::OwnPath("api_keys_test.cache");
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(ApiKeysTest, SighupReadsTheFileAgain) {
  WriteKeys("sk-one-1111\nanna sk-two-2222\n");
  Serve({"--api-key-file", keys_});
  EXPECT_EQ(Get("sk-one-1111", "/props").status, 200);
  EXPECT_EQ(Reused("sk-two-2222"), 0);
  WriteKeys("sk-three-3333\nanna sk-two-2222\n");
  Hup("2 API keys from now on");
  EXPECT_EQ(Get("sk-one-1111", "/props").status, 401) << "taken away";
  EXPECT_EQ(Reused("sk-three-3333"), 0) << "a new key finds nothing of the one before it";
  EXPECT_GT(Reused("sk-two-2222"), 800) << "a key that stays keeps what is its own";
  for (const char* broken : {"", "# nobody\n", "one two three-of-a-secret\n"}) {
    WriteKeys(broken);
    Hup("the API keys stay as they were");
    EXPECT_EQ(Get("sk-three-3333", "/props").status, 200) << broken;
  }
  std::filesystem::remove(keys_);
  Hup("the API keys stay as they were");
  EXPECT_EQ(Get("sk-three-3333", "/props").status, 200);
  EXPECT_EQ(server_->Stop(), 0);
  EXPECT_EQ(Log().find("3333"), std::string::npos) << Log();
  EXPECT_EQ(Log().find("three-of-a-secret"), std::string::npos) << Log();
}

TEST_F(ApiKeysTest, WhatAKeyHasStoredIsItsOwnAfterARestartWhereverItStands) {
  WriteKeys("first\nsecond\n");
  Serve({"--api-key-file", keys_});
  WriteKeys("first\nsecond\nthird\n");
  Hup("3 API keys from now on");
  EXPECT_EQ(Reused("third"), 0) << "added while the server runs, and saved as the others are";
  EXPECT_EQ(server_->Stop(), 0);
  WriteKeys("third\nfourth\n");
  Serve({"--api-key-file", keys_});
  EXPECT_EQ(Reused("fourth"), 0);
  EXPECT_GT(Reused("third"), 800);
}

TEST_F(ApiKeysTest, SighupWithoutAFileEndsNothing) {
  Serve({"--api-key", "sk-one-1111"});
  Hup("there is no --api-key-file");
  EXPECT_EQ(Get("sk-one-1111", "/health").status, 200);
  const std::string props = Get("sk-one-1111", "/props").body;
  EXPECT_EQ(props.find("1111"), std::string::npos);
  EXPECT_EQ(Get("sk-wrong-2222", "/props").body.find("2222"), std::string::npos);
  EXPECT_EQ(server_->Stop(), 0);
  EXPECT_EQ(Log().find("1111"), std::string::npos) << Log();
  EXPECT_EQ(Log().find("2222"), std::string::npos) << Log();
}

TEST_F(ApiKeysTest, WarnsOfAFileThatOthersCanRead) {
  WriteKeys("sk-one-1111\n");
  using std::filesystem::perms;
  std::filesystem::permissions(keys_, perms::owner_all | perms::others_read);
  Serve({"--api-key-file", keys_});
  EXPECT_NE(Log().find("every user of this machine can read it"), std::string::npos) << Log();
}

TEST_F(ApiKeysTest, AWrongCommandLineDoesNotShowTheKey) {
  const std::string command =
      std::string(CAIRN_PROGRAM) + " serve -m x.gguf --api-kye sk-one-1111 >" + log_ + " 2>&1";
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_NE(Log().find("--api-kye"), std::string::npos) << Log();
  EXPECT_EQ(Log().find("1111"), std::string::npos) << Log();
}

}  // namespace
}  // namespace cairn
