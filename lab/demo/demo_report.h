// The demo's figures as a table for a terminal, row by row, and as JSON. Pure functions.

#ifndef CAIRN_LAB_DEMO_DEMO_REPORT_H_
#define CAIRN_LAB_DEMO_DEMO_REPORT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// A turn as one server played it.
struct TurnFigures {
  size_t prompt_tokens = 0;
  size_t prefilled_tokens = 0;
  double first_token_ms = 0;
  std::string answer;
};

struct DemoRow {
  std::string what;
  TurnFigures without;  // checkpoints
  TurnFigures with;
};

struct DemoFigures {
  std::string model;
  std::string memory;  // the model's memory class; empty: the server does not tell
  std::vector<DemoRow> rows;
  double total_ms = 0;  // of everything, loading included
};

// "0.35 s", "12.3 s", "2 min 5 s".
std::string Seconds(double ms);

// Under 100 columns, as all of the table.
std::string DemoHeading();
// The beginning of a row, which may be shown before the rest is known.
std::string DemoRowBegin(size_t number, std::string_view what);
std::string DemoCells(const TurnFigures& turn);
// The answers in one line, shortened; in two where the servers answered differently.
std::string DemoAnswers(const DemoRow& row);
// What all rows come to. `colour`: with the escape sequences of a terminal.
std::string DemoTotals(const DemoFigures& figures, bool colour);

// The same figures as one JSON object.
std::string DemoJson(const DemoFigures& figures);

}  // namespace cairn

#endif  // CAIRN_LAB_DEMO_DEMO_REPORT_H_
