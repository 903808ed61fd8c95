#include "lab/bench/bench_svg.h"

#include <functional>

#include "base/number_text.h"
#include "lab/bench/bench_plot.h"
#include "lab/bench/bench_summary.h"
#include "lab/bench/bench_text.h"

namespace cairn {
namespace {

std::vector<std::string> ServerNames(const BenchResult& result) {
  std::vector<std::string> names;
  for (const ServerFigures& server : result.servers) names.push_back(server.name);
  return names;
}

// A group for each scenario, with the rows that `row` makes of servers from `first` on; rows
// without a figure are left out.
std::vector<PlotGroup> Groups(
    const BenchResult& result, size_t first,
    const std::function<PlotRow(const ServerFigures&, const std::string&)>& row) {
  std::vector<PlotGroup> groups;
  for (const std::string& scenario : ScenarioNames(result)) {
    PlotGroup group{scenario, {}};
    for (size_t i = first; i < result.servers.size(); ++i) {
      PlotRow made = row(result.servers[i], scenario);
      made.series = i;
      if (made.value > 0) group.rows.push_back(std::move(made));
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::string Times(size_t repetition) {
  return ", run " + std::to_string(repetition + 1);
}

PlotRow ReadRow(const ServerFigures& server, const std::string& scenario) {
  const ScenarioSummary summary = Summarize(server, scenario);
  PlotRow row;
  row.value = summary.tokens.ReadRatio();
  row.figure = RatioText(row.value);
  row.title = server.name + ", " + scenario + ": read " +
              PerRunText(summary.tokens.read, summary.runs) + " of " +
              PerRunText(summary.tokens.sent, summary.runs) + " tokens sent, unavoidable " +
              PerRunText(summary.tokens.lower_bound, summary.runs);
  for (const ScenarioRun* run : GoodRuns(server, scenario)) {
    const RunTokens tokens = CountTokens(*run);
    if (tokens.lower_bound == 0 || tokens.read == 0) continue;
    row.dots.push_back({tokens.ReadRatio(), server.name + Times(run->repetition) + ": read " +
                                                WithCommas(tokens.read) + ", unavoidable " +
                                                WithCommas(tokens.lower_bound)});
  }
  return row;
}

PlotRow FirstTokenRow(const ServerFigures& server, const std::string& scenario) {
  const ScenarioSummary summary = Summarize(server, scenario);
  PlotRow row;
  row.value = summary.first_token_median_ms;
  row.figure = MsText(row.value);
  row.title = server.name + ", " + scenario + ": median " + MsText(row.value) + ", p90 " +
              MsText(summary.first_token_p90_ms) + ", p99 " + MsText(summary.first_token_p99_ms);
  for (const ScenarioRun* run : GoodRuns(server, scenario)) {
    for (const RequestFigures& request : run->requests) {
      if (request.cancelled || request.first_token_ms <= 0) continue;
      row.dots.push_back(
          {request.first_token_ms, server.name + ", " + request.what + Times(run->repetition) +
                                       ": " + MsText(request.first_token_ms) + ", read " +
                                       WithCommas(request.read_tokens) + " of " +
                                       WithCommas(request.prompt_tokens) + " tokens"});
    }
  }
  return row;
}

PlotRow RatioRow(const ServerFigures& ours, const ServerFigures& theirs,
                 const std::string& scenario) {
  const PairSummary pairs = Compare(ours, theirs, scenario);
  PlotRow row;
  row.value = pairs.first_token_ratio;
  row.figure = RatioText(row.value);
  row.title = ours.name + " beside " + theirs.name + ", " + scenario + ": geometric mean " +
              row.figure + " of " + std::to_string(pairs.pairs.size()) + " pairs";
  for (const RequestPair& pair : pairs.pairs) {
    row.dots.push_back({pair.first_token_ratio, pair.what + Times(pair.repetition) + ": " +
                                                    RatioText(pair.first_token_ratio)});
  }
  return row;
}

}  // namespace

std::string ReadPlot(const BenchResult& result) {
  Plot plot;
  plot.title = "Tokens read while the client waited — " + ResultTitle(result);
  plot.axis = "over the unavoidable; bars: all runs, dots: each run";
  plot.series = ServerNames(result);
  plot.mark = 1;
  plot.mark_label = "unavoidable";
  plot.groups = Groups(result, 0, ReadRow);
  return DrawPlot(plot);
}

std::string FirstTokenPlot(const BenchResult& result) {
  Plot plot;
  plot.title = "Time to the first token — " + ResultTitle(result);
  plot.axis = "bars: median, dots: each request";
  plot.series = ServerNames(result);
  plot.milliseconds = true;
  plot.groups = Groups(result, 0, FirstTokenRow);
  return DrawPlot(plot);
}

std::string RatioPlot(const BenchResult& result) {
  if (result.servers.empty()) return "";
  const ServerFigures& ours = result.servers.front();
  Plot plot;
  plot.title = "Time to the first token, request by request — " + ResultTitle(result);
  plot.axis = ours.name + " over the other, left is sooner; diamonds: geometric mean";
  plot.series = ServerNames(result);
  plot.series.front().clear();
  plot.bars = false;
  plot.mark = 1;
  plot.mark_label = "the same time";
  plot.groups =
      Groups(result, 1, [&ours](const ServerFigures& theirs, const std::string& scenario) {
        return RatioRow(ours, theirs, scenario);
      });
  return DrawPlot(plot);
}

}  // namespace cairn
