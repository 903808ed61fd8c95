#include "lab/bench/bench_markdown.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string_view>

#include "lab/bench/bench_claims.h"
#include "lab/bench/bench_summary.h"
#include "lab/bench/bench_svg.h"
#include "lab/bench/bench_text.h"

namespace cairn {
namespace {

// A file's name of letters, digits and hyphens.
std::string Slug(const std::string& title) {
  std::string slug;
  for (const char c : title) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      slug += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  return slug;
}

// A picture inside a page says nothing when pointed at, so what it would say only fills the file.
std::string WithoutTitles(std::string svg) {
  constexpr std::string_view kEnd = "</title>";
  for (size_t at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at)) {
    svg.erase(at, svg.find(kEnd, at) + kEnd.size() - at);
  }
  return svg;
}

// In a table's cell.
std::string CellText(const std::string& text) {
  std::string cell;
  for (const char c : EscapeMarkup(text)) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

// A paragraph in lines of up to 100 columns.
std::string Paragraph(const std::string& text) {
  std::string wrapped;
  size_t begin = 0;  // of the line
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!wrapped.empty()) {
      const bool fits = wrapped.size() - begin + 1 + word.size() <= 100;
      wrapped += fits ? ' ' : '\n';
      if (!fits) begin = wrapped.size();
    }
    wrapped += word;
    at = end + 1;
  }
  return wrapped + "\n\n";
}

std::string Row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + CellText(cell) + " |";
  return row + "\n";
}

// `words` columns of text, the others of figures.
std::string Heading(const std::vector<std::string>& cells, size_t words) {
  std::string rule = "|";
  for (size_t i = 0; i < cells.size(); ++i) rule += i < words ? " --- |" : " ---: |";
  return Row(cells) + rule + "\n";
}

std::string Cases(const std::string& heading, const std::vector<ClaimCase>& cases) {
  if (cases.empty()) return "";
  std::string text = heading + "\n\n" + Heading({"model", "scenario", "why"}, 3);
  for (const ClaimCase& one : cases) text += Row({one.title, one.scenario, one.why});
  return text + "\n";
}

std::string Verdict(const ClaimCheck& check, const std::string& of) {
  const size_t checked = check.held + check.broken.size();
  if (checked == 0) return "**It could not be checked.**\n\n";
  std::string text =
      Paragraph((check.broken.empty() ? "**It holds**, in "
                                      : "**It does not hold everywhere**; it does in ") +
                std::to_string(check.held) + " of " + std::to_string(checked) + " " + of + ".");
  return text + Cases("It does not hold here:", check.broken) +
         Cases("It could not be checked here:", check.unchecked);
}

std::string Ratios(const std::vector<BenchResult>& results) {
  std::string text =
      Heading({"beside", "model", "scenarios", "geometric mean", "least", "most"}, 2);
  const auto add = [&text](const std::string& model, const std::vector<PeerRatio>& ratios) {
    for (const PeerRatio& ratio : ratios) {
      text +=
          Row({ratio.peer, model, std::to_string(ratio.scenarios),
               RatioText(ratio.first_token_ratio), RatioText(ratio.least), RatioText(ratio.most)});
    }
  };
  for (const BenchResult& result : results) add(ResultTitle(result), PeerRatios({result}));
  add("**all of them**", PeerRatios(results));
  return text + "\n";
}

std::string Summary(const std::vector<BenchResult>& results) {
  std::string text;
  for (const PeerRatio& ratio : PeerRatios(results)) {
    text += "- Beside " + ratio.peer + ": **" + RatioText(ratio.first_token_ratio) +
            "**, the geometric mean over " + std::to_string(ratio.scenarios) + " scenarios; " +
            SoonerText(ratio.first_token_ratio) + ".\n";
  }
  return text + "\n";
}

std::string Claims(const std::vector<BenchResult>& results) {
  return "## What was promised\n\n### 1. Hardly more is read than must be\n\n" +
         Paragraph(
             "In every run of every scenario, the tokens read on the request's own time are at "
             "most 1.02 times the unavoidable ones, plus one grid step a request.") +
         Verdict(CheckAllowed(results), "scenarios, each model's counted") +
         "### 2. Never more than the peer reads\n\n" +
         Paragraph(
             "In no run are they more than what the peer read in the same run, plus one grid step "
             "a request.") +
         Verdict(CheckPeers(results), "scenarios, each model's and peer's counted") +
         "### 3. The time to the first token\n\n" +
         Paragraph(
             "Ours over the peer's, request by request in the same place of the same run; below 1 "
             "ours is sooner. Each scenario has its geometric mean, and they have theirs, so that "
             "long scenarios weigh no more than short ones. First requests, which every server "
             "must read whole, are in it.") +
         Summary(results) + Ratios(results);
}

std::string ScenarioRow(const BenchResult& result, const ServerFigures& server,
                        const ScenarioSummary& summary) {
  const RunTokens& tokens = summary.tokens;
  const bool first = &server == &result.servers.front();
  const PairSummary pairs = Compare(result.servers.front(), server, summary.scenario);
  return Row({summary.scenario, server.name, PerRunText(tokens.sent, summary.runs),
              PerRunText(tokens.read, summary.runs),
              PerRunText(tokens.lower_bound, tokens.lower_bound == 0 ? 0 : summary.runs),
              RatioText(tokens.ReadRatio()), RatioText(tokens.ReadInAllRatio()),
              MsText(summary.first_token_median_ms), MsText(summary.first_token_p90_ms),
              MsText(summary.first_token_p99_ms), RatioText(summary.tokens_per_second),
              first ? "" : RatioText(pairs.first_token_ratio)});
}

std::string Section(const BenchResult& result, const std::string& plots) {
  std::string text = "### " + ResultTitle(result) + "\n\n";
  for (const NamedPlot& plot : NamedPlots(result)) {
    if (!plots.empty()) text += "![" + plot.title + "](" + plots + plot.file + ")\n\n";
  }
  text += Heading({"scenario", "server", "sent", "read", "unavoidable", "read ÷ unavoidable",
                   "in all ÷ unavoidable", "first token, median", "p90", "p99", "tokens/s",
                   "first token, ours ÷ theirs"},
                  2);
  for (const std::string& scenario : ScenarioNames(result)) {
    for (const ServerFigures& server : result.servers) {
      const ScenarioSummary summary = Summarize(server, scenario);
      if (summary.runs > 0) text += ScenarioRow(result, server, summary);
    }
  }
  return text + "\n";
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

std::string Legend(const BenchResult& result) {
  return Paragraph(
      "Tokens are those of one run, by the server's own tokenizer. *Unavoidable* is what no server "
      "can do without reading: each prompt without the longest beginning that an earlier prompt or "
      "answer of its scenario had, and at least its last token. *Read* is on the request's own "
      "time, while the client waits; *in all* is with what was read ahead of the next request. "
      "Times are the client's. Lengths of the scenarios are multiplied by " +
      Number(result.scale) + "; their texts come from seed " + std::to_string(result.seed) + ".");
}

std::string Commands(const BenchResult& result) {
  std::string text;
  for (const ServerFigures& server : result.servers) {
    if (server.command_line.empty()) continue;
    text += "# " + server.name + (server.program.empty() ? "" : ", " + server.program) + "\n" +
            server.command_line + "\n";
  }
  return text.empty() ? "" : "Servers of " + ResultTitle(result) + ":\n\n```\n" + text + "```\n\n";
}

}  // namespace

std::vector<NamedPlot> NamedPlots(const BenchResult& result) {
  const std::string slug = Slug(ResultTitle(result));
  const std::string of = " (" + ResultTitle(result) + ")";
  std::vector<NamedPlot> plots = {
      {slug + "-read.svg", ReadPlot(result), "Tokens read over the unavoidable" + of},
      {slug + "-first-token.svg", FirstTokenPlot(result), "Time to the first token" + of},
      {slug + "-ratio.svg", RatioPlot(result), "Time to the first token, ours over theirs" + of}};
  std::erase_if(plots, [](const NamedPlot& plot) { return plot.svg.empty(); });
  for (NamedPlot& plot : plots) plot.svg = WithoutTitles(std::move(plot.svg));
  return plots;
}

std::string BenchMarkdown(const std::vector<BenchResult>& results, const std::string& plots,
                          const std::string& facts) {
  std::string text = "# Benchmarks\n\n";
  if (results.empty()) return text + "Nothing was played.\n";
  text += Paragraph(
      "What a server reads of each prompt, and how long its client waits for the first word, in "
      "scenarios that clients play every day. `make bench-peers` writes this page and its "
      "pictures; every figure is from one run of it.");
  text += Claims(results);
  text += "## Figures\n\n" + Legend(results.front());
  for (const BenchResult& result : results) text += Section(result, plots);
  text += "## How it was done\n\n" + facts + (facts.empty() || facts.ends_with("\n\n") ? "" : "\n");
  for (const BenchResult& result : results) text += Commands(result);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace cairn
