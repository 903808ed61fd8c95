// The type of log sinks. Folders below sched/ do not log; the engine passes libllama's messages on
// through a LogSink that main() supplies.

#ifndef CAIRN_BASE_LOG_H_
#define CAIRN_BASE_LOG_H_

#include <functional>
#include <string_view>

namespace cairn {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Receives one line without its newline. Called from any thread.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;

// Passes a line on, unless the sink is empty.
inline void LogTo(const LogSink& log, LogLevel level, std::string_view line) {
  if (log) log(level, line);
}

}  // namespace cairn

#endif  // CAIRN_BASE_LOG_H_
