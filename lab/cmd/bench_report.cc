#include "lab/cmd/bench_report.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/read_file.h"
#include "lab/bench/bench_html.h"
#include "lab/bench/bench_json.h"
#include "lab/bench/bench_markdown.h"
#include "lab/bench/bench_summary.h"
#include "lab/bench/bench_table.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

Result<std::vector<BenchResult>> ReadResults(const std::vector<std::string>& paths) {
  std::vector<BenchResult> results;
  for (const std::string& path : paths) {
    const Result<std::string> text = ReadFile(path);
    if (!text) return tl::unexpected<Error>(text.error());
    Result<BenchResult> result = ReadBenchJson(*text);
    if (!result) {
      return Fail(result.error().code, "'" + path + "' cannot be used: " + result.error().message);
    }
    results.push_back(std::move(*result));
  }
  return MergeResults(results);
}

Status WriteText(const fs::path& path, const std::string& text) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (file.flush()) return {};
  return Fail(ErrorCode::kInvalidArgument, "'" + path.string() + "' cannot be written");
}

// From the page's folder to that of the plots, as a link names it.
std::string PlotLink(const BenchReportOptions& options) {
  if (options.svg_folder.empty()) return "";
  const fs::path page = fs::absolute(options.markdown_path).parent_path();
  return fs::absolute(options.svg_folder).lexically_relative(page).generic_string() + "/";
}

Status WriteMarkdown(const BenchReportOptions& options, const std::vector<BenchResult>& results) {
  std::string facts;
  if (!options.facts_path.empty()) {
    Result<std::string> text = ReadFile(options.facts_path);
    if (!text) return tl::unexpected<Error>(text.error());
    facts = std::move(*text);
  }
  return WriteText(options.markdown_path, BenchMarkdown(results, PlotLink(options), facts));
}

Status WritePlots(const std::string& folder, const std::vector<BenchResult>& results) {
  for (const BenchResult& result : results) {
    for (const NamedPlot& plot : NamedPlots(result)) {
      if (Status status = WriteText(fs::path(folder) / plot.file, plot.svg); !status) return status;
    }
  }
  return {};
}

Status WriteReports(const BenchReportOptions& options, const std::vector<BenchResult>& results) {
  Status status;
  if (!options.html_path.empty()) status = WriteText(options.html_path, BenchHtml(results));
  if (status && !options.svg_folder.empty()) status = WritePlots(options.svg_folder, results);
  if (status && !options.markdown_path.empty()) status = WriteMarkdown(options, results);
  return status;
}

int PrintError(const Error& error) {
  std::fprintf(stderr, "cairn-lab bench report: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

CLI::App* AddBenchReport(CLI::App* bench, BenchReportOptions* options) {
  CLI::App* report = bench->add_subcommand(
      "report", "Bring the results of several benchmarks together, with a part for each model");
  report->add_option("files", options->paths, "Results, as --json wrote them, in the order played")
      ->required();
  report->add_option("--html", options->html_path, "Write one page with plots to this file");
  report->add_option("--markdown", options->markdown_path, "Write a page of Markdown to this file");
  report->add_option("--svg-dir", options->svg_folder, "Write the plots into this folder");
  report->add_option("--facts", options->facts_path,
                     "Markdown on the machine and the commands, for the end of --markdown's page");
  return report;
}

int RunBenchReport(const BenchReportOptions& options) {
  const Result<std::vector<BenchResult>> results = ReadResults(options.paths);
  if (!results) return PrintError(results.error());
  for (const BenchResult& result : *results) {
    std::printf("%s\n", FormatBench(result, isatty(STDOUT_FILENO) != 0).c_str());
  }
  const Status written = WriteReports(options, *results);
  return written ? 0 : PrintError(written.error());
}

}  // namespace cairn
