// The demo's figures as text and as JSON. Pure functions.

#ifndef CAIRN_LAB_DEMO_DEMO_REPORT_H_
#define CAIRN_LAB_DEMO_DEMO_REPORT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

struct TurnFigures {
  size_t prompt_tokens = 0;
  size_t read_tokens = 0;
  double first_token_ms = 0;
};

struct DemoFigures {
  std::string model;
  std::string memory;             // the model's memory class; empty: the server does not tell
  std::vector<std::string> what;  // one for each turn
  // Both are as long as `what`.
  std::vector<TurnFigures> without;  // --placement none
  std::vector<TurnFigures> with_default;
  double total_ms = 0;  // of everything, loading included
};

TurnFigures Total(const std::vector<TurnFigures>& turns);

// "0.35 s", "12.3 s", "2 min 5 s".
std::string Seconds(double ms);

// A row for each turn, the totals and what they come to. Under 100 columns. `colour`: with the
// escape sequences of a terminal.
std::string FormatDemo(const DemoFigures& figures, bool colour);
// The same figures as one JSON object.
std::string DemoJson(const DemoFigures& figures);

}  // namespace cairn

#endif  // CAIRN_LAB_DEMO_DEMO_REPORT_H_
