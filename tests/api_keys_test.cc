// API keys of the real program: reloaded on SIGHUP, never logged, each with a cache of its own.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "served.h"

namespace cairn {
namespace {

using test::FirstTurn;
using test::Flags;
using test::Join;

class ApiKeysTest : public test::ServedTest {
 protected:
  void ServeWith(const Flags& flags) {
    const Flags cached = {"--cache-dir", files_ + "/cache", "--save-after-ms", "0", "--no-warm"};
    Serve(Join(cached, flags));
  }
  void WriteKeys(const std::string& text) const {
    std::ofstream(keys_) << text;
    std::filesystem::permissions(keys_, std::filesystem::perms::owner_all);
  }
  // Returns how many tokens of a long prompt came from the cache.
  int Reused(const std::string& key) const {
    return Ask(FirstTurn(2, 900), key)["usage"]["prompt_tokens_details"]["cached_tokens"]
        .get<int>();
  }

  const std::string keys_ = files_ + "/keys";
};

TEST_F(ApiKeysTest, SighupReadsTheFileAgain) {
  WriteKeys("sk-one-1111\nanna sk-two-2222\n");
  ServeWith({"--api-key-file", keys_});
  EXPECT_EQ(Get("/props", "sk-one-1111").status, 200);
  EXPECT_EQ(Reused("sk-two-2222"), 0);
  WriteKeys("sk-three-3333\nanna sk-two-2222\n");
  Hup("reloaded, 2 API keys");
  EXPECT_EQ(Get("/props", "sk-one-1111").status, 401) << "taken away";
  EXPECT_EQ(Reused("sk-three-3333"), 0) << "a new key finds nothing of the one before it";
  EXPECT_GT(Reused("sk-two-2222"), 800) << "a key that stays keeps what is its own";
  for (const char* broken : {"", "# nobody\n", "one two three-of-a-secret\n"}) {
    WriteKeys(broken);
    Hup("keeping the previous API keys");
    EXPECT_EQ(Get("/props", "sk-three-3333").status, 200) << broken;
  }
  std::filesystem::remove(keys_);
  Hup("keeping the previous API keys");
  EXPECT_EQ(Get("/props", "sk-three-3333").status, 200);
  EXPECT_EQ(server_->Stop(), 0);
  EXPECT_EQ(Log().find("3333"), std::string::npos) << Log();
  EXPECT_EQ(Log().find("three-of-a-secret"), std::string::npos) << Log();
}

TEST_F(ApiKeysTest, WhatAKeyHasStoredIsItsOwnAfterARestartWhereverItStands) {
  WriteKeys("first\nsecond\n");
  ServeWith({"--api-key-file", keys_});
  WriteKeys("first\nsecond\nthird\n");
  Hup("reloaded, 3 API keys");
  EXPECT_EQ(Reused("third"), 0) << "added while the server runs, and saved as the others are";
  EXPECT_EQ(server_->Stop(), 0);
  WriteKeys("third\nfourth\n");
  ServeWith({"--api-key-file", keys_});
  EXPECT_EQ(Reused("fourth"), 0);
  EXPECT_GT(Reused("third"), 800);
}

TEST_F(ApiKeysTest, SighupWithoutAFileEndsNothing) {
  ServeWith({"--api-key", "sk-one-1111"});
  Hup("no --api-key-file was given");
  EXPECT_EQ(Get("/health", "sk-one-1111").status, 200);
  const std::string props = Get("/props", "sk-one-1111").body;
  EXPECT_EQ(props.find("1111"), std::string::npos);
  EXPECT_EQ(Get("/props", "sk-wrong-2222").body.find("2222"), std::string::npos);
  EXPECT_EQ(server_->Stop(), 0);
  EXPECT_EQ(Log().find("1111"), std::string::npos) << Log();
  EXPECT_EQ(Log().find("2222"), std::string::npos) << Log();
}

TEST_F(ApiKeysTest, WhatActsOnAllClientsNeedsAnAdminsKey) {
  const auto post = [this](const char* path, const char* key) {
    return Post(path, Json::object(), key);
  };
  WriteKeys("sk-one-1111\nadmin ops sk-two-2222\n");
  ServeWith({"--api-key-file", keys_});
  for (const char* path : {"/cairn/drain", "/cairn/cache/flush", "/lora-adapters"}) {
    const HttpReply refused = post(path, "sk-one-1111");
    EXPECT_EQ(refused.status, 403) << path;
    EXPECT_NE(refused.body.find("ask the owner"), std::string::npos) << refused.body;
    EXPECT_NE(post(path, "sk-two-2222").status, 403) << path;
  }
  EXPECT_EQ(ClientOf("sk-one-1111").Delete("/cairn/drain")->status, 403);
  EXPECT_EQ(ClientOf("sk-two-2222").Delete("/cairn/drain")->status, 200);

  // Without any admin nobody may, and the message says what to do.
  WriteKeys("sk-one-1111\nops sk-two-2222\n");
  Hup("reloaded, 2 API keys");
  const HttpReply refused = post("/cairn/drain", "sk-two-2222");
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("admin NAME KEY"), std::string::npos) << refused.body;
  EXPECT_EQ(Get("/health").status, 200);
}

TEST_F(ApiKeysTest, WhoTriesKeysIsSeenInTheLogAndByTheAdmin) {
  WriteKeys("sk-one-1111\nadmin ops sk-two-2222\n");
  ServeWith({"--api-key-file", keys_});
  EXPECT_EQ(Get("/props", "sk-guess-9999").status, 401);
  WaitUntilLogged("refused: GET /props 401");
  EXPECT_EQ(Log().find("9999"), std::string::npos) << Log();
  const auto refused = [this](const char* key) {
    const Json listed = Json::parse(Get("/cairn/requests", key).body)["requests"];
    return listed.size();
  };
  EXPECT_EQ(refused("sk-one-1111"), 0u);
  EXPECT_EQ(refused("sk-two-2222"), 1u);
  EXPECT_NE(Get("/metrics", "sk-two-2222")
                .body.find("cairn_http_refused_total{status=\"401\",route=\"GET /props\"} 1"),
            std::string::npos);
}

TEST_F(ApiKeysTest, WarnsOfAFileThatOthersCanRead) {
  WriteKeys("sk-one-1111\n");
  using std::filesystem::perms;
  std::filesystem::permissions(keys_, perms::owner_all | perms::others_read);
  ServeWith({"--api-key-file", keys_});
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
