// Where log lines go. Folders below sched/ do not log; the engine passes on what libllama says
// through a LogSink that main() gives it.

#ifndef CAIRN_BASE_LOG_H_
#define CAIRN_BASE_LOG_H_

#include <functional>
#include <string_view>

namespace cairn {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Takes one line without its newline. Called from any thread.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;

}  // namespace cairn

#endif  // CAIRN_BASE_LOG_H_
