#include "lab/bench/bench_report.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "lab/bench/bench_sample.h"
#include "testing/base/golden_file.h"

namespace cairn {
namespace {

using test::SampleBench;

void ExpectNarrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LT(line.size(), 100U) << line;
}

TEST(BenchTable, HasARowForEachServerAndTheFiguresOfEachWorkload) {
  const std::string table = FormatBench(SampleBench());
  ExpectGolden("bench_table.txt", table);
  ExpectNarrow(table);
}

TEST(BenchTable, LeavesOutWhatTheLowerBoundOfOneRequestIsMissingFor) {
  BenchResult result = SampleBench();
  result.servers.resize(1);
  result.servers[0].runs.resize(1);
  result.servers[0].runs[0].requests[2].lower_bound_tokens = 0;
  const std::string table = FormatBench(result);
  EXPECT_NE(table.find("  cairn "), std::string::npos) << table;
  EXPECT_NE(table.find("5,600            -        -"), std::string::npos) << table;
}

TEST(BenchTable, SaysWhenNothingWasPlayed) {
  EXPECT_EQ(FormatBench({}), "Nothing was played.\n");
}

TEST(BenchTable, StaysUnder100ColumnsWithLongNamesAndLargeFigures) {
  BenchResult result = SampleBench();
  for (ServerFigures& server : result.servers) {
    server.name += std::string(90, 'x');
    for (ScenarioRun& run : server.runs) {
      for (RequestFigures& request : run.requests) {
        request.prompt_tokens = 1'234'567;
        request.read_tokens = 1'234'567;
        request.first_token_ms = 599'900;
      }
    }
    server.load_runs.clear();
  }
  ExpectNarrow(FormatBench(result));
}

// The JSON that lab/report/ reads: its tests read the same golden file.

TEST(BenchJson, HoldsAllMeasurementsOfScenariosAndWorkloads) {
  ExpectGolden("bench.json", BenchJson(SampleBench()));
}

TEST(BenchJson, HoldsNumbersToTheLastDigit) {
  BenchResult result = SampleBench();
  result.seed = UINT64_MAX;
  result.servers[0].runs[0].requests[0].first_token_ms = 1.0 / 3;
  const std::string text = BenchJson(result);
  EXPECT_NE(text.find("\"seed\": 18446744073709551615"), std::string::npos);
  EXPECT_NE(text.find("\"first_token_ms\": 0.3333333333333333"), std::string::npos);
}

TEST(BenchJson, ReplacesBytesThatAreNotUtf8) {
  BenchResult result = SampleBench();
  result.servers[0].runs[0].error = "a\xff";
  EXPECT_NE(BenchJson(result).find("\"error\": \"a\xef\xbf\xbd\""), std::string::npos);
}

}  // namespace
}  // namespace cairn
