// The whole of `make bench-peers`, at its smallest: servers are started, restarted and stopped, and
// the page is written. Without a llama-server the tests are skipped.

#include "bench_script.h"

namespace cairn {
namespace {

class BenchPeers : public test::BenchScriptTest {};

TEST_F(BenchPeers, WritesAPageWithPlotsAndWhatHolds) {
  std::string page;
  Play("peers", {}, "benchmarks.md", &page);
  if (IsSkipped() || HasFatalFailure()) return;
  for (const char* part :
       {"### 1. Hardly more is prefilled than must be", "### 2. Never more than the peer prefills",
        "### 3. The time to the first token", "| growing-chat | cairn |",
        "| restart | llama-server, best flags |", "(benchmarks/hybrid-qwen35-read.svg)",
        "--checkpoint-min-step 0", "make bench-peers SCALE=0.02", "Beside llama-server: **"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << " is not in\n" << page;
  }
  EXPECT_EQ(page.find(CAIRN_SOURCE_DIR), std::string::npos) << "a path of this machine\n" << page;
  EXPECT_EQ(page.find(" failed: "), std::string::npos) << page;
  for (const char* plot : {"read", "first-token", "ratio"}) {
    const std::string name = std::string("hybrid-qwen35-") + plot + ".svg";
    EXPECT_NE(Read("benchmarks/" + name).find("<svg "), std::string::npos) << name;
  }
  ExpectNoServerLeft();
  RemoveAll();
}

// The file's path has to stay out of the page.
TEST_F(BenchPeers, WritesAPageOfARealModelsFileAndWhetherAnswersAgree) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("cairn_bench_model_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string model = folder / "small.gguf";
  conformance::ChildOptions make;
  make.argv = {CAIRN_LAB_PROGRAM, "model", "make", "qwen3", model, "--width", "64"};
  make.log_path = folder / "errors.txt";
  make.timeout_ms = 60'000;
  const auto made = conformance::RunChild(make);
  ASSERT_TRUE(made && made->exit_code == 0);
  std::string page;
  Play("peers", {"MODEL=" + model, "SCENARIOS=growing-chat,crowd"}, "small.md", &page);
  if (!IsSkipped() && !HasFatalFailure()) {
    for (const char* part :
         {"# Benchmarks of small.gguf", "| growing-chat | cairn |", "| crowd | llama-server |",
          "The same greedy answer as llama-server's: **", " of 58** requests",
          "`small.gguf`, of the architecture qwen3,", "cairn serve -m small.gguf",
          "make bench-peers MODEL=small.gguf SCALE=0.02"}) {
      EXPECT_NE(page.find(part), std::string::npos) << part << " is not in\n" << page;
    }
    EXPECT_EQ(page.find(folder), std::string::npos) << "a path of this machine\n" << page;
    EXPECT_EQ(page.find(CAIRN_SOURCE_DIR), std::string::npos) << page;
    EXPECT_EQ(page.find(" ended early: "), std::string::npos) << page;
    EXPECT_EQ(page.find("prompts of other lengths"), std::string::npos) << page;
    ExpectNoServerLeft();
    RemoveAll();
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cairn
