// `cairn serve --sleep-idle-seconds`: the model goes away, everything else goes on.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "made_model.h"
#include "play/http_client.h"
#include "play/server_process.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

const std::string& ModelPath() {
  static const std::string path = test::WriteMadeModel("sleep_test");
  return path;
}

Result<std::unique_ptr<ServerProcess>> Start(const std::vector<std::string>& flags,
                                             const std::string& model = ModelPath()) {
  ServerProcessOptions options;
  options.argv = {CAIRN_PROGRAM, "serve", "--cache-disk", "0",  "-m", model,    "--port",
                  "0",           "-c",    "4096",         "-t", "2",  "--grid", "64"};
  options.argv.insert(options.argv.end(), flags.begin(), flags.end());
  return ServerProcess::Start(options);
}

class SleepTest : public ::testing::Test {
 protected:
  void Serve(const std::vector<std::string>& flags, const std::string& model = ModelPath()) {
    auto server = Start(flags, model);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }

  Json Post(const std::string& path, const Json& body) const {
    const auto reply = HttpClient(server_->url()).Post(path, body.dump());
    EXPECT_TRUE(reply.has_value());
    EXPECT_EQ(reply->status, 200) << path << ": " << reply->body;
    return Json::parse(reply->body);
  }
  Json Ask(const Json& body) const { return Post("/v1/chat/completions", body); }
  std::string Get(const std::string& path) const {
    const auto reply = HttpClient(server_->url()).Get(path);
    EXPECT_TRUE(reply.has_value());
    EXPECT_EQ(reply->status, 200) << path << ": " << reply->body;
    return reply->body;
  }
  bool Sleeps() const { return Json::parse(Get("/props"))["is_sleeping"].get<bool>(); }
  void WaitUntilAsleep() const {
    constexpr std::chrono::milliseconds kStep(50);
    for (std::chrono::milliseconds waited(0); waited < std::chrono::minutes(1); waited += kStep) {
      if (Sleeps()) return;
      std::this_thread::sleep_for(kStep);
    }
    FAIL() << "it never sleeps: " << server_->LastLines();
  }

  static Json FirstTurn() {
    return {{"max_tokens", 16},
            {"temperature", 0},
            {"messages",
             {{{"role", "system"}, {"content", std::string(1500, 's')}},
              {{"role", "user"}, {"content", "first question"}}}}};
  }
  static Json NextTurn(const Json& reply) {
    Json body = FirstTurn();
    body["messages"].push_back(reply["choices"][0]["message"]);
    body["messages"].push_back({{"role", "user"}, {"content", "second question"}});
    return body;
  }

  std::unique_ptr<ServerProcess> server_;
};

TEST_F(SleepTest, AConversationGoesOnAsIfTheModelHadNeverBeenUnloaded) {
  Serve({});
  const Json first = Ask(FirstTurn());
  const Json expected = Ask(NextTurn(first));
  ASSERT_EQ(server_->Stop(), 0);

  Serve({"--sleep-idle-seconds", "1"});
  EXPECT_EQ(Ask(FirstTurn())["choices"][0]["message"], first["choices"][0]["message"]);
  WaitUntilAsleep();
  const Json next = Ask(NextTurn(first));
  EXPECT_EQ(next["choices"][0]["message"], expected["choices"][0]["message"]);
  EXPECT_EQ(next["timings"]["cache_n"], expected["timings"]["cache_n"]);
  EXPECT_GT(next["timings"]["cache_n"].get<int>(), 1400);
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
}

TEST_F(SleepTest, OnlyWhatNeedsTheModelWakesIt) {
  Serve({"--sleep-idle-seconds", "1"});
  Ask(FirstTurn());
  WaitUntilAsleep();
  EXPECT_EQ(Json::parse(Get("/health"))["status"], "ok");
  EXPECT_EQ(Json::parse(Get("/v1/models"))["data"].size(), 1u);
  EXPECT_EQ(Json::parse(Get("/slots"))[0]["n_tokens"], 0);
  EXPECT_NE(Get("/metrics").find("\ncairn_sleeping 1\n"), std::string::npos);
  const Json tokens = Post("/tokenize", {{"content", "some text"}})["tokens"];
  EXPECT_EQ(tokens.size(), 9u);
  EXPECT_EQ(Post("/detokenize", {{"tokens", tokens}})["content"], "some text");
  Post("/apply-template", FirstTurn());
  EXPECT_GT(Post("/v1/messages/count_tokens", FirstTurn())["input_tokens"].get<int>(), 1500);
  EXPECT_TRUE(Sleeps());
  EXPECT_NE(Get("/metrics").find("\ncairn_sleeps_total 1\n"), std::string::npos);
  Post("/completion", {{"prompt", "some text"}, {"n_predict", 1}});
  EXPECT_FALSE(Sleeps());
  WaitUntilAsleep();
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
}

TEST_F(SleepTest, AModelThatIsGoneIsSaidAndTriedAgain) {
  const std::string path = test::OwnPath("sleep_test_moved.gguf");
  const std::string away = path + ".away";
  std::filesystem::copy_file(ModelPath(), path);
  Serve({"--sleep-idle-seconds", "1"}, path);
  const Json first = Ask(FirstTurn());
  WaitUntilAsleep();
  std::filesystem::rename(path, away);
  const auto reply = HttpClient(server_->url()).Post("/v1/chat/completions", FirstTurn().dump());
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, 503);
  EXPECT_NE(reply->body.find("cannot be loaded again"), std::string::npos) << reply->body;
  std::filesystem::rename(away, path);
  EXPECT_EQ(Ask(FirstTurn())["choices"][0]["message"], first["choices"][0]["message"]);
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
  std::filesystem::remove(path);
}

TEST_F(SleepTest, IsRefusedBesideEmbeddings) {
  const auto server = Start({"--sleep-idle-seconds", "60", "--embeddings"});
  ASSERT_FALSE(server.has_value());
  EXPECT_NE(server.error().message.find("--embeddings"), std::string::npos)
      << server.error().message;
}

}  // namespace
}  // namespace cairn
