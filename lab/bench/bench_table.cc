#include "lab/bench/bench_table.h"

#include <string_view>

#include "lab/bench/bench_summary.h"
#include "lab/bench/bench_text.h"

namespace cairn {
namespace {

constexpr size_t kNameColumns = 22;
constexpr size_t kColumnsMax = 99;

std::string Right(std::string_view text, size_t columns) {
  std::string padded(columns > text.size() ? columns - text.size() : 0, ' ');
  return padded += text;
}

std::string Left(std::string_view text, size_t columns) {
  if (text.size() > columns) return std::string(text.substr(0, columns - 2)) + "..";
  std::string padded(text);
  padded.resize(columns, ' ');
  return padded;
}

std::string Styled(std::string_view text, const char* code, bool colour) {
  if (!colour) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::string Heading() {
  const std::string gap(kNameColumns, ' ');
  return gap + Right("tokens of a run", 30) + Right("read over", 14) +
         Right("time to first token", 25) + "\n" + gap + Right("sent", 10) + Right("read", 10) +
         Right("needed", 10) + Right("needed", 7) + Right("in all", 7) + Right("median", 9) +
         Right("p90", 8) + Right("p99", 8) + Right("tok/s", 7) + "\n";
}

std::string Row(const std::string& name, const ScenarioSummary& summary) {
  const RunTokens& tokens = summary.tokens;
  const auto needed = tokens.lower_bound == 0 ? 0 : summary.runs;
  return Left("  " + name, kNameColumns) + Right(PerRunText(tokens.sent, summary.runs), 10) +
         Right(PerRunText(tokens.read, summary.runs), 10) +
         Right(PerRunText(tokens.lower_bound, needed), 10) +
         Right(RatioText(tokens.ReadRatio()), 7) + Right(RatioText(tokens.ReadInAllRatio()), 7) +
         Right(MsText(summary.first_token_median_ms), 9) +
         Right(MsText(summary.first_token_p90_ms), 8) +
         Right(MsText(summary.first_token_p99_ms), 8) +
         Right(RatioText(summary.tokens_per_second), 7) + "\n";
}

// A line that would be too wide ends in dots.
std::string Note(const std::string& text) {
  std::string line = "    " + text.substr(0, text.find('\n'));
  if (line.size() > kColumnsMax) line = line.substr(0, kColumnsMax - 2) + "..";
  return line + "\n";
}

std::string Comparison(const ServerFigures& ours, const ServerFigures& theirs,
                       const std::string& scenario, bool colour) {
  const PairSummary pairs = Compare(ours, theirs, scenario);
  if (pairs.pairs.empty()) return "";
  std::string line =
      Note(ours.name + " beside " + theirs.name + ": " + SoonerText(pairs.first_token_ratio) +
           ", by " + std::to_string(pairs.pairs.size()) + " pairs");
  line.pop_back();
  return Styled(line, pairs.first_token_ratio < 1 ? "32" : "33", colour) + "\n";
}

std::string Scenario(const BenchResult& result, const std::string& scenario, bool colour) {
  std::string text = Styled(scenario, "1", colour) + "\n";
  for (const ServerFigures& server : result.servers) {
    const ScenarioSummary summary = Summarize(server, scenario);
    if (summary.runs > 0) text += Row(server.name, summary);
    for (const std::string& error : summary.errors) {
      text += Note(server.name + " failed: " + error);
    }
  }
  for (size_t i = 1; i < result.servers.size(); ++i) {
    text += Comparison(result.servers.front(), result.servers[i], scenario, colour);
  }
  return text;
}

}  // namespace

std::string FormatBench(const BenchResult& result, bool colour) {
  const std::vector<std::string> scenarios = ScenarioNames(result);
  if (scenarios.empty()) return "Nothing was played.\n";
  std::string text = Styled(ResultTitle(result), "1;4", colour) + "\n" + Heading();
  for (const std::string& scenario : scenarios) text += Scenario(result, scenario, colour);
  return text +
         "Needed: what no server can do without reading. Read: while the client waited; in all: "
         "with\nwork ahead of the next request.\n";
}

}  // namespace cairn
