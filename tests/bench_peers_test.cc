// `make bench-peers` as a whole, as short as can be: servers are started, restarted and ended, and
// the page is written. Without a llama-server the test is skipped.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/read_file.h"
#include "conformance/child_process.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

using conformance::ChildOptions;
using conformance::RunChild;

std::string Read(const fs::path& path) {
  const Result<std::string> text = ReadFile(path.string());
  EXPECT_TRUE(text.has_value()) << path;
  return text.value_or("");
}

TEST(BenchPeers, WritesAPageWithPlotsAndWhatHolds) {
  const fs::path work =
      fs::temp_directory_path() / ("cairn_bench_peers_" + std::to_string(getpid()));
  fs::create_directories(work);
  ChildOptions options;
  const std::string script = std::string(CAIRN_SOURCE_DIR) + "/scripts/bench_peers.sh";
  options.argv = {
      "env",    std::string("CAIRN=") + CAIRN_PROGRAM, "WORK=" + work.string(), "THREADS=1", script,
      "--quick"};
  options.log_path = work / "errors.txt";
  options.timeout_ms = 280'000;
  const auto result = RunChild(options);
  ASSERT_TRUE(result.has_value());
  const std::string errors = fs::is_empty(options.log_path) ? "" : Read(options.log_path);
  if (errors.find("there is no llama-server") != std::string::npos) {
    fs::remove_all(work);
    GTEST_SKIP() << "there is no llama-server to compare with (Debian's llama.cpp-tools has it)";
  }
  ASSERT_EQ(result->exit_code, 0) << result->output << errors;

  const std::string page = Read(work / "benchmarks.md");
  for (const char* part :
       {"### 1. Hardly more is read than must be", "### 2. Never more than the peer reads",
        "### 3. The time to the first token", "| growing-chat | cairn |",
        "| restart | llama-server, best flags |", "(benchmarks/hybrid-qwen35-read.svg)",
        "--checkpoint-min-step 0", "make bench-peers SCALE=0.02", "Beside llama-server: **"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << " is not in\n" << page;
  }
  EXPECT_EQ(page.find(CAIRN_SOURCE_DIR), std::string::npos) << "a path of this machine\n" << page;
  EXPECT_EQ(page.find(" failed: "), std::string::npos) << page;
  for (const char* plot : {"read", "first-token", "ratio"}) {
    const std::string name = std::string("hybrid-qwen35-") + plot + ".svg";
    EXPECT_TRUE(Read(work / "benchmarks" / name).starts_with("<svg ")) << name;
  }
  EXPECT_FALSE(fs::exists(work / "server" / "pid")) << "a server was left";
  fs::remove_all(work);
}

}  // namespace
}  // namespace cairn
