#include "api/admin/metrics.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "api/json.h"
#include "testing/base/golden_file.h"

namespace cairn::metrics_test {
namespace {

MetricsInput Input() {
  MetricsInput input;
  input.version = "1.2.3";
  input.model = "a \"model\"";
  input.kv_events.emplace();
  return input;
}

// Names and types of the page's metrics.
std::map<std::string, std::string> MetricsOf(const std::string& page) {
  std::map<std::string, std::string> metrics;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string mark;
    std::string word;
    std::string name;
    std::string type;
    words >> mark >> word >> name >> type;
    if (mark == "#" && word == "TYPE") metrics.emplace(name, type);
  }
  return metrics;
}

// Rows of the page's tables: | `name` | type | …
std::map<std::string, std::string> MetricsInDocument(const std::string& text) {
  static const std::regex row(R"(^\| `([a-z_:]+)` \| (counter|gauge|histogram) \|.*)");
  std::map<std::string, std::string> metrics;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, row)) metrics.emplace(match[1], match[2]);
  }
  return metrics;
}

// The labels that follow a metric's name on the page, without `le`.
std::set<std::string> LabelsOf(const std::string& page, const std::string& metric) {
  static const std::regex label(R"re(([a-z]+)="((?:[^"\\]|\\.)*)")re");
  std::set<std::string> labels;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(metric + "{")) continue;
    for (std::sregex_iterator at(line.begin(), line.end(), label), end; at != end; ++at) {
      labels.insert((*at)[1].str() + "=" + (*at)[2].str());
    }
  }
  return labels;
}

TEST(Metrics, AreListedOnTheirPage) {
  EXPECT_EQ(MetricsOf(MetricsText(Input())), MetricsInDocument(ReadSourceFile("docs/metrics.md")));
}

TEST(Metrics, HaveLabelsThatAreListedOnTheirPage) {
  const std::string page = MetricsText(Input());
  const std::string text = ReadSourceFile("docs/metrics.md");
  for (const auto& [name, type] : MetricsOf(page)) {
    if (name == "cairn_info") continue;
    const std::string sampled = type == "histogram" ? name + "_count" : name;
    for (const std::string& label : LabelsOf(page, sampled)) {
      const std::string value = label.substr(label.find('=') + 1);
      EXPECT_NE(text.find("`" + value + "`"), std::string::npos) << name << " " << label;
    }
  }
}

TEST(Metrics, AreNamedAsPrometheusWantsThem) {
  for (const auto& [name, type] : MetricsOf(MetricsText(Input()))) {
    if (name.starts_with("llamacpp:")) continue;
    EXPECT_TRUE(name.starts_with("cairn_")) << name;
    EXPECT_EQ(name.ends_with("_total"), type == "counter") << name;
    for (const char* unit : {"_ms", "_milliseconds", "_mib", "_kib", "_minutes"}) {
      EXPECT_EQ(name.find(unit), std::string::npos) << name;
    }
  }
}

// Dashboards for llama-server ask for these.
TEST(Metrics, OfLlamaServerHaveItsNamesAndTypes) {
  std::map<std::string, std::string> expected;
  for (const char* name :
       {"prompt_tokens_total", "prompt_tokens_cached_total", "prompt_seconds_total",
        "tokens_predicted_total", "tokens_predicted_seconds_total", "n_decode_total",
        "n_tokens_max", "spec_decode_num_draft_tokens_total",
        "spec_decode_num_accepted_tokens_total", "spec_decode_num_drafts_total"}) {
    expected["llamacpp:" + std::string(name)] = "counter";
  }
  for (const char* name : {"prompt_tokens_seconds", "predicted_tokens_seconds",
                           "requests_processing", "requests_deferred", "n_busy_slots_per_decode"}) {
    expected["llamacpp:" + std::string(name)] = "gauge";
  }
  std::map<std::string, std::string> told;
  for (const auto& [name, type] : MetricsOf(MetricsText(Input()))) {
    if (name.starts_with("llamacpp:")) told[name] = type;
  }
  EXPECT_EQ(told, expected);
}

// Every word of a query that begins as our metrics do is one, or one's bucket, sum or count.
TEST(Metrics, OfTheDashboardAreThere) {
  const auto metrics = MetricsOf(MetricsText(Input()));
  const std::string text = ReadSourceFile("docs/grafana.json");
  const Json dashboard = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(dashboard.is_object());
  static const std::regex word(R"((cairn_|llamacpp:)[a-z_]+)");
  size_t seen = 0;
  for (const Json& panel : dashboard["panels"]) {
    if (panel["type"] == "row") continue;
    EXPECT_EQ(panel["datasource"]["uid"], "${datasource}") << panel["title"];
    for (const Json& target : panel["targets"]) {
      const std::string& query = target["expr"].text();
      size_t in_query = 0;
      for (std::sregex_iterator at(query.begin(), query.end(), word), end; at != end; ++at) {
        const std::string name = at->str();
        const bool part = name.ends_with("_bucket") || name.ends_with("_sum") ||
                          (name.ends_with("_count") && !metrics.contains(name));
        const std::string whole = part ? name.substr(0, name.rfind('_')) : name;
        const auto found = metrics.find(whole);
        ASSERT_NE(found, metrics.end()) << name << " in " << query;
        EXPECT_EQ(part, found->second == "histogram") << name << " in " << query;
        ++in_query;
      }
      EXPECT_GT(in_query, 0u) << query;
      seen += in_query;
    }
  }
  EXPECT_GT(seen, 10u);
  EXPECT_EQ(dashboard["templating"]["list"][0]["name"], "datasource");
  EXPECT_EQ(dashboard["templating"]["list"][0]["type"], "datasource");
}

TEST(Metrics, OfPromptsAddUpToThem) {
  MetricsInput input = Input();
  ReuseReport report;
  report.reused_tokens = report.ram_tokens = 30;
  report.prefetched_tokens = 10;
  input.stats.prompt_sources.Add(&report, 45);
  const std::string page = MetricsText(input);
  EXPECT_NE(page.find("cairn_prompt_tokens_by_source_total{source=\"live\"} 0\n"
                      "cairn_prompt_tokens_by_source_total{source=\"ram\"} 20\n"
                      "cairn_prompt_tokens_by_source_total{source=\"disk\"} 0\n"
                      "cairn_prompt_tokens_by_source_total{source=\"prefetched\"} 10\n"
                      "cairn_prompt_tokens_by_source_total{source=\"computed\"} 15\n"),
            std::string::npos)
      << page;
}

TEST(Metrics, TellEveryClassOfCheckpointInBothTiers) {
  MetricsInput input = Input();
  input.stats.cache.checkpoints_held[CheckpointClass::kToolTurn].Add(/*in_memory=*/false, 100);
  const std::string page = MetricsText(input);
  EXPECT_NE(page.find("\ncairn_checkpoints{class=\"tool_turn\",tier=\"disk\"} 1\n"),
            std::string::npos);
  EXPECT_NE(page.find("\ncairn_checkpoint_bytes{class=\"tool_turn\",tier=\"disk\"} 100\n"),
            std::string::npos);
  EXPECT_NE(page.find("\ncairn_checkpoints{class=\"header\",tier=\"ram\"} 0\n"), std::string::npos);
}

TEST(Metrics, CountTextsOfEmbeddingsAmongThePrompts) {
  MetricsInput input = Input();
  input.stats.tokens.prompt = 10;
  input.stats.decodes.calls = 2;
  input.texts = {.texts = 3, .tokens = 30, .ms = 500};
  const std::string page = MetricsText(input);
  EXPECT_NE(page.find("\nllamacpp:prompt_tokens_total 40\n"), std::string::npos);
  EXPECT_NE(page.find("\nllamacpp:n_decode_total 5\n"), std::string::npos);
  EXPECT_NE(page.find("\nllamacpp:prompt_seconds_total 0.5\n"), std::string::npos);
}

TEST(Metrics, TellMissesByReasonAndLeaveOutWhatIsNone) {
  MetricsInput input = Input();
  input.whys = {{Explanation::Why::kAllKnown, 7}, {Explanation::Why::kDiverged, 2}};
  const std::string page = MetricsText(input);
  EXPECT_NE(page.find("cairn_cache_misses_total{reason=\"diverged\"} 2\n"), std::string::npos);
  EXPECT_NE(page.find("cairn_cache_misses_total{reason=\"new_prompt\"} 0\n"), std::string::npos);
  EXPECT_EQ(page.find("all_known"), std::string::npos);
}

TEST(Metrics, EscapeTheModelsName) {
  EXPECT_NE(MetricsText(Input()).find(R"(cairn_info{version="1.2.3",model="a \"model\""} 1)"),
            std::string::npos);
}

}  // namespace
}  // namespace cairn::metrics_test
