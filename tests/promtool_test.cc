// /metrics of a running server: its figures after a few requests, and that Prometheus' own promtool
// has no complaint about it, nor about the dashboard's queries.
//
// Without promtool its tests are skipped, unless CAIRN_NEEDS_PROMTOOL is set in the environment.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "conformance/child_process.h"
#include "served.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoPromtool = "there is no promtool to check with (scripts/setup.sh --dev)";

// Returns the program's path; empty: it is missing, and the test is to be skipped.
std::string FindPromtool() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(std::string(CAIRN_SOURCE_DIR) +
                             "/.deps/tools:" + (path == nullptr ? "" : path));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path program = fs::path(folder) / "promtool";
    if (access(program.c_str(), X_OK) == 0) return program;
  }
  EXPECT_EQ(std::getenv("CAIRN_NEEDS_PROMTOOL"), nullptr)
      << "CAIRN_NEEDS_PROMTOOL is set, but there is no promtool";
  return "";
}

// Returns rules, the form in which promtool reads queries.
std::string Rules(const std::vector<std::string>& queries) {
  Json rules = Json::array();
  for (const std::string& query : queries) {
    rules.push_back({{"record", "query:" + std::to_string(rules.size())}, {"expr", query}});
  }
  return Json{{"groups", {{{"name", "dashboard"}, {"rules", rules}}}}}.dump();
}

// With values in place of Grafana's variables.
std::vector<std::string> QueriesOfTheDashboard() {
  std::vector<std::string> queries;
  const Json dashboard =
      Json::parse(ReadFile(std::string(CAIRN_SOURCE_DIR) + "/docs/grafana.json").value());
  for (const Json& panel : dashboard["panels"]) {
    if (!panel.contains("targets")) continue;
    for (const Json& target : panel["targets"]) {
      auto query = target["expr"].get<std::string>();
      query = std::regex_replace(query, std::regex(R"(\$__rate_interval)"), "1m");
      queries.push_back(std::regex_replace(query, std::regex(R"(\$instance)"), ".*"));
    }
  }
  return queries;
}

class MetricsPageTest : public test::ServedTest {
 protected:
  void ServeCached() {
    Serve({"--no-warm", "-a", "a \"model\"", "-np", "2", "--cache-dir", files_ + "/cache"});
  }
  void Stop() { ASSERT_EQ(server_->Stop(), 0); }

  std::string Page() const { return Get("/metrics").body; }
  // Returns the number of prompt tokens.
  double AskOf(const std::string& system, const std::string& question, bool reuse = true) {
    const Json body = {
        {"max_tokens", 4},
        {"temperature", 0},
        {"cache_prompt", reuse},
        {"messages",
         {{{"role", "system"}, {"content", system}}, {{"role", "user"}, {"content", question}}}}};
    return Ask(body)["usage"]["prompt_tokens"].get<double>();
  }
  // Returns the exit code and the output: "0: " if there are no complaints.
  std::string Check(const std::string& promtool, const std::string& page,
                    const std::string& command = "check metrics <\"$1\"") const {
    const std::string file = files_ + "/page";
    std::ofstream(file) << page;
    conformance::ChildOptions options;
    options.argv = {"/bin/sh", "-c", "\"$0\" " + command + " 2>&1", promtool, file};
    const auto result = conformance::RunChild(options);
    EXPECT_TRUE(result.has_value());
    if (!result) return "";
    return std::to_string(result->exit_code.value_or(-1)) + ": " + result->output;
  }
  static double Sample(const std::string& page, const std::string& sample) {
    const size_t found = page.find("\n" + sample + " ");
    EXPECT_NE(found, std::string::npos) << sample << " is not in\n" << page;
    return found == std::string::npos ? -1 : std::stod(page.substr(found + sample.size() + 2));
  }
  static double Source(const std::string& page, const std::string& source) {
    return Sample(page, "cairn_prompt_tokens_by_source_total{source=\"" + source + "\"}");
  }
  static double Sources(const std::string& page) {
    double sum = 0;
    for (const char* source : {"live", "ram", "disk", "prefetched", "computed"}) {
      sum += Source(page, source);
    }
    return sum;
  }
};

TEST_F(MetricsPageTest, CountsEveryPromptTokenOnceByItsSource) {
  ServeCached();
  const std::string document(1500, 'd');
  double asked = AskOf(document, "first");
  const double first = asked;
  EXPECT_EQ(Source(Page(), "computed"), first);
  // The system prefix's checkpoint, or the one before it, is restored over the slot's state.
  asked += AskOf(document, "another way to ask");
  asked += AskOf(document, "and without reuse", false);
  const std::string page = Page();
  EXPECT_EQ(Sources(page), asked);
  EXPECT_GT(Source(page, "live") + Source(page, "ram"), 1000);
  EXPECT_EQ(Source(page, "disk"), 0);
  // The second one too: what it shares with the first is the system prompt.
  EXPECT_EQ(Sample(page, "cairn_cache_misses_total{reason=\"new_prompt\"}"), 2);
  EXPECT_EQ(Sample(page, "cairn_cache_misses_total{reason=\"not_allowed\"}"), 1);
  EXPECT_EQ(Sample(page, "cairn_time_to_first_token_seconds_count"), 3);
  EXPECT_EQ(Sample(page, "cairn_queue_seconds_count"), 3);
  EXPECT_EQ(Sample(page, "cairn_generated_tokens_total"), 12);
  EXPECT_EQ(Sample(page, "cairn_slots"), 2);
}

TEST_F(MetricsPageTest, SaysWhatCameFromTheDisk) {
  ServeCached();
  const std::string document(1500, 'd');
  AskOf(document, "first");
  Stop();
  ServeCached();
  const double asked = AskOf(document, "first");
  const std::string page = Page();
  EXPECT_EQ(Sources(page), asked);
  EXPECT_GT(Source(page, "disk"), 1000) << page;
  EXPECT_EQ(Sample(page, "cairn_restore_seconds_count{tier=\"disk\"}"), 1);
  EXPECT_EQ(Sample(page, "cairn_restore_seconds_count{tier=\"ram\"}"), 0);
  EXPECT_GT(Sample(page, "cairn_disk_limit_bytes"), 0);
}

TEST_F(MetricsPageTest, PassesPromtool) {
  const std::string promtool = FindPromtool();
  if (promtool.empty()) GTEST_SKIP() << kNoPromtool;
  ServeCached();
  AskOf(std::string(1500, 'd'), "first");
  AskOf(std::string(1500, 'd'), "second");
  const std::string page = Page();
  // promtool reserves colons for rules; llama-server's names have them nevertheless.
  const std::string ours =
      std::regex_replace(page, std::regex("(^|\n)[^\n]*llamacpp:[^\n]*(?=\n)"), "");
  EXPECT_EQ(ours.find("llamacpp"), std::string::npos);
  EXPECT_NE(ours.find("cairn_cache_bytes"), std::string::npos);
  EXPECT_EQ(Check(promtool, ours), "0: ");
  const std::string of_all = Check(promtool, page);
  std::istringstream complaints(of_all.substr(of_all.find(' ') + 1));
  for (std::string line; std::getline(complaints, line);) {
    EXPECT_TRUE(line.starts_with("llamacpp:")) << line;
  }
  // Shows that the check can fail.
  EXPECT_NE(Check(promtool, "cairn_made 1\n"), "0: ");
  EXPECT_NE(Check(promtool, "cairn made 1\n"), "0: ");
}

TEST_F(MetricsPageTest, PromtoolReadsEveryQueryOfTheDashboard) {
  const std::string promtool = FindPromtool();
  if (promtool.empty()) GTEST_SKIP() << kNoPromtool;
  const std::vector<std::string> queries = QueriesOfTheDashboard();
  ASSERT_GT(queries.size(), 20u);
  const std::string check = "check rules \"$1\"";
  for (const std::string& query : queries) {
    EXPECT_EQ(query.find('$'), std::string::npos) << query;
    const std::string said = Check(promtool, Rules({query}), check);
    EXPECT_TRUE(said.starts_with("0: ")) << query << "\n" << said;
  }
  // Shows that the check can fail.
  EXPECT_FALSE(Check(promtool, Rules({"sum(rate(cairn_slots[1m])"}), check).starts_with("0: "));
}

}  // namespace
}  // namespace cairn
