// `cairn serve --context-overflow`: a conversation that outgrows its context goes on.

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "made_model.h"
#include "play/http_client.h"
#include "play/server_process.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

const std::string& ModelPath() {
  static const std::string path = test::WriteMadeModel("context_overflow_test");
  return path;
}

Result<std::unique_ptr<ServerProcess>> Start(const std::vector<std::string>& flags) {
  ServerProcessOptions options;
  options.argv = {CAIRN_PROGRAM, "serve", "--cache-disk", "0",  "-m", ModelPath(), "--port",
                  "0",           "-c",    "2048",         "-t", "2",  "--grid",    "64"};
  options.argv.insert(options.argv.end(), flags.begin(), flags.end());
  return ServerProcess::Start(options);
}

void Say(const std::string& role, const std::string& content, Json* body) {
  (*body)["messages"].push_back({{"role", role}, {"content", content}});
}

TEST(ContextOverflow, AConversationGoesOnWithoutItsOldestTurns) {
  const auto server = Start({"--context-overflow", "truncate"});
  ASSERT_TRUE(server.has_value()) << server.error().message;
  const HttpClient client((*server)->url());
  Json body = {{"max_tokens", 8}, {"temperature", 0}};
  Say("system", std::string(300, 's'), &body);
  size_t before = 0;
  size_t steps = 0;
  for (int turn = 0; turn < 20; ++turn) {
    Say("user", std::string(150, 'q') + std::to_string(turn), &body);
    const auto reply = client.Post("/v1/chat/completions", body.dump());
    ASSERT_TRUE(reply.has_value());
    ASSERT_EQ(reply->status, 200) << turn << ": " << reply->body;
    const Json timings = Json::parse(reply->body)["timings"];
    const size_t dropped = timings.value("dropped_messages", size_t{0});
    EXPECT_GE(dropped, before);
    if (dropped > before) ++steps;
    // Where nothing more is left out, the conversation goes on from what was read.
    if (turn > 0 && dropped == before) {
      EXPECT_LT(timings["prompt_n"].get<int>(), 500) << turn;
    }
    before = dropped;
    Say("assistant", std::string(100, 'a') + std::to_string(turn), &body);
  }
  // 20 turns of 300 tokens; the window is 2048.
  EXPECT_GE(steps, 3u);
  EXPECT_LE(steps, 8u);
  EXPECT_EQ((*server)->Stop(), 0) << (*server)->LastLines();
}

TEST(ContextOverflow, IsAnErrorWhereTheServerIsNotTold) {
  const auto server = Start({});
  ASSERT_TRUE(server.has_value()) << server.error().message;
  Json body = {{"max_tokens", 8}};
  for (int turn = 0; turn < 20; ++turn) Say("user", std::string(150, 'q'), &body);
  const auto reply = HttpClient((*server)->url()).Post("/v1/chat/completions", body.dump());
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, 400);
}

TEST(ContextOverflow, MovingWhatWasReadIsRefusedBesideExactReuse) {
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--context-shift"}, {"--cache-reuse", "256"}}) {
    std::vector<std::string> all = flags;
    all.insert(all.end(), {"--reuse", "exact"});
    const auto server = Start(all);
    ASSERT_FALSE(server.has_value());
    EXPECT_NE(server.error().message.find(flags[0]), std::string::npos) << server.error().message;
  }
  // Allowed without effect: this model's memory cannot be moved.
  const auto server = Start({"--context-shift", "--cache-reuse", "256"});
  ASSERT_TRUE(server.has_value()) << server.error().message;
  EXPECT_NE((*server)->LastLines().find("have no effect"), std::string::npos)
      << (*server)->LastLines();
}

}  // namespace
}  // namespace cairn
