// ServerLog: writes the log lines of a running server to standard error, as text or as JSON.
//
//   human   11:12:52.123 info chatcmpl-7 done: 812 prompt tokens, 640 reused (continued), …
//   json    {"time":"2026-11-22T11:12:52.123Z","level":"info","message":"…","request":{…}}
//
// Only a request's line has "request", with the same figures as fields. No line contains text of a
// prompt or an answer.
//
// Threads: any.

#ifndef CAIRN_CMD_SERVE_BASE_SERVER_LOG_H_
#define CAIRN_CMD_SERVE_BASE_SERVER_LOG_H_

#include <spdlog/spdlog.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/record/request_log.h"
#include "base/log.h"
#include "base/result.h"

namespace cairn {

struct ServeOptions;

enum class LogFormat { kHuman, kJson };
// Return nullopt if there is no such format or level.
std::optional<LogFormat> ParseLogFormat(std::string_view name);
std::optional<LogLevel> ParseLogLevel(std::string_view name);

class ServerLog {
 public:
  // Lines below `level` are not logged, except those of always().
  ServerLog(LogFormat format, LogLevel level);
  // Writes to another sink than standard error, for tests.
  ServerLog(LogFormat format, LogLevel level, const std::shared_ptr<spdlog::sinks::sink>& sink);

  // For lines formatted by spdlog.
  spdlog::logger* operator->() const { return lines_.get(); }
  // For lines that the starter of the server waits for; they are logged at every level.
  spdlog::logger* always() const { return always_.get(); }
  LogSink sink() const;
  RequestSink request_sink() const;
  LogFormat format() const { return format_; }
  // Prints why the server has ended; in the human format as one line, like every command.
  void SayFailed(const Error& error) const;

 private:
  const LogFormat format_;
  std::shared_ptr<spdlog::logger> lines_;
  std::shared_ptr<spdlog::logger> requests_;
  std::shared_ptr<spdlog::logger> always_;
};

// Returns the log of the flags.
ServerLog MakeServerLog(const ServeOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_BASE_SERVER_LOG_H_
