// For tests of scripts that run a benchmark against llama-server: at the smallest size, in a folder
// of the test's own.

#ifndef CAIRN_TESTS_BENCH_SCRIPT_H_
#define CAIRN_TESTS_BENCH_SCRIPT_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/read_file.h"
#include "conformance/child_process.h"

namespace cairn::test {

class BenchScriptTest : public ::testing::Test {
 protected:
  // Runs `script` with `settings` ("NAME=value") and sets `page` to the contents of `page_name`.
  // Without a llama-server the test is skipped and `page` stays empty; also without matplotlib, if
  // the page has plots, unless CAIRN_NEEDS_MATPLOTLIB is set.
  void Play(const std::string& script, const std::vector<std::string>& settings,
            const std::string& page_name, std::string* page) {
    namespace fs = std::filesystem;
    work_ = fs::temp_directory_path() / ("cairn_" + script + "_" + std::to_string(getpid()));
    fs::create_directories(work_);
    conformance::ChildOptions options;
    options.argv = {"env", std::string("CAIRN=") + CAIRN_PROGRAM,
                    std::string("CAIRN_LAB=") + CAIRN_LAB_PROGRAM, "WORK=" + work_.string(),
                    "THREADS=1"};
    options.argv.insert(options.argv.end(), settings.begin(), settings.end());
    options.argv.push_back(std::string(CAIRN_SOURCE_DIR) + "/scripts/" + script);
    options.argv.emplace_back("--quick");
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

  // The script would install it from the network, which a test must not do.
  static bool MatplotlibIsMissing() {
    return !std::filesystem::exists(std::string(CAIRN_SOURCE_DIR) + "/.deps/report/installed");
  }

  // Reads a file of the folder.
  std::string Read(const std::string& name) const {
    const Result<std::string> text = ReadFile((work_ / name).string());
    EXPECT_TRUE(text.has_value()) << name;
    return text.value_or("");
  }
  void ExpectNoServerLeft() const {
    EXPECT_FALSE(std::filesystem::exists(work_ / "server" / "pid")) << "a server was left";
  }
  void RemoveAll() const { std::filesystem::remove_all(work_); }

  // Whether the script's page has plots.
  bool draws_plots_ = true;

 private:
  std::filesystem::path work_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTS_BENCH_SCRIPT_H_
