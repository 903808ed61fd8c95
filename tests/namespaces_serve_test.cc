// As src/http/namespaces_property_test.cc has it at length, over the real program and a hybrid
// model: what one key said is nowhere for another, in memory, in slots and on disk.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "made_model.h"
#include "play/http_client.h"
#include "play/server_process.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

constexpr const char* kSecret = "mauve-giraffe";

class NamespacesServeTest : public testing::Test {
 protected:
  NamespacesServeTest() { Clear(); }
  ~NamespacesServeTest() override {
    server_.reset();
    Clear();
  }
  void Clear() const {
    std::filesystem::remove_all(cache_);
    std::filesystem::remove_all(slots_);
  }
  void Serve(const std::string& keys) {
    std::filesystem::create_directories(slots_);
    ServerProcessOptions options;
    options.argv = {CAIRN_PROGRAM,
                    "serve",
                    "-m",
                    test::WriteMadeModel("namespaces_serve_test"),
                    "--cache-dir",
                    cache_,
                    "--slot-save-path",
                    slots_,
                    "--save-after-ms",
                    "0",
                    "-c",
                    "4096",
                    "-t",
                    "2",
                    "--grid",
                    "64",
                    "--port",
                    "0",
                    "--api-key",
                    keys};
    auto server = ServerProcess::Start(options);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }
  HttpClient ClientOf(const std::string& key) const {
    return HttpClient(server_->url(), {.headers = {{"x-api-key", key}}});
  }
  HttpReply Get(const std::string& key, const std::string& path) const {
    const auto reply = ClientOf(key).Get(path);
    EXPECT_TRUE(reply.has_value()) << path;
    return reply ? *reply : HttpReply();
  }
  HttpReply Post(const std::string& key, const std::string& path, const Json& body) const {
    const auto reply = ClientOf(key).Post(path, body.dump());
    EXPECT_TRUE(reply.has_value()) << path;
    return reply ? *reply : HttpReply();
  }
  // What is the same whoever asks, and then what is not.
  Json Ask(const std::string& key, const std::string& last) const {
    const HttpReply reply = Post(key, "/v1/chat/completions",
                                 {{"max_tokens", 4},
                                  {"temperature", 0},
                                  {"cairn", {{"explain", true}}},
                                  {"messages",
                                   {{{"role", "system"}, {"content", std::string(900, 's')}},
                                    {{"role", "user"}, {"content", last}}}}});
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_TRUE(key == "anna" || reply.body.find(kSecret) == std::string::npos) << reply.body;
    return Json::parse(reply.body);
  }
  static int Reused(const Json& answer) {
    return answer["usage"]["prompt_tokens_details"]["cached_tokens"];
  }

  const std::string cache_ = test::OwnPath("namespaces_serve_test.cache");
  const std::string slots_ = test::OwnPath("namespaces_serve_test.slots");
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(NamespacesServeTest, WhatOneKeySaidIsNowhereForAnother) {
  Serve("anna,bert");
  const Json first = Ask("anna", kSecret);
  const std::string id = first["id"];
  EXPECT_EQ(Reused(Ask("bert", "something else")), 0);
  EXPECT_GT(Reused(Ask("anna", kSecret)), 800);
  Post("anna", "/slots/0?action=save", {{"filename", "talk.bin"}});
  Post("anna", "/slots/1?action=save", {{"filename", "talk.bin"}});
  for (const char* slot : {"0", "1", "2"}) {
    const HttpReply restored =
        Post("bert", std::string("/slots/") + slot + "?action=restore", {{"filename", "talk.bin"}});
    EXPECT_EQ(restored.status, 400) << restored.body;
  }
  const std::string named = Json::parse(Get("anna", "/cairn/cache/tree").body)["nodes"][0]["id"];
  EXPECT_EQ(Get("anna", "/cairn/cache/checkpoints/" + named).status, 200);
  EXPECT_EQ(Get("anna", "/cairn/requests/" + id).status, 200);
  EXPECT_EQ(Get("bert", "/cairn/cache/checkpoints/" + named).status, 404);
  EXPECT_EQ(Get("bert", "/cairn/requests/" + id).status, 404);
  for (const char* path :
       {"/cairn/requests", "/cairn/cache", "/cairn/cache/tree", "/slots", "/metrics", "/props"}) {
    const HttpReply seen = Get("bert", path);
    EXPECT_EQ(seen.status, 200) << path;
    EXPECT_EQ(seen.body.find(kSecret), std::string::npos) << path;
    EXPECT_EQ(seen.body.find(id), std::string::npos) << path;
  }
  EXPECT_EQ(server_->Stop(), 0);
  // What is on disk is its key's as well.
  Serve("carl,anna");
  EXPECT_EQ(Reused(Ask("carl", "something else")), 0);
  EXPECT_GT(Reused(Ask("anna", kSecret)), 800);
}

}  // namespace
}  // namespace cairn
