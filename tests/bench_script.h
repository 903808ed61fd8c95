// For tests that run a benchmark of scripts/bench against llama-server: at the smallest size, in a
// folder of the test's own.

#ifndef CAIRN_TESTS_BENCH_SCRIPT_H_
#define CAIRN_TESTS_BENCH_SCRIPT_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fs.h"
#include "conformance/child_process.h"

namespace cairn::test {

class BenchScriptTest : public ::testing::Test {
 protected:
  // Runs `bench` (python3 scripts/bench NAME) with `settings` ("NAME=value") and sets `page` to the
  // contents of `page_name`.
  // Without a llama-server the test is skipped and `page` stays empty; also without matplotlib, if
  // the page has plots, unless CAIRN_NEEDS_MATPLOTLIB is set.
  void Play(const std::string& bench, const std::vector<std::string>& settings,
            const std::string& page_name, std::string* page) {
    namespace fs = std::filesystem;
    work_ = fs::temp_directory_path() / ("cairn_bench_" + bench + "_" + std::to_string(getpid()));
    fs::create_directories(work_);
    conformance::ChildOptions options;
    options.argv = {"env", std::string("CAIRN=") + CAIRN_PROGRAM,
                    std::string("CAIRN_LAB=") + CAIRN_LAB_PROGRAM, "WORK=" + work_.string(),
                    "THREADS=1"};
    options.argv.insert(options.argv.end(), settings.begin(), settings.end());
    for (const std::string& word :
         {std::string("python3"), CAIRN_SOURCE_DIR + std::string("/scripts/bench"), bench,
          std::string("--quick")}) {
      options.argv.push_back(word);
    }
    options.log_path = work_ / "errors.txt";
    if (draws_plots_ && MatplotlibIsMissing() && std::getenv("CAIRN_NEEDS_MATPLOTLIB") == nullptr) {
      fs::remove_all(work_);
      GTEST_SKIP() << "there is no matplotlib to draw plots with (scripts/report.sh --install)";
    }
    options.timeout_ms = 280'000;
    const auto result = conformance::RunChild(options);
    ASSERT_TRUE(result.has_value());
    const std::string errors = fs::is_empty(options.log_path) ? "" : Read("errors.txt");
    if (errors.find("there is no llama-server") != std::string::npos) {
      fs::remove_all(work_);
      GTEST_SKIP() << "there is no llama-server to compare with (Debian's llama.cpp-tools has it)";
    }
    ASSERT_EQ(result->exit_code, 0) << result->output << errors;
    *page = Read(page_name);
  }

  // The benchmark would install it from the network, which a test must not do.
  static bool MatplotlibIsMissing() {
    return !std::filesystem::exists(std::string(CAIRN_SOURCE_DIR) + "/.deps/report/installed");
  }

  // Reads a file of the folder.
  std::string Read(const std::string& name) const {
    const Result<std::string> text = ReadFile((work_ / name).string());
    EXPECT_TRUE(text.has_value()) << name;
    return text.value_or("");
  }
  // Every server's command names the folder, where its cache or its model is.
  void ExpectNoServerLeft() const {
    for (const auto& process : std::filesystem::directory_iterator("/proc")) {
      const Result<std::string> command = ReadFile((process.path() / "cmdline").string());
      const bool ours = command && command->find(work_.string()) != std::string::npos;
      EXPECT_FALSE(ours) << "a server was left: " << process.path();
    }
  }
  void RemoveAll() const { std::filesystem::remove_all(work_); }

  // Whether its page has plots.
  bool draws_plots_ = true;

 private:
  std::filesystem::path work_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTS_BENCH_SCRIPT_H_
