// ProgressLine: reports the progress of work that takes longer than two seconds on standard error.
// On a terminal one line is overwritten; elsewhere lines are printed at intervals.

#ifndef CAIRN_CMD_LIB_PROGRESS_LINE_H_
#define CAIRN_CMD_LIB_PROGRESS_LINE_H_

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"

namespace cairn {

// Not thread-safe.
class ProgressLine {
 public:
  // `what` precedes the percentage: "Loading model.gguf".
  explicit ProgressLine(std::string what);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `share` is in [0, 1].
  void Update(float share);

 private:
  const std::string what_;
  const bool terminal_;
  const SteadyClock clock_;
  const double started_ms_;
  double shown_ms_ = 0;
  bool shown_ = false;
};

// PrintLogLine: the LogSink of commands that only show libllama's log.

// Prints to standard error at every level. Any thread.
void PrintLogLine(LogLevel level, std::string_view line);

}  // namespace cairn

#endif  // CAIRN_CMD_LIB_PROGRESS_LINE_H_
