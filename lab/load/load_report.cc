#include "lab/load/load_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "base/number_text.h"
#include "lab/bench/bench_plot.h"
#include "lab/bench/bench_summary.h"
#include "lab/bench/bench_text.h"
#include "lab/load/load_figures.h"

namespace cairn {
namespace {

using Unit = LoadFigureInfo::Unit;
using Better = LoadFigureInfo::Better;

// Of what almost stands still beside what does not, something must be left to compare.
std::string SmallRatioText(double ratio) {
  if (ratio <= 0 || ratio >= 0.1) return RatioText(ratio);
  char text[32];
  std::snprintf(text, sizeof(text), "%.2g", ratio);
  return text;
}

std::string ValueText(Unit unit, std::optional<double> value) {
  if (!value) return "-";
  switch (unit) {
    case Unit::kMs:
      return MsText(*value);
    case Unit::kRatio:
      return SmallRatioText(*value);
    case Unit::kMib:
      return WithCommas(static_cast<size_t>(std::llround(*value))) + " MiB";
    default:
      return WithCommas(static_cast<size_t>(std::llround(*value)));
  }
}

std::string Row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + cell + " |";
  return row + "\n";
}

// The first column's text is on the left, figures are on the right.
std::string Heading(const std::vector<std::string>& cells) {
  std::vector<std::string> rule(cells.size(), "--:");
  rule.front() = "---";
  return Row(cells) + Row(rule);
}

std::vector<const LoadRun*> RunsOf(const LoadServer& server, std::string_view workload) {
  std::vector<const LoadRun*> runs;
  for (const LoadRun& run : server.runs) {
    if (run.workload == workload) runs.push_back(&run);
  }
  return runs;
}

std::string BetterText(Better better) {
  return better == Better::kLess ? "less" : better == Better::kMore ? "more" : "";
}

// "0.83": the first server over another; nothing where it means nothing.
std::string ShareText(const LoadFigureInfo& info, std::optional<double> ours,
                      std::optional<double> theirs) {
  if (info.better == Better::kNeither) return "";
  if (!ours || !theirs || *theirs <= 0) return "-";
  return SmallRatioText(*ours / *theirs);
}

std::string FigureRows(const LoadResult& result, std::string_view workload) {
  std::string rows;
  for (const LoadFigureInfo& info : LoadFigures()) {
    if (info.workload != workload) continue;
    std::vector<std::string> cells = {std::string(info.title)};
    std::vector<std::optional<double>> values;
    for (const LoadServer& server : result.servers) {
      values.push_back(LoadMedian(server, workload, info.key));
      cells.push_back(ValueText(info.unit, values.back()));
    }
    const bool known =
        std::any_of(values.begin(), values.end(), [](const auto& value) { return !!value; });
    if (!known) continue;
    for (size_t i = 1; i < values.size(); ++i) {
      cells.push_back(ShareText(info, values.front(), values[i]));
    }
    cells.push_back(BetterText(info.better));
    rows += Row(cells);
  }
  return rows;
}

std::string FigureTable(const LoadResult& result, std::string_view workload) {
  const std::string rows = FigureRows(result, workload);
  if (rows.empty()) return "";
  std::vector<std::string> heading = {""};
  for (const LoadServer& server : result.servers) heading.push_back(server.name);
  for (size_t i = 1; i < result.servers.size(); ++i) {
    heading.push_back("ours ÷ " + (result.servers.size() == 2 ? "theirs" : result.servers[i].name));
  }
  heading.emplace_back("better is");
  return Heading(heading) + rows + "\n";
}

// The median of what `value` gives of the turn in all runs.
template <typename Value>
std::optional<double> TurnMedian(const LoadServer& server, size_t turn, const Value& value) {
  std::vector<double> values;
  for (const LoadRun* run : RunsOf(server, "turns")) {
    if (run->error.empty() && turn < run->turns.size()) values.push_back(value(run->turns[turn]));
  }
  if (values.empty()) return std::nullopt;
  return Percentile(std::move(values), 0.5);
}

std::string TurnTable(const LoadResult& result) {
  size_t turns = 0;
  std::vector<std::string> heading = {"turn"};
  for (const LoadServer& server : result.servers) {
    for (const LoadRun* run : RunsOf(server, "turns")) turns = std::max(turns, run->turns.size());
    for (const char* what : {": new message", ": read", ": first token"}) {
      heading.push_back(server.name + what);
    }
  }
  if (turns == 0) return "";
  std::string text = Heading(heading);
  for (size_t turn = 0; turn < turns; ++turn) {
    std::vector<std::string> cells = {std::to_string(turn + 1)};
    for (const LoadServer& server : result.servers) {
      const auto count = [&](size_t LoadTurn::* field) {
        return ValueText(Unit::kCount, TurnMedian(server, turn, [field](const LoadTurn& of) {
                           return static_cast<double>(of.*field);
                         }));
      };
      cells.push_back(count(&LoadTurn::message_tokens));
      cells.push_back(count(&LoadTurn::read_tokens));
      cells.push_back(ValueText(Unit::kMs, TurnMedian(server, turn, [](const LoadTurn& of) {
                                  return of.first_token_ms;
                                })));
    }
    text += Row(cells);
  }
  return text + "\n";
}

// What went wrong, a line for each server and kind; empty when nothing did.
std::string FaultLines(const LoadResult& result, std::string_view workload) {
  std::string lines;
  for (const LoadServer& server : result.servers) {
    for (const LoadRun* run : RunsOf(server, workload)) {
      const std::string where = "- " + server.name + ", run " + std::to_string(run->repetition + 1);
      if (!run->error.empty()) lines += where + " ended early: " + run->error + "\n";
      for (const auto& [what, count] : run->faults) {
        lines += where + ": " + what + ", " + WithCommas(count) + " times\n";
      }
    }
  }
  return lines.empty() ? "" : lines + "\n";
}

std::string Wrapped(std::string_view text) {
  constexpr size_t kColumns = 100;
  std::string wrapped;
  size_t column = 0;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (column > 0 && column + 1 + word.size() > kColumns) {
      wrapped += '\n';
      column = 0;
    } else if (column > 0) {
      wrapped += ' ';
      ++column;
    }
    wrapped += word;
    column += word.size();
  }
  return wrapped + "\n\n";
}

std::string Section(const LoadResult& result, const LoadWorkloadInfo& info) {
  const std::string table = FigureTable(result, info.name);
  const std::string faults = FaultLines(result, info.name);
  if (table.empty() && faults.empty()) return "";
  std::string text = "## " + std::string(info.title) + "\n\n" + Wrapped(info.what) + table;
  if (info.name == "turns") text += TurnTable(result);
  return text + faults;
}

std::string Commands(const LoadResult& result) {
  std::string text;
  for (const LoadServer& server : result.servers) {
    if (server.command_line.empty()) continue;
    text += "# " + server.name + (server.program.empty() ? "" : ", " + server.program) + "\n" +
            server.command_line + "\n";
  }
  return text.empty() ? "" : "```\n" + text + "```\n";
}

// What a row of a plot shows: a figure, and the samples it was made of, if they were kept.
struct Shown {
  std::string label;
  std::string_view workload;
  std::string_view key;
  std::string_view samples;
};

PlotGroup GroupOf(const LoadResult& result, const Shown& shown) {
  PlotGroup group{shown.label, {}};
  for (size_t i = 0; i < result.servers.size(); ++i) {
    const auto value = LoadMedian(result.servers[i], shown.workload, shown.key);
    if (!value || *value <= 0) continue;
    PlotRow row;
    row.series = i;
    row.value = *value;
    row.figure = MsText(*value);
    for (const LoadRun* run : RunsOf(result.servers[i], shown.workload)) {
      const auto found = run->samples.find(std::string(shown.samples));
      if (found == run->samples.end() || !run->error.empty()) continue;
      for (const double sample : found->second) {
        if (sample > 0) row.dots.push_back({sample, ""});
      }
    }
    group.rows.push_back(std::move(row));
  }
  return group;
}

void AddPlot(const LoadResult& result, const std::string& file, Plot plot,
             const std::vector<Shown>& shown, std::vector<NamedPlot>* plots) {
  plot.milliseconds = true;
  for (const LoadServer& server : result.servers) plot.series.push_back(server.name);
  for (const Shown& one : shown) plot.groups.push_back(GroupOf(result, one));
  std::string svg = DrawPlot(plot);
  if (!svg.empty()) plots->push_back({file, std::move(svg), plot.title});
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

}  // namespace

std::vector<NamedPlot> LoadPlots(const LoadResult& result) {
  std::vector<NamedPlot> plots;
  Plot first_token;
  first_token.title = "Time to the first token";
  first_token.axis = "bars: median, dots: each request";
  AddPlot(result, "first-token.svg", std::move(first_token),
          {{"chats, mixed", "mixed", "chat_first_token_p50_ms", "chat_first_token"},
           {"long prompts, mixed", "mixed", "long_first_token_p50_ms", "long_first_token"},
           {"turns", "turns", "first_token_p50_ms", "first_token"},
           {"streams", "streams", "waited_p50_ms", ""}},
          &plots);
  Plot gaps;
  gaps.title = "Gaps in answers while a long prompt is read";
  gaps.axis = "between two pieces of an answer";
  AddPlot(result, "gaps.svg", std::move(gaps),
          {{"before, median", "gaps", "before_p50_ms", ""},
           {"before, p99", "gaps", "before_p99_ms", ""},
           {"during, median", "gaps", "during_p50_ms", ""},
           {"during, p99", "gaps", "during_p99_ms", ""},
           {"during, longest", "gaps", "during_max_ms", ""}},
          &plots);
  return plots;
}

std::string LoadMarkdown(const LoadResult& result, const std::string& plots,
                         const std::string& facts) {
  std::string text = "# Many at once\n\n";
  if (result.servers.empty()) return text + "Nothing was played.\n";
  text += Wrapped(
      "How a server fares when several clients ask at once. `make bench-serve` writes this page "
      "and "
      "its pictures; every figure is from one run of it, and the median where it was played more "
      "than once. Times are the clients', lengths are multiplied by " +
      Number(result.scale) + ", and texts come from seed " + std::to_string(result.seed) + ".");
  if (!plots.empty()) {
    for (const NamedPlot& plot : LoadPlots(result)) {
      text += "![" + plot.title + "](" + plots + plot.file + ")\n\n";
    }
  }
  for (const LoadWorkloadInfo& info : LoadWorkloads()) text += Section(result, info);
  text += "## How it was done\n\n" + facts + (facts.empty() || facts.ends_with("\n\n") ? "" : "\n");
  text += Commands(result);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string LoadText(const LoadResult& result) {
  std::string text;
  for (const LoadWorkloadInfo& info : LoadWorkloads()) {
    const std::string table = FigureTable(result, info.name);
    const std::string faults = FaultLines(result, info.name);
    if (table.empty() && faults.empty()) continue;
    text += std::string(info.title) + "\n\n" + table;
    if (info.name == "turns") text += TurnTable(result);
    text += faults;
  }
  return text;
}

}  // namespace cairn
