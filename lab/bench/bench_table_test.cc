#include "lab/bench/bench_table.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "lab/bench/bench_sample.h"
#include "lab/bench/bench_text.h"
#include "testing/base/golden_file.h"

namespace cairn {
namespace {

using test::SampleBench;

void ExpectNarrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LT(line.size(), 100U) << line;
}

TEST(BenchTable, HasARowForEachServerAndComparesThem) {
  const std::string table = FormatBench(SampleBench(), false);
  ExpectGolden("bench_table.txt", table);
  ExpectNarrow(table);
}

TEST(BenchTable, ColoursScenariosOnATerminal) {
  ExpectGolden("bench_table_colour.txt", FormatBench(SampleBench(), true));
}

TEST(BenchTable, ShowsOneServerAlone) {
  BenchResult result = SampleBench();
  result.servers.resize(1);
  result.servers[0].memory.clear();
  for (ScenarioRun& run : result.servers[0].runs) {
    for (RequestFigures& request : run.requests) request.lower_bound_tokens = 0;
  }
  ExpectGolden("bench_table_alone.txt", FormatBench(result, false));
}

TEST(BenchTable, SaysWhenNothingWasPlayed) {
  EXPECT_EQ(FormatBench({}, false), "Nothing was played.\n");
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
        request.answer_ms = 16;
      }
    }
  }
  ExpectNarrow(FormatBench(result, false));
}

TEST(BenchText, WritesFiguresAsShortAsTheyMayBe) {
  EXPECT_EQ(RatioText(0), "-");
  EXPECT_EQ(RatioText(1.0 / 3), "0.33");
  EXPECT_EQ(RatioText(12.34), "12.3");
  EXPECT_EQ(RatioText(1234.4), "1,234");
  EXPECT_EQ(MsText(0), "-");
  EXPECT_EQ(MsText(0.844), "0.84 ms");
  EXPECT_EQ(MsText(12.34), "12.3 ms");
  EXPECT_EQ(MsText(999.4), "999 ms");
  EXPECT_EQ(MsText(999.6), "1.00 s");
  EXPECT_EQ(MsText(75'000), "75.0 s");
  EXPECT_EQ(PerRunText(7, 2), "4");
  EXPECT_EQ(PerRunText(7, 0), "-");
  EXPECT_EQ(SoonerText(0.25), "first tokens came 4.00 times sooner");
  EXPECT_EQ(SoonerText(1.01), "first tokens came at the same time");
  EXPECT_EQ(SoonerText(3), "first tokens came 3.00 times later");
  EXPECT_EQ(SoonerText(0), "first tokens cannot be compared");
}

TEST(BenchText, EscapesMarkup) {
  EXPECT_EQ(EscapeMarkup("<a href=\"x\"> & more"), "&lt;a href=&quot;x&quot;&gt; &amp; more");
}

}  // namespace
}  // namespace cairn
