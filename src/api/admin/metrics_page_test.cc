#include "api/admin/metrics_page.h"

#include <gtest/gtest.h>

#include <limits>

namespace cairn {
namespace {

TEST(MetricsPage, WritesAHeadAndSamples) {
  MetricsPage page;
  page.Counter("a_total", "What a is.", 3);
  page.BeginGauge("b", "What b is.");
  page.Sample({{"x", "one"}, {"y", "two"}}, 0.1);
  page.Sample({{"x", "three"}, {"y", ""}}, 1e6);
  EXPECT_EQ(std::move(page).text(),
            "# HELP a_total What a is.\n"
            "# TYPE a_total counter\n"
            "a_total 3\n"
            "# HELP b What b is.\n"
            "# TYPE b gauge\n"
            "b{x=\"one\",y=\"two\"} 0.1\n"
            "b{x=\"three\",y=\"\"} 1000000\n");
}

TEST(MetricsPage, EscapesWhatWouldEndALabelOrALine) {
  MetricsPage page;
  page.BeginGauge("a", "back\\slash\nand \"more\"");
  page.Sample({{"x", "a\"b\\c\nd"}}, std::numeric_limits<double>::infinity());
  EXPECT_EQ(std::move(page).text(),
            "# HELP a back\\\\slash\\nand \"more\"\n"
            "# TYPE a gauge\n"
            "a{x=\"a\\\"b\\\\c\\nd\"} +Inf\n");
}

TEST(MetricsPage, WritesHistogramsThatAddUp) {
  SecondsHistogram times;
  times.AddMs(2);
  times.AddMs(1e9);
  MetricsPage page;
  page.BeginHistogram("t_seconds", "Times.");
  page.Sample({{"tier", "ram"}}, times);
  const std::string text = std::move(page).text();
  EXPECT_NE(text.find("# TYPE t_seconds histogram\n"
                      "t_seconds_bucket{tier=\"ram\",le=\"0.001\"} 0\n"
                      "t_seconds_bucket{tier=\"ram\",le=\"0.0025\"} 1\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("t_seconds_bucket{tier=\"ram\",le=\"500\"} 1\n"
                      "t_seconds_bucket{tier=\"ram\",le=\"+Inf\"} 2\n"
                      "t_seconds_sum{tier=\"ram\"} 1000000.002\n"
                      "t_seconds_count{tier=\"ram\"} 2\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace cairn
