#include "fleet/router/merged_answers.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

constexpr const char* kPage =
    "# HELP a_total How many a.\n# TYPE a_total counter\na_total 3\n"
    "# HELP b_seconds Times.\n# TYPE b_seconds histogram\n"
    "b_seconds_bucket{le=\"0.1\"} 1\nb_seconds_sum 0.5\nb_seconds_count 1\n";

TEST(MergedMetrics, LabelsTheSamplesOfOnePage) {
  MergedMetrics merged;
  merged.Add("qwen", kPage);
  EXPECT_EQ(merged.Text(),
            "# HELP a_total How many a.\n# TYPE a_total counter\na_total{model=\"qwen\"} 3\n"
            "# HELP b_seconds Times.\n# TYPE b_seconds histogram\n"
            "b_seconds_bucket{model=\"qwen\",le=\"0.1\"} 1\nb_seconds_sum{model=\"qwen\"} 0.5\n"
            "b_seconds_count{model=\"qwen\"} 1\n");
}

TEST(MergedMetrics, PutsTheSamplesOfAMetricBelowOneHead) {
  MergedMetrics merged;
  merged.Add("x", "# HELP a A.\n# TYPE a gauge\na 1\n# TYPE c gauge\nc 2\n");
  merged.Add("y", "# HELP a A.\n# TYPE a gauge\na 3\n# TYPE d gauge\nd 4\n");
  EXPECT_EQ(merged.Text(),
            "# HELP a A.\n# TYPE a gauge\na{model=\"x\"} 1\na{model=\"y\"} 3\n"
            "# TYPE c gauge\nc{model=\"x\"} 2\n# TYPE d gauge\nd{model=\"y\"} 4\n");
}

TEST(MergedMetrics, KeepsAModelThatASampleHas) {
  MergedMetrics merged;
  merged.Add("x", "# TYPE i gauge\ni{version=\"1\",model=\"x\"} 1\ni{model=\"z\"} 1\n");
  EXPECT_EQ(merged.Text(), "# TYPE i gauge\ni{version=\"1\",model=\"x\"} 1\ni{model=\"z\"} 1\n");
}

TEST(MergedMetrics, EscapesNames) {
  MergedMetrics merged;
  merged.Add("a\"b\\c", "# TYPE g gauge\ng 1\n");
  EXPECT_EQ(merged.Text(), "# TYPE g gauge\ng{model=\"a\\\"b\\\\c\"} 1\n");
}

TEST(MergedMetrics, OfNothingIsEmpty) {
  MergedMetrics merged;
  merged.Add("x", "");
  EXPECT_EQ(merged.Text(), "");
}

}  // namespace
}  // namespace cairn
