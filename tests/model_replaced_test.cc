// The model's file is replaced, truncated or removed while `cairn serve` runs, sleeps or is down:
// no answer ever mixes two models.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "served.h"

namespace cairn {
namespace {

using test::FirstTurn;
using test::Flags;
using test::Join;
using test::ReadTokens;

class ModelReplacedTest : public test::ServedTest {
 protected:
  ModelReplacedTest() {
    WriteWith(1, path_);
    WriteWith(2, other());
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

  void ServeExact(const std::string& model, const Flags& flags) {
    Serve(Join({"--alias", "m", "-np", "1", "--reuse", "exact", "--no-warm"}, flags), model);
  }
  void ServeCached(const Flags& flags = {}) {
    const std::string cache = files_ + "/cache";
    ServeExact(path_, Join({"--cache-dir", cache, "--save-after-ms", "0"}, flags));
  }
  std::string AnswerWithoutCache(const std::string& model) {
    ServeExact(model, {"--cache-ram", "0", "--cache-disk", "0"});
    return AskIt()["choices"][0]["message"]["content"].get<std::string>();
  }
  Json AskIt() const { return Ask(FirstTurn(24, 900)); }
  // Sends the request twice: a repetition gets the same error, and the server keeps running.
  void ExpectRefused(const std::string& why) const {
    for (int i = 0; i < 2; ++i) {
      const HttpReply reply = Post("/v1/chat/completions", FirstTurn(24, 900));
      EXPECT_EQ(reply.status, 503) << reply.body;
      EXPECT_NE(reply.body.find("cannot be loaded again"), std::string::npos) << reply.body;
      EXPECT_NE(reply.body.find(why), std::string::npos) << reply.body;
    }
    EXPECT_EQ(Get("/health").status, 200);
  }

  const std::string path_ = files_ + "/model.gguf";
};

TEST_F(ModelReplacedTest, ARunningServerGoesOnWithTheModelThatItLoaded) {
  ServeCached();
  const Json before = AskIt();
  std::filesystem::rename(other(), path_);
  EXPECT_EQ(AskIt()["choices"], before["choices"]);
  std::filesystem::remove(path_);
  EXPECT_EQ(AskIt()["choices"], before["choices"]);
}

TEST_F(ModelReplacedTest, AnotherModelOfTheSameNameUsesNothingOfTheOld) {
  const std::string old_answer = AnswerWithoutCache(path_);
  const std::string new_answer = AnswerWithoutCache(other());
  ASSERT_NE(old_answer, new_answer) << "nothing is tried here";
  ServeCached();
  EXPECT_EQ(AskIt()["choices"][0]["message"]["content"], old_answer);
  // Replaced while the server runs: the objects saved at its end are still the old model's.
  std::filesystem::rename(path_, away());
  std::filesystem::rename(other(), path_);
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  ServeCached();
  const Json reply = AskIt();
  EXPECT_EQ(reply["choices"][0]["message"]["content"], new_answer);
  EXPECT_GT(ReadTokens(reply), 900);
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  // The old model's file, put back, finds its own checkpoints.
  std::filesystem::rename(away(), path_);
  ServeCached();
  const Json again = AskIt();
  EXPECT_EQ(again["choices"][0]["message"]["content"], old_answer);
  EXPECT_LT(ReadTokens(again), 100);
}

TEST_F(ModelReplacedTest, AServerThatSleptDoesNotWakeWithAnotherModel) {
  ServeCached({"--sleep-idle-seconds", "1"});
  const Json before = AskIt();
  WaitUntilAsleep();
  std::filesystem::rename(path_, away());
  std::filesystem::rename(other(), path_);
  ExpectRefused("has changed since it was first loaded; start the server anew");
  std::filesystem::rename(away(), path_);
  EXPECT_EQ(AskIt()["choices"], before["choices"]);
}

TEST_F(ModelReplacedTest, AFileThatIsCutShortOrNoModelAtAllIsSaidAndTriedAgain) {
  ServeCached({"--sleep-idle-seconds", "1"});
  const Json before = AskIt();
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
  EXPECT_EQ(AskIt()["choices"], before["choices"]);
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
}

}  // namespace
}  // namespace cairn
