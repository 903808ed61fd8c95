// `make bench-serve` as a whole, as short as can be: servers are started and ended, every workload
// is played on both, and the page is written. Without a llama-server the test is skipped.

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

TEST(BenchServe, WritesAPageWithEveryWorkloadOfBothServers) {
  const fs::path work =
      fs::temp_directory_path() / ("cairn_bench_serve_" + std::to_string(getpid()));
  fs::create_directories(work);
  ChildOptions options;
  const std::string script = std::string(CAIRN_SOURCE_DIR) + "/scripts/bench_serve.sh";
  options.argv = {"env",
                  std::string("CAIRN=") + CAIRN_PROGRAM,
                  "WORK=" + work.string(),
                  "THREADS=1",
                  "STREAMS=20",
                  "STREAM_SECONDS=2",
                  script,
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

  const std::string page = Read(work / "serve.md");
  for (const char* part :
       {"## Speed", "## Long prompts beside chats", "## Answers while a very long prompt is read",
        "## Turns whose reasoning is left out", "## Many streams",
        "| cairn | llama-server | ours ÷ theirs |", "| broken streams | 0 | 0 |",
        "| whole streams | ", "memory of the server, peak", "(serve/first-token.svg)",
        "(serve/gaps.svg)", "make bench-serve WORKLOADS=", "# llama-server, llama-server b"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << " is not in\n" << page;
  }
  EXPECT_EQ(page.find(CAIRN_SOURCE_DIR), std::string::npos) << "a path of this machine\n" << page;
  EXPECT_EQ(page.find(" ended early: "), std::string::npos) << page;
  EXPECT_EQ(page.find("not decided beforehand"), std::string::npos) << page;
  for (const char* plot : {"first-token.svg", "gaps.svg"}) {
    EXPECT_TRUE(Read(work / "serve" / plot).starts_with("<svg ")) << plot;
  }
  EXPECT_FALSE(fs::exists(work / "server" / "pid")) << "a server was left";
  fs::remove_all(work);
}

}  // namespace
}  // namespace cairn
