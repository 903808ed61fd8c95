#include "api/admin/metric_aliases.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>
#include <string>

namespace cairn::metric_aliases_test {
namespace {

// A figure that differs from all others, so that an alias of the wrong metric has another sum.
MetricsInput Input() {
  MetricsInput input;
  SchedulerStats& stats = input.stats;
  stats.prompt_sources.live = 1;
  stats.prompt_sources.prefetched = 2;
  stats.prompt_sources.computed = 4;
  stats.prefetched_tokens = 10;
  stats.preempted = 20;
  stats.waited_for_prefix = 30;
  stats.sheddings = 40;
  stats.shed_bytes = 50;
  stats.slot_counters.assembled = 60;
  stats.slot_counters.full_states_set = 5;
  stats.slot_counters.offloaded = 70;
  stats.cache.evicted = 80;
  stats.cache.path_full = 3;
  stats.cache.taken_in = 90;
  stats.cache.kept = 100;
  stats.cache.keeps_refused = 110;
  stats.cache.full_states_held.Add(/*in_memory=*/true, 120);
  stats.cache.full_states_held.Add(/*in_memory=*/false, 7);
  stats.saved.evicted = 130;
  input.whys = {{Explanation::Why::kDiverged, 140}, {Explanation::Why::kNoCheckpoint, 8}};
  return input;
}

// Sums over the labels, by the metrics' names.
std::map<std::string, double> SumsOn(const std::string& page) {
  std::map<std::string, double> sums;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    sums[line.substr(0, line.find_first_of("{ "))] += std::stod(line.substr(line.rfind(' ')));
  }
  return sums;
}

TEST(MetricAliases, NameMetricsThatHaveTheSameSum) {
  const std::string page = MetricsText(Input());
  const auto sums = SumsOn(page);
  static const std::regex help(R"(# HELP ([a-z_]+) Deprecated, use ([a-z_]+)\.)");
  size_t seen = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), help), end; at != end; ++at) {
    const std::string old_name = (*at)[1];
    const std::string name = (*at)[2];
    ASSERT_TRUE(sums.contains(name)) << name << ", for " << old_name;
    EXPECT_GT(sums.at(name), 0) << name << " is 0 here, so the test proves nothing";
    EXPECT_EQ(sums.at(old_name), sums.at(name)) << old_name;
    ++seen;
  }
  EXPECT_EQ(seen, 16u);
}

TEST(MetricAliases, KeepTheOldValuesOfLabels) {
  const std::string page = MetricsText(Input());
  for (const char* sample :
       {"cairn_prompt_tokens_total{source=\"warmed\"} 2",
        "cairn_misses_total{reason=\"parted\"} 140", "cairn_prompt_tokens_total{source=\"read\"} 4",
        "cairn_resumes_total{way=\"whole\"} 5", "cairn_misses_total{reason=\"no_way_back\"} 8",
        "cairn_resumes_total{way=\"joined\"} 60",
        "cairn_cache_evicted_total{reason=\"gave_way\"} 77"}) {
    EXPECT_NE(page.find("\n" + std::string(sample) + "\n"), std::string::npos) << sample;
  }
}

}  // namespace
}  // namespace cairn::metric_aliases_test
