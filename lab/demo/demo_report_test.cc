// The demo's table and figures, against golden files.

#include "lab/demo/demo_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "testing/base/golden_file.h"

namespace cairn {
namespace {

DemoFigures Sample() {
  DemoFigures figures;
  figures.model = "model.gguf";
  figures.memory = "hybrid";
  const std::string answer = "A heap of stones.\nSomebody put it together on purpose.";
  const std::string long_answer = answer + " It marks a way, a place, or somebody's memory.";
  figures.rows = {
      {"ask", {2600, 2600, 4'340, answer}, {2600, 2600, 4'400, answer}},
      {"follow-up", {2674, 27, 110.4, long_answer}, {2674, 27, 115, long_answer}},
      {"the same prompt again", {2674, 2674, 4'900, "One."}, {2674, 0, 9.26, "Another."}}};
  figures.exact_rows = {figures.rows[0],
                        {"follow-up", {2674, 2674, 4'700, "One."}, {2674, 27, 110.4, "One."}}};
  figures.total_ms = 125'000;
  return figures;
}

std::string Table(const DemoFigures& figures) {
  std::string text = DemoHeading({"without checkpoints", "with checkpoints"}) + "\n";
  for (size_t i = 0; i < figures.rows.size(); ++i) {
    const DemoRow& row = figures.rows[i];
    text += DemoRowBegin(i + 1, row.what) + DemoCells(row.without) + DemoCells(row.with) + "\n" +
            DemoAnswers(row) + "\n";
  }
  return text + DemoTotals(figures, false);
}

TEST(DemoReport, DrawsATable) {
  ExpectGolden("demo_table.txt", Table(Sample()));
}

TEST(DemoReport, SaysWhenCheckpointsDidNotHelp) {
  DemoFigures figures = Sample();
  for (DemoRow& row : figures.rows) std::swap(row.without, row.with);
  EXPECT_NE(DemoTotals(figures, false).find("times longer for first words"), std::string::npos);
  for (DemoRow& row : figures.rows) row.with = row.without;
  const std::string same = DemoTotals(figures, false);
  EXPECT_NE(same.find("waited as long for first words. 3 of 3 answers"), std::string::npos) << same;
}

TEST(DemoReport, SumsUpTheTurnsWithReuseExact) {
  const std::string text = DemoExactTotals(Sample().exact_rows, false);
  EXPECT_NE(text.find("With --reuse exact the server prefilled 2.0 times fewer tokens"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("2 of 2 answers were the same, word for word."), std::string::npos) << text;
}

TEST(DemoReport, ColoursTotalsOnATerminalAlone) {
  EXPECT_NE(DemoTotals(Sample(), true).find("\x1b["), std::string::npos);
  EXPECT_EQ(DemoTotals(Sample(), false).find("\x1b["), std::string::npos);
}

TEST(DemoReport, WritesFiguresAsJson) {
  ExpectGolden("demo.json", DemoJson(Sample()));
}

TEST(DemoReport, StaysUnder100ColumnsWithLargeFigures) {
  DemoFigures figures = Sample();
  figures.rows = {{std::string(60, 'w'),
                   {1'234'567, 1'234'567, 3'599'000, std::string(200, 'a')},
                   {1'234'567, 1'234'567, 3'599'000, std::string(200, 'a')}}};
  std::istringstream lines(Table(figures));
  size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  EXPECT_LT(widest, 100U);
}

TEST(DemoReport, WritesSecondsForPeople) {
  EXPECT_EQ(Seconds(0), "0.00 s");
  EXPECT_EQ(Seconds(9'994), "9.99 s");
  EXPECT_EQ(Seconds(9'996), "10.0 s");
  EXPECT_EQ(Seconds(99'400), "99.4 s");
  EXPECT_EQ(Seconds(99'600), "1 min 40 s");
  EXPECT_EQ(Seconds(3'725'000), "62 min 5 s");
}

}  // namespace
}  // namespace cairn
