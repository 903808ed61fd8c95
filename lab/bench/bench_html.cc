#include "lab/bench/bench_html.h"

#include <string_view>

#include "base/number_text.h"
#include "lab/bench/bench_claims.h"
#include "lab/bench/bench_summary.h"
#include "lab/bench/bench_svg.h"
#include "lab/bench/bench_text.h"

namespace cairn {

// bench_page.css and bench_page.js
std::string_view BenchPageStyle();
std::string_view BenchPageScript();

namespace {

std::string Element(const std::string& tag, const std::string& inner,
                    const std::string& attributes = "") {
  return "<" + tag + (attributes.empty() ? "" : " " + attributes) + ">" + inner + "</" + tag +
         ">\n";
}

std::string Card(const std::string& figure, const std::string& text, bool good) {
  return Element("div", Element("b", EscapeMarkup(figure)) + Element("span", EscapeMarkup(text)),
                 good ? "class=\"card good\"" : "class=\"card bad\"");
}

// Of everything a server played well.
struct Totals {
  RunTokens tokens;
  bool known = true;  // the lower bound is
};

Totals AddUp(const ServerFigures& server) {
  Totals totals;
  for (const ScenarioRun& run : server.runs) {
    if (!run.error.empty()) continue;
    const RunTokens tokens = CountTokens(run);
    totals.known = totals.known && tokens.lower_bound > 0;
    totals.tokens.read += tokens.read;
    totals.tokens.lower_bound += tokens.lower_bound;
  }
  if (!totals.known) totals.tokens.lower_bound = 0;
  return totals;
}

constexpr double kGoodRatio = 1.1;

// How much each server read, and how long one waited beside each peer.
std::string Cards(const BenchResult& result) {
  std::string cards;
  for (const ServerFigures& server : result.servers) {
    const double ratio = AddUp(server).tokens.ReadRatio();
    if (ratio <= 0) continue;
    cards += Card(RatioText(ratio) + "×", "the unavoidable, read by " + server.name,
                  ratio <= kGoodRatio);
  }
  for (const PeerRatio& ratio : PeerRatios({result})) {
    if (ratio.scenarios == 0) continue;
    const bool sooner = ratio.first_token_ratio <= 1;
    const double times = sooner ? 1 / ratio.first_token_ratio : ratio.first_token_ratio;
    cards +=
        Card(RatioText(times) + "× " + (sooner ? "sooner" : "later"),
             "the first token of " + result.servers.front().name + " than that of " + ratio.peer,
             sooner);
  }
  return cards.empty() ? "" : Element("div", cards, "class=\"cards\"");
}

std::string Cell(const std::string& text, double value) {
  char number[32];
  std::snprintf(number, sizeof(number), "%.6g", value);
  return "<td data-value=\"" + std::string(number) + "\">" + EscapeMarkup(text) + "</td>";
}

std::string NameCell(const std::string& text) {
  return "<td data-value=\"" + EscapeMarkup(text) + "\">" + EscapeMarkup(text) + "</td>";
}

std::string TokensCell(size_t sum, size_t runs) {
  const double value = runs == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(runs);
  return Cell(PerRunText(sum, runs), value);
}

// `ratio`: of the first server beside this one.
std::string TableRow(const ServerFigures& server, const ScenarioSummary& summary, double ratio,
                     bool first) {
  const RunTokens& tokens = summary.tokens;
  const size_t runs = summary.runs;
  std::string row = NameCell(summary.scenario) + NameCell(server.name);
  row += TokensCell(tokens.sent, runs) + TokensCell(tokens.read, runs) +
         TokensCell(tokens.lower_bound, tokens.lower_bound == 0 ? 0 : runs);
  row += Cell(RatioText(tokens.ReadRatio()), tokens.ReadRatio()) +
         Cell(RatioText(tokens.ReadInAllRatio()), tokens.ReadInAllRatio());
  for (const double ms :
       {summary.first_token_median_ms, summary.first_token_p90_ms, summary.first_token_p99_ms}) {
    row += Cell(MsText(ms), ms);
  }
  row += Cell(RatioText(summary.tokens_per_second), summary.tokens_per_second);
  row += Cell(first ? "" : RatioText(ratio), ratio);
  return Element("tr", row, first ? "class=\"first\"" : "");
}

std::string Table(const BenchResult& result) {
  std::string heading;
  for (const char* name : {"scenario", "server"}) {
    heading += "<th data-sort=\"text\">" + std::string(name) + "</th>";
  }
  for (const char* name :
       {"sent", "read", "un&shy;avoid&shy;able", "read ÷ un&shy;avoid.", "in all ÷ un&shy;avoid.",
        "first token, median", "p90", "p99", "tokens/s", "first token, ours ÷ theirs"}) {
    heading += "<th data-sort=\"number\">" + std::string(name) + "</th>";
  }
  std::string rows;
  for (const std::string& scenario : ScenarioNames(result)) {
    for (const ServerFigures& server : result.servers) {
      const ScenarioSummary summary = Summarize(server, scenario);
      if (summary.runs == 0) continue;
      const bool first = &server == &result.servers.front();
      const double ratio =
          first ? 0 : Compare(result.servers.front(), server, scenario).first_token_ratio;
      rows += TableRow(server, summary, ratio, first);
    }
  }
  return Element(
      "div", Element("table", Element("thead", Element("tr", heading)) + Element("tbody", rows)),
      "class=\"wide\"");
}

std::string Failures(const BenchResult& result) {
  std::string items;
  for (const ServerFigures& server : result.servers) {
    for (const ScenarioRun& run : server.runs) {
      if (run.error.empty()) continue;
      items += Element("li", EscapeMarkup(server.name + ", " + run.scenario + ", run " +
                                          std::to_string(run.repetition + 1) + ": " + run.error));
    }
  }
  if (items.empty()) return "";
  return Element(
      "div", "<strong>Runs that broke off, and count for nothing</strong>" + Element("ul", items),
      "class=\"panel bad\"");
}

std::string Servers(const BenchResult& result) {
  std::string list;
  for (const ServerFigures& server : result.servers) {
    list += Element("dt", EscapeMarkup(server.name));
    std::string facts = EscapeMarkup(server.program);
    if (server.grid_tokens > 0) {
      facts += "; cuts on multiples of " + std::to_string(server.grid_tokens) + " tokens";
    }
    if (!facts.empty()) list += Element("dd", facts);
    if (!server.command_line.empty()) {
      list += Element("dd", "<code>" + EscapeMarkup(server.command_line) + "</code>");
    }
  }
  return Element("h3", "The servers") + Element("dl", list, "class=\"panel\"");
}

std::string Figure(const std::string& svg) {
  return svg.empty() ? "" : Element("figure", "\n" + svg);
}

std::string Cases(const std::string& heading, const std::vector<ClaimCase>& cases) {
  if (cases.empty()) return "";
  std::string items;
  for (const ClaimCase& one : cases) {
    items += Element("li", EscapeMarkup(one.title + ", " + one.scenario + ": " + one.why));
  }
  return Element("p", heading) + Element("ul", items);
}

std::string Claim(const std::string& claim, const ClaimCheck& check) {
  const size_t checked = check.held + check.broken.size();
  if (checked == 0) return "";
  const std::string verdict = (check.broken.empty() ? "Holds, in " : "Holds only in ") +
                              std::to_string(check.held) + " of " + std::to_string(checked) +
                              " scenarios";
  return Element("div",
                 "<strong>" + verdict + "</strong>" + Element("p", claim) +
                     Cases("Not in these:", check.broken) +
                     Cases("Could not be checked:", check.unchecked),
                 check.broken.empty() ? "class=\"panel good\"" : "class=\"panel bad\"");
}

// Of results whose first server is ours.
std::string Claims(std::vector<BenchResult> results) {
  std::erase_if(results, [](const BenchResult& result) {
    return result.servers.empty() || !result.servers.front().program.starts_with("cairn");
  });
  const std::string claims =
      Claim(
          "In every run, at most 1.02 times the unavoidable tokens and a grid step a request "
          "are read while the client waits.",
          CheckAllowed(results)) +
      Claim("In no run are more read than by the peer, and a grid step a request.",
            CheckPeers(results));
  return claims.empty() ? "" : Element("h2", "What Cairn promises") + claims;
}

std::string Section(const BenchResult& result) {
  std::string text = Element("h2", EscapeMarkup(ResultTitle(result)));
  text += Cards(result) + Failures(result);
  text += Figure(ReadPlot(result)) + Figure(FirstTokenPlot(result)) + Figure(RatioPlot(result));
  text += Element("h3", "All figures") + Table(result);
  text += Element("p",
                  "Tokens are those of one run. Unavoidable is what no server can do without "
                  "reading: each prompt without the longest beginning that an earlier prompt or "
                  "answer of its scenario had. Read is while the client waits; in all is with "
                  "work done ahead of the next request.",
                  "class=\"soft\"");
  return text + Servers(result);
}

std::string Played(const std::vector<BenchResult>& results) {
  size_t requests = 0;
  size_t runs = 0;
  for (const BenchResult& result : results) {
    for (const ServerFigures& server : result.servers) {
      runs += server.runs.size();
      for (const ScenarioRun& run : server.runs) requests += run.requests.size();
    }
  }
  char scale[32];
  std::snprintf(scale, sizeof(scale), "%g", results.front().scale);
  return WithCommas(requests) + " requests in " + WithCommas(runs) +
         " runs of scenarios, lengths times " + scale + ", seed " +
         std::to_string(results.front().seed) + ".";
}

}  // namespace

std::string BenchHtml(const BenchResult& result) {
  return BenchHtml(std::vector<BenchResult>{result});
}

std::string BenchHtml(const std::vector<BenchResult>& results) {
  std::string body = Element("h1", "cairn-lab bench");
  bool any = false;
  std::string sections;
  for (const BenchResult& result : results) {
    if (ScenarioNames(result).empty()) continue;
    any = true;
    sections += Section(result);
  }
  if (any) {
    body += Element("p", Played(results) + " Point at a bar or a dot for its figures.",
                    "class=\"soft\"");
    body += Claims(results) + sections;
  } else {
    body += Element("p", "Nothing was played.");
  }
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<title>cairn-lab bench</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n" +
         std::string(BenchPageStyle()) + "</style>\n</head>\n<body>\n<main>\n" + body +
         "</main>\n<script>\n" + std::string(BenchPageScript()) + "</script>\n</body>\n</html>\n";
}

}  // namespace cairn
