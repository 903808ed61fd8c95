// The model's file is replaced, cut short or gone while `cairn serve` runs, sleeps or is down: no
// answer is ever made of two models.

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

class ModelReplacedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = test::OwnPath("model_replaced.gguf");
    cache_ = test::OwnPath("model_replaced_cache");
    std::filesystem::remove_all(cache_);
    WriteWith(1, path_);
    WriteWith(2, other());
  }
  void TearDown() override {
    server_ = nullptr;
    for (const std::string& file : {path_, other(), away()}) std::filesystem::remove(file);
    std::filesystem::remove_all(cache_);
  }

  std::string other() const { return path_ + ".other"; }
  std::string away() const { return path_ + ".away"; }
  static void WriteWith(uint64_t seed, const std::string& path) {
    ModelShape shape;
    shape.architecture = "qwen35";
    shape.seed = seed;
    const auto recipe = MakeRecipe(shape);
    ASSERT_TRUE(recipe.has_value());
    ASSERT_TRUE(WriteModel(*recipe, path, {}).has_value());
  }

  // Ends the server that runs, if one does.
  void Start(const std::string& model, const std::vector<std::string>& flags) {
    server_ = nullptr;
    ServerProcessOptions options;
    options.argv = {CAIRN_PROGRAM, "serve", "-m",      model,   "--alias",  "m",   "--port",
                    "0",           "-c",    "4096",    "-t",    "1",        "-np", "1",
                    "--grid",      "64",    "--reuse", "exact", "--no-warm"};
    options.argv.insert(options.argv.end(), flags.begin(), flags.end());
    auto server = ServerProcess::Start(options);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }
  void StartCached(const std::vector<std::string>& flags = {}) {
    std::vector<std::string> all = {"--cache-dir", cache_, "--save-after-ms", "0"};
    all.insert(all.end(), flags.begin(), flags.end());
    Start(path_, all);
  }
  std::string AnswerWithoutCache(const std::string& model) {
    Start(model, {"--cache-ram", "0", "--cache-disk", "0"});
    return Ask()["choices"][0]["message"]["content"];
  }

  static Json Talk() {
    return {{"max_tokens", 24},
            {"temperature", 0},
            {"messages",
             {{{"role", "system"}, {"content", std::string(900, 's')}},
              {{"role", "user"}, {"content", "a question"}}}}};
  }
  HttpReply Post() const {
    auto reply = HttpClient(server_->url()).Post("/v1/chat/completions", Talk().dump());
    EXPECT_TRUE(reply.has_value()) << reply.error().message;
    return reply.value_or(HttpReply{});
  }
  Json Ask() const {
    const HttpReply reply = Post();
    EXPECT_EQ(reply.status, 200) << reply.body;
    return Json::parse(reply.body);
  }
  void WaitUntilAsleep() const {
    constexpr std::chrono::milliseconds kStep(50);
    for (std::chrono::milliseconds waited(0); waited < std::chrono::minutes(1); waited += kStep) {
      const auto props = HttpClient(server_->url()).Get("/props");
      if (props && Json::parse(props->body)["is_sleeping"].get<bool>()) return;
      std::this_thread::sleep_for(kStep);
    }
    FAIL() << "it never sleeps: " << server_->LastLines();
  }
  // Asks twice, as whoever asks again hears the same and nothing ends.
  void ExpectRefused(const std::string& why) const {
    for (int i = 0; i < 2; ++i) {
      const HttpReply reply = Post();
      EXPECT_EQ(reply.status, 503) << reply.body;
      EXPECT_NE(reply.body.find("cannot be loaded again"), std::string::npos) << reply.body;
      EXPECT_NE(reply.body.find(why), std::string::npos) << reply.body;
    }
    EXPECT_EQ(HttpClient(server_->url()).Get("/health")->status, 200);
  }

  std::string path_;
  std::string cache_;
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(ModelReplacedTest, ARunningServerGoesOnWithTheModelThatItLoaded) {
  StartCached();
  const Json before = Ask();
  std::filesystem::rename(other(), path_);
  EXPECT_EQ(Ask()["choices"], before["choices"]);
  std::filesystem::remove(path_);
  EXPECT_EQ(Ask()["choices"], before["choices"]);
}

TEST_F(ModelReplacedTest, AnotherModelOfTheSameNameUsesNothingOfTheOld) {
  const std::string old_answer = AnswerWithoutCache(path_);
  const std::string new_answer = AnswerWithoutCache(other());
  ASSERT_NE(old_answer, new_answer) << "nothing is tried here";
  StartCached();
  EXPECT_EQ(Ask()["choices"][0]["message"]["content"], old_answer);
  // Replaced while it runs: what it saves at its end is still the old one's.
  std::filesystem::rename(path_, away());
  std::filesystem::rename(other(), path_);
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  StartCached();
  const Json reply = Ask();
  EXPECT_EQ(reply["choices"][0]["message"]["content"], new_answer);
  EXPECT_GT(reply["timings"]["prompt_n"].get<int>(), 900);
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  // And the old one, put back, finds its own.
  std::filesystem::rename(away(), path_);
  StartCached();
  const Json again = Ask();
  EXPECT_EQ(again["choices"][0]["message"]["content"], old_answer);
  EXPECT_LT(again["timings"]["prompt_n"].get<int>(), 100);
}

TEST_F(ModelReplacedTest, AServerThatSleptDoesNotWakeWithAnotherModel) {
  StartCached({"--sleep-idle-seconds", "1"});
  const Json before = Ask();
  WaitUntilAsleep();
  std::filesystem::rename(path_, away());
  std::filesystem::rename(other(), path_);
  ExpectRefused("has changed since it was first loaded; start the server anew");
  std::filesystem::rename(away(), path_);
  EXPECT_EQ(Ask()["choices"], before["choices"]);
}

TEST_F(ModelReplacedTest, AFileThatIsCutShortOrNoModelAtAllIsSaidAndTriedAgain) {
  StartCached({"--sleep-idle-seconds", "1"});
  const Json before = Ask();
  WaitUntilAsleep();
  std::filesystem::copy_file(path_, away());
  const auto bytes = std::filesystem::file_size(path_);
  for (const uintmax_t left : {bytes - 1, bytes / 2, uintmax_t{100}, uintmax_t{3}, uintmax_t{0}}) {
    SCOPED_TRACE(left);
    std::filesystem::resize_file(path_, left);
    ExpectRefused(path_);
  }
  std::filesystem::remove(path_);
  ExpectRefused("there is no model file");
  std::filesystem::create_directory(path_);
  ExpectRefused("is a folder");
  std::filesystem::remove(path_);
  std::filesystem::rename(away(), path_);
  EXPECT_EQ(Ask()["choices"], before["choices"]);
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
}

}  // namespace
}  // namespace cairn
