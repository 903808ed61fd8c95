// The demo's table and figures, against golden files.

#include "lab/demo/demo_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "base/number_text.h"
#include "testing/base/golden_file.h"

namespace cairn {
namespace {

DemoFigures Sample() {
  DemoFigures figures;
  figures.model = "gemma-3-270m-q4_k_m.gguf";
  figures.memory = "sliding-window";
  figures.what = {"ask", "follow-up", "back to the start, asked differently",
                  "the last answer once more"};
  figures.without = {
      {5900, 5900, 12'340}, {6174, 227, 610.4}, {5899, 5899, 12'200}, {5899, 5899, 9}};
  figures.with_default = {
      {5900, 5900, 12'400}, {6174, 227, 615}, {5901, 289, 733.26}, {5901, 1, 40}};
  figures.total_ms = 125'000;
  return figures;
}

TEST(DemoReport, DrawsATable) {
  ExpectGolden("demo_table.txt", FormatDemo(Sample(), false));
}

TEST(DemoReport, ColoursTotalsOnATerminal) {
  ExpectGolden("demo_table_colour.txt", FormatDemo(Sample(), true));
}

TEST(DemoReport, SaysWhenCheckpointsDidNotHelp) {
  DemoFigures figures = Sample();
  std::swap(figures.without, figures.with_default);
  figures.memory.clear();
  ExpectGolden("demo_table_worse.txt", FormatDemo(figures, false));
  figures.with_default = figures.without;
  ExpectGolden("demo_table_same.txt", FormatDemo(figures, false));
}

TEST(DemoReport, WritesFiguresAsJson) {
  ExpectGolden("demo.json", DemoJson(Sample()));
}

TEST(DemoReport, StaysUnder100ColumnsWithLargeFigures) {
  DemoFigures figures = Sample();
  figures.what = {std::string(60, 'w')};
  figures.without = {{1'234'567, 1'234'567, 3'599'000}};
  figures.with_default = figures.without;
  std::istringstream lines(FormatDemo(figures, false));
  size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  EXPECT_LT(widest, 100U);
  EXPECT_NE(FormatDemo(figures, false).find("1,234,567    3,599 s"), std::string::npos);
}

TEST(DemoReport, WritesNumbersForPeople) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1000), "1,000");
  EXPECT_EQ(WithCommas(1'234'567), "1,234,567");
  EXPECT_EQ(Seconds(0), "0.00 s");
  EXPECT_EQ(Seconds(9'994), "9.99 s");
  EXPECT_EQ(Seconds(9'996), "10.0 s");
  EXPECT_EQ(Seconds(99'400), "99.4 s");
  EXPECT_EQ(Seconds(99'600), "1 min 40 s");
  EXPECT_EQ(Seconds(3'725'000), "62 min 5 s");
}

}  // namespace
}  // namespace cairn
