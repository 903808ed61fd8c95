#include "lab/demo/demo_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

namespace cairn {
namespace {

constexpr size_t kWhatColumns = 42;
constexpr size_t kCellColumns = 21;
constexpr size_t kAnswerColumns = 84;

std::string Right(std::string_view text, size_t columns) {
  std::string padded(columns > text.size() ? columns - text.size() : 0, ' ');
  return padded += text;
}

std::string Left(std::string_view text, size_t columns) {
  std::string padded(text.substr(0, columns));
  padded.resize(columns, ' ');
  return padded;
}

std::string Shortened(std::string_view answer) {
  std::string line;
  for (const char c : answer) {
    const bool space = c == '\n' || c == ' ' || c == '\t';
    if (!space) line += c;
    if (space && !line.empty() && line.back() != ' ') line += ' ';
  }
  if (line.size() <= kAnswerColumns) return line;
  size_t end = kAnswerColumns;
  while (end > 0 && IsContinuationByte(line[end])) --end;
  return line.substr(0, end) + "…";
}

// Returns "5.1 times less", or "as much" if the difference is negligible.
std::string Times(double without, double with, const char* less, const char* more,
                  const char* same) {
  constexpr double kSameRatio = 1.05;
  const double ratio = with > 0 ? without / with : 1;
  char text[64];
  const bool is_less = ratio >= 1;
  std::snprintf(text, sizeof(text), "%.1f times %s", is_less ? ratio : 1 / std::max(ratio, 1e-9),
                is_less ? less : more);
  return std::max(ratio, 1 / std::max(ratio, 1e-9)) < kSameRatio ? same : text;
}

DemoRow Total(const std::vector<DemoRow>& rows) {
  DemoRow total;
  const auto add = [](const TurnFigures& turn, TurnFigures* sum) {
    sum->prompt_tokens += turn.prompt_tokens;
    sum->prefilled_tokens += turn.prefilled_tokens;
    sum->first_token_ms += turn.first_token_ms;
  };
  for (const DemoRow& row : rows) {
    add(row.without, &total.without);
    add(row.with, &total.with);
  }
  return total;
}

size_t SameAnswers(const std::vector<DemoRow>& rows) {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [](const DemoRow& row) {
    return row.without.answer == row.with.answer;
  }));
}

std::string SameAnswersText(const std::vector<DemoRow>& rows) {
  return std::to_string(SameAnswers(rows)) + " of " + std::to_string(rows.size()) +
         " answers were the same, word for word.";
}

// The servers cut prompts into different chunks, and one continues from decoded KV where the other
// prefills it. That changes the last bits of logits, and now and then a token.
std::string WhyOthersDiffer(const std::vector<DemoRow>& rows) {
  if (SameAnswers(rows) == rows.size()) return "";
  return "\nThe others differ because the servers cut prompts into different chunks, which "
         "changes the\nlast bits of logits; --reuse exact reuses only what changes none.";
}

// Where the totals stand out on a terminal.
struct Colours {
  explicit Colours(bool on) {
    if (on) bold = "\x1b[1m", green = "\x1b[1;32m", plain = "\x1b[0m";
  }
  const char* bold = "";
  const char* green = "";
  const char* plain = "";
};

// The row of sums, and how much less was prefilled and waited for.
std::string TotalsOf(const std::vector<DemoRow>& rows, const std::string& server, bool colour) {
  const DemoRow total = Total(rows);
  const Colours colours(colour);
  std::string text = colours.bold + DemoRowBegin(0, "all turns") + DemoCells(total.without) +
                     DemoCells(total.with) + colours.plain + "\n\n";
  return text + server + " prefilled " + colours.green +
         Times(static_cast<double>(total.without.prefilled_tokens),
               static_cast<double>(total.with.prefilled_tokens), "fewer tokens", "as many tokens",
               "as many tokens") +
         colours.plain + " of the " + WithCommas(total.with.prompt_tokens) + " it was sent,\n" +
         "and the user waited " + colours.green +
         Times(total.without.first_token_ms, total.with.first_token_ms, "less", "longer",
               "as long") +
         colours.plain + " for first words. " + SameAnswersText(rows);
}

Json ToJson(const TurnFigures& turn) {
  return {{"prompt_tokens", turn.prompt_tokens},
          {"prefilled_tokens", turn.prefilled_tokens},
          {"first_token_ms", std::round(turn.first_token_ms * 10) / 10}};
}

void AddTable(const std::vector<DemoRow>& rows, Json* json) {
  const DemoRow total = Total(rows);
  (*json)["turns"] = Json::array();
  for (const DemoRow& row : rows) {
    (*json)["turns"].push_back({{"what", row.what},
                                {"without", ToJson(row.without)},
                                {"with", ToJson(row.with)},
                                {"answer", row.with.answer},
                                {"same_answer", row.with.answer == row.without.answer}});
  }
  (*json)["total"] = {{"without", ToJson(total.without)}, {"with", ToJson(total.with)}};
  (*json)["same_answers"] = SameAnswers(rows);
}

}  // namespace

std::string Seconds(double ms) {
  const double seconds = std::max(ms, 0.0) / 1000;
  const auto whole = static_cast<long long>(std::round(seconds));
  char text[48];
  if (whole >= 100) {
    std::snprintf(text, sizeof(text), "%lld min %lld s", whole / 60, whole % 60);
  } else {
    std::snprintf(text, sizeof(text), seconds < 9.995 ? "%.2f s" : "%.1f s", seconds);
  }
  return text;
}

std::string DemoHeading(const DemoColumns& columns) {
  const std::string cells = Right("prefilled", kCellColumns - 11) + Right("waited", 11);
  return std::string(4 + kWhatColumns, ' ') + Right(columns.without, kCellColumns) +
         Right(columns.with, kCellColumns) + "\n" + Left("    turn", 4 + kWhatColumns) + cells +
         cells;
}

std::string DemoRowBegin(size_t number, std::string_view what) {
  return Right(number > 0 ? std::to_string(number) : "", 2) + "  " + Left(what, kWhatColumns);
}

std::string DemoCells(const TurnFigures& turn) {
  return Right(WithCommas(turn.prefilled_tokens), kCellColumns - 11) +
         Right(Seconds(turn.first_token_ms), 11);
}

std::string DemoAnswers(const DemoRow& row) {
  std::string with = "    » " + Shortened(row.with.answer);
  if (row.with.answer == row.without.answer) return with;
  return with + "\n    » " + Shortened(row.without.answer) + " (without)";
}

std::string DemoTotals(const DemoFigures& figures, bool colour) {
  std::string text = TotalsOf(figures.rows, "With checkpoints the server", colour) +
                     WhyOthersDiffer(figures.rows) + "\nModel: " + figures.model;
  if (!figures.memory.empty()) text += " (" + figures.memory + " memory)";
  return text + ". The demo took " + Seconds(figures.total_ms) + ".\n";
}

std::string DemoExactTotals(const std::vector<DemoRow>& exact_rows, bool colour) {
  return TotalsOf(exact_rows, "With --reuse exact the server", colour) + "\n";
}

std::string DemoJson(const DemoFigures& figures) {
  Json json;
  json["model"] = figures.model;
  json["memory"] = figures.memory;
  AddTable(figures.rows, &json);
  if (!figures.exact_rows.empty()) AddTable(figures.exact_rows, &json["exact"]);
  json["total_ms"] = std::round(figures.total_ms);
  return ToText(json, 2) + "\n";
}

}  // namespace cairn
