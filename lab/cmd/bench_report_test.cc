#include "lab/cmd/bench_report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/read_file.h"
#include "lab/bench/bench_json.h"
#include "lab/bench/bench_sample.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

class BenchReport : public testing::Test {
 protected:
  BenchReport()
      : folder_(fs::temp_directory_path() / ("cairn_bench_report_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "one.json") << BenchJson(test::SampleBench());
    options_.paths = {folder_ / "one.json"};
  }
  ~BenchReport() override { fs::remove_all(folder_); }

  std::string Read(const std::string& name) const {
    return ReadFile((folder_ / name).string()).value_or("");
  }
  // What it says when it fails.
  std::string Complaint() const {
    testing::internal::CaptureStderr();
    EXPECT_EQ(RunBenchReport(options_), 1);
    return testing::internal::GetCapturedStderr();
  }

  const fs::path folder_;
  BenchReportOptions options_;
};

TEST_F(BenchReport, WritesEverythingThatIsAskedFor) {
  std::ofstream(folder_ / "facts.md") << "On a machine.\n";
  options_.html_path = folder_ / "page.html";
  options_.markdown_path = folder_ / "docs" / "page.md";
  options_.svg_folder = folder_ / "docs" / "plots";
  options_.facts_path = folder_ / "facts.md";
  ASSERT_EQ(RunBenchReport(options_), 0);
  EXPECT_TRUE(Read("page.html").starts_with("<!doctype html>"));
  const std::string page = Read("docs/page.md");
  EXPECT_NE(page.find("](plots/hybrid-qwen35-read.svg)"), std::string::npos) << page;
  EXPECT_NE(page.find("On a machine.\n"), std::string::npos) << page;
  EXPECT_TRUE(Read("docs/plots/hybrid-qwen35-read.svg").starts_with("<svg "));
}

TEST_F(BenchReport, PrintsATableForEachModel) {
  BenchResult other = test::SampleBench();
  for (ServerFigures& server : other.servers) server.model = "other.gguf";
  std::ofstream(folder_ / "two.json") << BenchJson(other);
  options_.paths.push_back(folder_ / "two.json");
  testing::internal::CaptureStdout();
  ASSERT_EQ(RunBenchReport(options_), 0);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("hybrid: qwen35\n"), std::string::npos) << text;
  EXPECT_NE(text.find("hybrid: other\n"), std::string::npos) << text;
}

TEST_F(BenchReport, NamesTheFileThatCannotBeUsed) {
  std::ofstream(folder_ / "bad.json") << "{}";
  options_.paths.push_back(folder_ / "bad.json");
  EXPECT_NE(Complaint().find("bad.json' cannot be used: it is no result"), std::string::npos);
  options_.paths.back() = folder_ / "missing.json";
  EXPECT_NE(Complaint().find("missing.json"), std::string::npos);
}

TEST_F(BenchReport, SaysWhenAPageCannotBeWritten) {
  options_.html_path = folder_ / "one.json" / "page.html";
  EXPECT_NE(Complaint().find("page.html' cannot be written"), std::string::npos);
}

}  // namespace
}  // namespace cairn
