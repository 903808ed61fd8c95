// PrintLogLine: the LogSink of commands that only show libllama's log.

#ifndef CAIRN_CMD_LIB_PRINT_LOG_H_
#define CAIRN_CMD_LIB_PRINT_LOG_H_

#include <string_view>

#include "base/log.h"

namespace cairn {

// Prints to standard error at every level. Any thread.
void PrintLogLine(LogLevel level, std::string_view line);

}  // namespace cairn

#endif  // CAIRN_CMD_LIB_PRINT_LOG_H_
