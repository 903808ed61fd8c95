// The demo's figures as a table for a terminal, printed row by row, and as JSON. Pure functions.

#ifndef CAIRN_LAB_DEMO_DEMO_REPORT_H_
#define CAIRN_LAB_DEMO_DEMO_REPORT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// The figures of a turn on one server.
struct TurnFigures {
  size_t prompt_tokens = 0;
  size_t prefilled_tokens = 0;
  double first_token_ms = 0;
  std::string answer;
};

// A turn on two servers: without checkpoints, or without any reuse, and with it.
struct DemoRow {
  std::string what;
  TurnFigures without;
  TurnFigures with;
};

// The headings of a table's two columns.
struct DemoColumns {
  std::string without;
  std::string with;
};

struct DemoFigures {
  std::string model;
  std::string memory;  // the model's memory class; empty: the server does not report it
  std::vector<DemoRow> rows;
  // The same turns with --reuse exact: without a cache, and with it. Empty: they were left out.
  std::vector<DemoRow> exact_rows;
  double total_ms = 0;  // that `rows` took, loading included
};

// Returns "0.35 s", "12.3 s" or "2 min 5 s".
std::string Seconds(double ms);

// Returns a table's heading. All lines of the tables are under 100 columns.
std::string DemoHeading(const DemoColumns& columns);
// Returns the beginning of a row, which may be printed before its figures are known.
std::string DemoRowBegin(size_t number, std::string_view what);
std::string DemoCells(const TurnFigures& turn);
// Returns the answers, shortened: one line if they are equal, two if the servers differ.
std::string DemoAnswers(const DemoRow& row);
// Returns the totals over all rows. `colour`: with a terminal's escape sequences.
std::string DemoTotals(const DemoFigures& figures, bool colour);
// Returns the totals of the turns with --reuse exact.
std::string DemoExactTotals(const std::vector<DemoRow>& exact_rows, bool colour);

// Returns the same figures as one JSON object.
std::string DemoJson(const DemoFigures& figures);

}  // namespace cairn

#endif  // CAIRN_LAB_DEMO_DEMO_REPORT_H_
