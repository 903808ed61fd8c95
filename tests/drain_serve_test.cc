// A real server that drains: by POST /cairn/drain, and by SIGTERM while an answer is streamed.

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <string>

#include "served.h"

namespace cairn {
namespace {

using test::FirstTurn;
using test::Flags;
using test::Join;
using test::NextTurn;

constexpr int kPatienceMs = 120'000;

class DrainServeTest : public test::ServedTest {
 protected:
  // One answer after the other, so that what is asked meanwhile would have to wait.
  void ServeWithDisk(const Flags& flags = {}) {
    Serve(Join({"--cache-dir", files_ + "/cache", "--no-warm", "--parallel", "1"}, flags));
  }

  struct Streamed {
    int status = 0;
    std::string text;  // of the answer
    int tokens = 0;
    bool done = false;  // its last event came
  };
  // Streams an answer of so many tokens. Calls `meanwhile` at its first token.
  Streamed Stream(int tokens, const std::function<void()>& meanwhile) const {
    Json body = FirstTurn(tokens);
    body["stream"] = true;
    body["ignore_eos"] = true;
    Streamed streamed;
    std::string events;
    std::string error;
    bool begun = false;
    const auto on_chunk = [&](std::string_view chunk) {
      events += chunk;
      if (!begun && events.find("\"content\"") != std::string::npos) {
        begun = true;
        meanwhile();
      }
      return true;
    };
    const HttpClient client(server_->url());
    static_cast<void>(
        client.PostStream("/v1/chat/completions", body.dump(), on_chunk, &streamed.status, &error));
    const std::string mark = "data: ";
    for (size_t at = events.find(mark); at != std::string::npos; at = events.find(mark, at + 1)) {
      const std::string data = events.substr(at + 6, events.find('\n', at) - at - 6);
      streamed.done = data == "[DONE]";
      const Json event = streamed.done ? Json() : Json::parse(data, nullptr, false);
      if (!event.is_object() || !event.contains("choices") || event["choices"].empty()) continue;
      const Json& delta = event["choices"][0]["delta"];
      if (delta.contains("content") && delta["content"].is_string()) {
        streamed.text += delta["content"].get<std::string>();
      }
      if (event.contains("timings")) streamed.tokens = event["timings"]["predicted_n"].get<int>();
    }
    return streamed;
  }
};

TEST_F(DrainServeTest, SigtermAnswersTheRunningStreamAndRefusesOthers) {
  const Flags room = {"-c", "16384"};
  ServeWithDisk(Join({"--shutdown-timeout", "3600"}, room));
  constexpr int kTokens = 4000;
  const Streamed streamed = Stream(kTokens, [&] {
    server_->Signal(SIGTERM);
    WaitUntil("it drains", [&] { return Get("/health").status == 503; });
    EXPECT_EQ(Json::parse(Get("/health").body)["status"], "draining");
    const HttpReply refused = Post("/v1/chat/completions", FirstTurn());
    EXPECT_EQ(refused.status, 503);
    EXPECT_FALSE(refused.Header("Retry-After").empty());
    EXPECT_EQ(Metric("cairn_draining"), 1);
    EXPECT_EQ(ClientOf("").Delete("/cairn/drain")->status, 503);
  });
  EXPECT_EQ(streamed.status, 200);
  EXPECT_TRUE(streamed.done) << streamed.text.size();
  EXPECT_EQ(streamed.tokens, kTokens);
  EXPECT_EQ(server_->WaitForExit(kPatienceMs), 0);
  WaitUntilLogged("saved to");

  // The prompt was saved, at least: a made model's answer is not always text that it would read as
  // the same tokens.
  ServeWithDisk(room);
  const Json reply = {
      {"choices", {{{"message", {{"role", "assistant"}, {"content", streamed.text}}}}}}};
  Json next = NextTurn(FirstTurn(), reply);
  const Json answered = Ask(next);
  EXPECT_GT(answered["timings"]["cache_n"].get<int>(), 1500);
}

TEST_F(DrainServeTest, AnAnswerThatTakesTooLongIsCutAtTheTimeout) {
  ServeWithDisk({"--shutdown-timeout", "1", "-c", "65536"});
  const Streamed streamed = Stream(60'000, [&] { server_->Signal(SIGTERM); });
  EXPECT_EQ(streamed.status, 200);
  EXPECT_FALSE(streamed.done);
  EXPECT_EQ(server_->WaitForExit(kPatienceMs), 0);
  WaitUntilLogged("draining: 1 running request");
}

TEST_F(DrainServeTest, AnInterruptEndsTheWaitForAnswersAndStillSaves) {
  ServeWithDisk({"--shutdown-timeout", "3600", "-c", "65536"});
  const Streamed streamed = Stream(60'000, [&] {
    server_->Signal(SIGTERM);
    WaitUntilLogged("draining");
    server_->Signal(SIGTERM);  // changes nothing
    EXPECT_EQ(Get("/health").status, 503);
    server_->Signal(SIGINT);
  });
  EXPECT_FALSE(streamed.done);
  EXPECT_EQ(server_->WaitForExit(kPatienceMs), 0);
  WaitUntilLogged("saved to");
}

TEST_F(DrainServeTest, ADrainByRequestSavesAndIsTakenBack) {
  ServeWithDisk({"--save-after-ms", "1000000000", "--api-key-admin", "k", "--api-key", "other"});
  const Json reply = Ask(FirstTurn(), "k");
  EXPECT_EQ(Post("/cairn/drain", Json::object()).status, 401);
  EXPECT_EQ(Post("/cairn/drain", Json::object(), "other").status, 403);
  EXPECT_EQ(Get("/cairn/drain", "other").status, 200);
  EXPECT_EQ(Get("/health").status, 200);

  EXPECT_EQ(Post("/cairn/drain", Json::object(), "k").status, 200);
  WaitUntil("it is drained",
            [&] { return Json::parse(Get("/cairn/drain", "k").body)["drained"].get<bool>(); });
  EXPECT_EQ(Get("/health").status, 503);
  EXPECT_EQ(Post("/v1/chat/completions", FirstTurn(), "k").status, 503);
  EXPECT_EQ(server_->exit_code(), std::nullopt);

  EXPECT_EQ(ClientOf("k").Delete("/cairn/drain")->status, 200);
  EXPECT_EQ(Get("/health").status, 200);
  Ask(NextTurn(FirstTurn(), reply), "k");

  // All of the first turn was on disk, so a server that is killed loses none of it.
  Post("/cairn/drain", Json::object(), "k");
  WaitUntil("it is drained again",
            [&] { return Json::parse(Get("/cairn/drain", "k").body)["drained"].get<bool>(); });
  server_->Signal(SIGKILL);
  ASSERT_TRUE(server_->WaitForExit(kPatienceMs).has_value());
  ServeWithDisk({"--api-key-admin", "k"});
  EXPECT_LE(test::ReadTokens(Ask(NextTurn(FirstTurn(), reply), "k")), test::kNewTokensMax);
}

}  // namespace
}  // namespace cairn
