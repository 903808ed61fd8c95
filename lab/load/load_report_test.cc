// What a load benchmark saw, kept, brought together and shown.

#include "lab/load/load_report.h"

#include <gtest/gtest.h>

#include <set>

#include "lab/load/load_figures.h"
#include "lab/load/load_json.h"

namespace cairn {
namespace {

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

LoadRun Run(const std::string& workload, std::map<std::string, double> figures) {
  LoadRun run;
  run.workload = workload;
  run.figures = std::move(figures);
  return run;
}

// One run of some workloads; `slow` times as slow.
LoadResult Sample(const std::string& name, double slow) {
  LoadServer server;
  server.name = name;
  server.program = name + " 1.0";
  server.model = "qwen35.gguf";
  server.command_line = name + " -m models/qwen35.gguf";
  server.runs = {
      Run("speed", {{"prompt_1", 2000 / slow}, {"answer_1", 800 / slow}, {"clients", 4}}),
      Run("gaps",
          {{"before_p50_ms", 1.5}, {"during_p99_ms", 3 * slow}, {"p99_over_p50", 2 * slow}}),
      Run("turns", {{"read_tokens", 100 * slow}, {"first_token_p50_ms", 50 * slow}}),
      Run("streams", {{"whole", 1200}, {"broken", 0}, {"memory_peak_mib", 150.4}})};
  server.runs[2].turns = {{200, 2300, 2300, 1000 * slow}, {200, 2600, 260, 50 * slow}};
  server.runs[2].samples["first_token"] = {50 * slow};
  LoadResult result;
  result.scale = 0.5;
  result.seed = 7;
  result.servers = {server};
  return result;
}

LoadResult Both() {
  return MergeLoadResults({Sample("cairn", 1), Sample("llama-server", 4)});
}

TEST(LoadResults, AreBroughtTogetherByServer) {
  LoadResult merged = MergeLoadResults(
      {Sample("cairn", 1), Sample("llama-server", 4), Sample("cairn", 2), Sample("cairn", 10)});
  ASSERT_EQ(merged.servers.size(), 2U);
  ASSERT_EQ(merged.servers[0].runs.size(), 12U);
  EXPECT_EQ(merged.servers[0].runs[11].repetition, 2U);
  EXPECT_EQ(merged.scale, 0.5);
  EXPECT_EQ(LoadMedian(merged.servers[0], "speed", "prompt_1"), 1000) << "the median of three";
  merged.servers[0].runs[0].error = "broke off";
  EXPECT_EQ(LoadMedian(merged.servers[0], "speed", "prompt_1"), 600);
  EXPECT_EQ(LoadMedian(merged.servers[0], "speed", "nothing"), std::nullopt);
  EXPECT_TRUE(MergeLoadResults({}).servers.empty());
}

TEST(LoadFigures, HaveEachKeyOnceAndAWorkloadThatIsThere) {
  std::set<std::pair<std::string_view, std::string_view>> keys;
  std::set<std::string_view> workloads;
  for (const LoadWorkloadInfo& info : LoadWorkloads()) workloads.insert(info.name);
  for (const LoadFigureInfo& info : LoadFigures()) {
    EXPECT_TRUE(keys.insert({info.workload, info.key}).second) << info.key;
    EXPECT_TRUE(workloads.contains(info.workload)) << info.workload;
  }
}

TEST(LoadJson, IsReadBackAsItWas) {
  LoadResult result = Both();
  result.servers[1].runs[0].faults["status 500"] = 3;
  result.servers[1].runs[0].fault_details["status 500"] = "out of \"memory\"";
  result.servers[1].runs[1].error = "a request failed";
  const std::string text = LoadJson(result);
  const auto read = ReadLoadJson(text);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(LoadJson(*read), text);
  EXPECT_EQ(read->servers[1].runs[0].faults.at("status 500"), 3U);
  EXPECT_EQ(read->servers[0].runs[2].turns[1].read_tokens, 260U);
  EXPECT_EQ(read->seed, 7U);
}

TEST(LoadJson, OfAnythingElseIsRefused) {
  EXPECT_FALSE(ReadLoadJson("").has_value());
  EXPECT_FALSE(ReadLoadJson("[]").has_value());
  EXPECT_FALSE(ReadLoadJson(R"({"format": "cairn-bench", "version": 1})").has_value());
  EXPECT_FALSE(ReadLoadJson(R"({"format": "cairn-load", "version": 2})").has_value());
  const auto half = ReadLoadJson(R"({"format": "cairn-load", "version": 1, "scale": "x"})");
  ASSERT_FALSE(half.has_value());
  EXPECT_EQ(half.error().code, ErrorCode::kCorrupt);
}

TEST(LoadMarkdown, ShowsBothServersAndOursOverTheirs) {
  const std::string page = LoadMarkdown(Both(), "serve/", "Two cores.\n");
  for (const char* part :
       {"# Many at once", "## Speed", "|  | cairn | llama-server | ours ÷ theirs | better is |",
        "| prompt tokens/s, 1 client, as the server says | 2,000 | 500 | 4.00 | more |",
        "| clients at once | 4 | 4 |  |  |",
        "| gap during, p99 | 3.00 ms | 12.0 ms | 0.25 | less |",
        "| 2 | 200 | 260 | 50.0 ms | 200 | 260 | 200 ms |", "| broken streams | 0 | 0 | - | less |",
        "| p99 during over median before | 2.00 | 8.00 |", "150 MiB",
        "![Time to the first token](serve/first-token.svg)", "multiplied by 0.5", "Two cores.",
        "# cairn, cairn 1.0\ncairn -m models/qwen35.gguf\n"}) {
    EXPECT_TRUE(Has(page, part)) << part << " is not in\n" << page;
  }
  EXPECT_FALSE(Has(page, "## Long prompts")) << "that was not played";
}

TEST(LoadMarkdown, SaysWhatWentWrong) {
  LoadResult result = Both();
  result.servers[0].runs[3].faults["503 without Retry-After"] = 1234;
  result.servers[1].runs[1].error = "a request failed";
  const std::string page = LoadMarkdown(result, "", "");
  EXPECT_TRUE(Has(page, "- cairn, run 1: 503 without Retry-After, 1,234 times\n"));
  EXPECT_TRUE(Has(page, "- llama-server, run 1 ended early: a request failed\n"));
  EXPECT_TRUE(Has(page, "| gap during, p99 | 3.00 ms | - | - | less |"));
  EXPECT_FALSE(Has(page, "!["));
}

TEST(LoadMarkdown, OfNothingSaysSo) {
  EXPECT_EQ(LoadMarkdown({}, "", ""), "# Many at once\n\nNothing was played.\n");
}

TEST(LoadMarkdown, HasNoLongLinesButTables) {
  const std::string page = LoadMarkdown(Both(), "", "");
  for (size_t begin = 0; begin < page.size();) {
    const size_t end = page.find('\n', begin);
    const std::string line = page.substr(begin, end - begin);
    if (!line.starts_with("|")) {
      EXPECT_LE(line.size(), 100U) << line;
    }
    begin = end + 1;
  }
}

TEST(LoadPlots, AreThoseThatThereIsSomethingToShowIn) {
  const std::vector<NamedPlot> plots = LoadPlots(Both());
  ASSERT_EQ(plots.size(), 2U);
  EXPECT_EQ(plots[0].file, "first-token.svg");
  EXPECT_TRUE(Has(plots[0].svg, "<circle")) << "a dot for each request that was kept";
  EXPECT_EQ(plots[1].file, "gaps.svg");
  EXPECT_TRUE(Has(plots[1].svg, "during, p99"));
  LoadResult speed = Both();
  for (LoadServer& server : speed.servers) server.runs.resize(1);
  EXPECT_TRUE(LoadPlots(speed).empty());
}

TEST(LoadText, IsTheTablesOfOneServerToo) {
  const std::string text = LoadText(Sample("cairn", 1));
  EXPECT_TRUE(Has(text, "| prompt tokens/s, 1 client, as the server says | 2,000 | more |"))
      << text;
  EXPECT_FALSE(Has(text, "ours"));
}

}  // namespace
}  // namespace cairn
