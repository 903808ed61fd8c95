// `cairn serve --sleep-idle-seconds`: the model is unloaded, everything else keeps working.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "served.h"

namespace cairn {
namespace {

using test::FirstTurn;
using test::Flags;
using test::Join;
using test::MadeModel;
using test::NextTurn;

class SleepTest : public test::ServedTest {
 protected:
  void ServeInMemory(const Flags& flags, const std::string& model = MadeModel()) {
    Serve(Join({"--cache-disk", "0"}, flags), model);
  }
  Json Said(const std::string& path, const Json& body) const {
    const HttpReply reply = Post(path, body);
    EXPECT_EQ(reply.status, 200) << path << ": " << reply.body;
    return Json::parse(reply.body);
  }
  std::string Page(const std::string& path) const {
    const HttpReply reply = Get(path);
    EXPECT_EQ(reply.status, 200) << path << ": " << reply.body;
    return reply.body;
  }
};

TEST_F(SleepTest, AConversationGoesOnAsIfTheModelHadNeverBeenUnloaded) {
  ServeInMemory({});
  const Json first = Ask(FirstTurn());
  const Json expected = Ask(NextTurn(FirstTurn(), first));
  ASSERT_EQ(server_->Stop(), 0);

  ServeInMemory({"--sleep-idle-seconds", "1"});
  EXPECT_EQ(Ask(FirstTurn())["choices"][0]["message"], first["choices"][0]["message"]);
  WaitUntilAsleep();
  const Json next = Ask(NextTurn(FirstTurn(), first));
  EXPECT_EQ(next["choices"][0]["message"], expected["choices"][0]["message"]);
  EXPECT_EQ(next["timings"]["cache_n"], expected["timings"]["cache_n"]);
  EXPECT_GT(next["timings"]["cache_n"].get<int>(), 1400);
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
}

TEST_F(SleepTest, OnlyWhatNeedsTheModelWakesIt) {
  ServeInMemory({"--sleep-idle-seconds", "1"});
  Ask(FirstTurn());
  WaitUntilAsleep();
  EXPECT_EQ(Json::parse(Page("/health"))["status"], "ok");
  EXPECT_EQ(Json::parse(Page("/v1/models"))["data"].size(), 1u);
  EXPECT_EQ(Json::parse(Page("/slots"))[0]["n_tokens"], 0);
  EXPECT_NE(Page("/metrics").find("\ncairn_sleeping 1\n"), std::string::npos);
  const Json tokens = Said("/tokenize", {{"content", "some text"}})["tokens"];
  EXPECT_EQ(tokens.size(), 9u);
  EXPECT_EQ(Said("/detokenize", {{"tokens", tokens}})["content"], "some text");
  Said("/apply-template", FirstTurn());
  EXPECT_GT(Said("/v1/messages/count_tokens", FirstTurn())["input_tokens"].get<int>(), 1500);
  EXPECT_TRUE(Sleeps());
  EXPECT_NE(Page("/metrics").find("\ncairn_sleeps_total 1\n"), std::string::npos);
  Said("/completion", {{"prompt", "some text"}, {"n_predict", 1}});
  EXPECT_FALSE(Sleeps());
  WaitUntilAsleep();
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
}

TEST_F(SleepTest, AModelThatIsGoneIsSaidAndTriedAgain) {
  const std::string path = files_ + "/moved.gguf";
  const std::string away = path + ".away";
  std::filesystem::copy_file(MadeModel(), path);
  ServeInMemory({"--sleep-idle-seconds", "1"}, path);
  const Json first = Ask(FirstTurn());
  WaitUntilAsleep();
  std::filesystem::rename(path, away);
  const HttpReply reply = Post("/v1/chat/completions", FirstTurn());
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body.find("cannot be loaded again"), std::string::npos) << reply.body;
  std::filesystem::rename(away, path);
  EXPECT_EQ(Ask(FirstTurn())["choices"][0]["message"], first["choices"][0]["message"]);
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
}

TEST_F(SleepTest, IsRefusedBesideEmbeddings) {
  const std::string refusal = Refusal({"--sleep-idle-seconds", "60", "--embeddings"});
  EXPECT_NE(refusal.find("--embeddings"), std::string::npos) << refusal;
}

}  // namespace
}  // namespace cairn
