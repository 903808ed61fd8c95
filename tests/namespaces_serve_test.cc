// A short version of src/routes/namespaces_property_test.cc with the real program and a hybrid
// model: the prompts of one key are invisible to others, in memory, in slots and on disk.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "served.h"

namespace cairn {
namespace {

constexpr const char* kSecret = "mauve-giraffe";

class NamespacesServeTest : public test::ServedTest {
 protected:
  void ServeTo(const std::string& keys) {
    const std::string slots = files_ + "/slots";
    std::filesystem::create_directories(slots);
    Serve({"--cache-dir", files_ + "/cache", "--slot-save-path", slots, "--save-after-ms", "0",
           "--api-key", keys});
  }
  // Sends a prompt whose prefix is the same for all keys and whose last message is `last`.
  Json AskAs(const std::string& key, const std::string& last) const {
    const HttpReply reply = Post("/v1/chat/completions",
                                 {{"max_tokens", 4},
                                  {"temperature", 0},
                                  {"cairn", {{"explain", true}}},
                                  {"messages",
                                   {{{"role", "system"}, {"content", std::string(900, 's')}},
                                    {{"role", "user"}, {"content", last}}}}},
                                 key);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_TRUE(key == "anna" || reply.body.find(kSecret) == std::string::npos) << reply.body;
    return Json::parse(reply.body);
  }
  static int Reused(const Json& answer) {
    return answer["usage"]["prompt_tokens_details"]["cached_tokens"].get<int>();
  }
};

TEST_F(NamespacesServeTest, WhatOneKeySaidIsNowhereForAnother) {
  ServeTo("anna,bert");
  const Json first = AskAs("anna", kSecret);
  const auto id = first["id"].get<std::string>();
  EXPECT_EQ(Reused(AskAs("bert", "something else")), 0);
  EXPECT_GT(Reused(AskAs("anna", kSecret)), 800);
  Post("/slots/0?action=save", {{"filename", "talk.bin"}}, "anna");
  Post("/slots/1?action=save", {{"filename", "talk.bin"}}, "anna");
  for (const char* slot : {"0", "1", "2"}) {
    const HttpReply restored =
        Post(std::string("/slots/") + slot + "?action=restore", {{"filename", "talk.bin"}}, "bert");
    EXPECT_EQ(restored.status, 400) << restored.body;
  }
  const auto named =
      Json::parse(Get("/cairn/cache/tree", "anna").body)["nodes"][0]["id"].get<std::string>();
  EXPECT_EQ(Get("/cairn/cache/checkpoints/" + named, "anna").status, 200);
  EXPECT_EQ(Get("/cairn/requests/" + id, "anna").status, 200);
  EXPECT_EQ(Get("/cairn/cache/checkpoints/" + named, "bert").status, 404);
  for (const char* path : {"/cairn/requests", "/cairn/doctor", "/cairn/cache", "/cairn/cache/tree",
                           "/slots", "/metrics", "/props"}) {
    const HttpReply seen = Get(path, "bert");
    EXPECT_EQ(seen.status, 200) << path;
    EXPECT_EQ(seen.body.find(kSecret), std::string::npos) << path;
    EXPECT_EQ(seen.body.find(id), std::string::npos) << path;
  }
  // Last, for a refused request stays in the list of the key that made it.
  EXPECT_EQ(Get("/cairn/requests/" + id, "bert").status, 404);
  EXPECT_EQ(server_->Stop(), 0);
  // Objects on disk belong to their key, too.
  ServeTo("carl,anna");
  EXPECT_EQ(Reused(AskAs("carl", "something else")), 0);
  EXPECT_GT(Reused(AskAs("anna", kSecret)), 800);
}

}  // namespace
}  // namespace cairn
