// The whole demo, on a small synthetic model and a short document.

#include "lab/cmd/demo.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/fs.h"
#include "base/json.h"
#include "lab/cmd/model_make.h"
#include "lab/demo/demo_conversation.h"

namespace cairn {
namespace {

class DemoTest : public testing::Test {
 protected:
  DemoTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("cairn_demo_test_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    options_.program = CAIRN_PROGRAM;
    options_.model_path = folder_ / "model.gguf";
    options_.json_path = folder_ / "figures.json";
    options_.document_path = folder_ / "document.txt";
    options_.context_tokens = 12'288;
    options_.threads = 1;  // waiting threads are slow on a busy machine
    std::ofstream(options_.document_path) << DemoDocument().substr(0, 4000);
  }
  ~DemoTest() override { std::filesystem::remove_all(folder_); }

  void MakeModel(const std::string& architecture) {
    ModelMakeOptions make;
    make.shape.architecture = architecture;
    make.shape.width = 64;
    make.path = options_.model_path;
    ASSERT_EQ(RunModelMake(make), 0);
  }

  Json Figures() const {
    return Json::parse(ReadFile(options_.json_path).value_or(""), nullptr,
                       /*allow_exceptions=*/false);
  }

  const std::filesystem::path folder_;
  DemoOptions options_;
};

TEST_F(DemoTest, PrefillsFewerTokensWithCheckpointsOnAHybridModel) {
  MakeModel("qwen35");
  options_.exact = false;
  ASSERT_EQ(RunDemo(options_), 0);
  const Json figures = Figures();
  EXPECT_FALSE(figures.contains("exact"));
  ASSERT_TRUE(figures.is_object());
  EXPECT_EQ(figures["model"], "model.gguf");
  EXPECT_EQ(figures["memory"], "hybrid");
  const Json& turns = figures["turns"];
  ASSERT_EQ(turns.size(), DemoTurns("").size());
  EXPECT_EQ(turns[0]["with"]["prefilled_tokens"], turns[0]["with"]["prompt_tokens"])
      << "nothing is cached";
  // The document is short, so the demo saves less here than with the built-in one.
  EXPECT_GT(figures["total"]["without"]["prefilled_tokens"],
            2 * figures["total"]["with"]["prefilled_tokens"].get<int>());
  for (const Json& turn : turns) {
    const std::string& what = turn["what"].text();
    EXPECT_NE(turn["answer"], "") << what;
    if (what.find("restart") == std::string::npos) continue;
    EXPECT_EQ(turn["without"]["prefilled_tokens"], turn["without"]["prompt_tokens"]) << what;
    EXPECT_LT(turn["with"]["prefilled_tokens"], turn["with"]["prompt_tokens"].get<int>() / 2)
        << what;
  }
}

TEST_F(DemoTest, AnswersWithReuseExactAsAServerWithoutACache) {
  MakeModel("qwen35");
  ASSERT_EQ(RunDemo(options_), 0);
  const Json exact = Figures()["exact"];
  ASSERT_EQ(exact["turns"].size(), DemoTurns("").size());
  for (const Json& turn : exact["turns"]) {
    EXPECT_EQ(turn["same_answer"], true) << turn["what"].text();
    EXPECT_EQ(turn["without"]["prefilled_tokens"], turn["without"]["prompt_tokens"]);
  }
  EXPECT_GT(exact["total"]["without"]["prefilled_tokens"],
            2 * exact["total"]["with"]["prefilled_tokens"].get<int>());
}

TEST_F(DemoTest, SaysWhenTheServerDoesNotStart) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunDemo(options_), 1);
  const std::string error = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(error.starts_with("cairn-lab demo: ")) << error;
  EXPECT_NE(error.find("model.gguf"), std::string::npos) << error;
}

TEST_F(DemoTest, SaysWhichTurnFailedAndWhatTheServerSaid) {
  MakeModel("llama");
  options_.context_tokens = 1024;  // less than the document
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunDemo(options_), 1);
  const std::string error = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(
      error.starts_with("cairn-lab demo: the turn \"a first question about a document\" without "
                        "checkpoints failed: the server answered 400: "))
      << error;
  EXPECT_NE(error.find("The server's last lines:\n"), std::string::npos) << error;
}

TEST_F(DemoTest, SaysWhenTheDocumentIsMissing) {
  options_.document_path += ".not";
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunDemo(options_), 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("document.txt.not' cannot be read"),
            std::string::npos);
}

}  // namespace
}  // namespace cairn
