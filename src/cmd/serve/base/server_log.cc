#include "cmd/serve/base/server_log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <utility>

#include "api/json.h"
#include "cmd/serve/base/serve_options.h"

namespace cairn {
namespace {

// Lines of the logger of this name already have their message and fields as JSON.
constexpr std::string_view kRequests = "requests";

constexpr std::array<std::pair<std::string_view, LogLevel>, 4> kLevelNames = {{
    {"debug", LogLevel::kDebug},
    {"info", LogLevel::kInfo},
    {"warning", LogLevel::kWarning},
    {"error", LogLevel::kError},
}};

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// Returns UTC: "2026-11-22T11:12:52.123Z".
std::string TimeText(spdlog::log_clock::time_point time) {
  const std::time_t seconds = spdlog::log_clock::to_time_t(time);
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch());
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string ms = std::to_string(1000 + since.count() % 1000);
  return std::string(text.data(), size) + "." + ms.substr(1) + "Z";
}

std::string Inner(const Json& object) {
  const std::string text = ToText(object);
  return text.substr(1, text.size() - 2);
}

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string_view payload(message.payload.data(), message.payload.size());
    const std::string_view name(message.logger_name.data(), message.logger_name.size());
    const Json head = {{"time", TimeText(message.time)}, {"level", LevelName(message.level)}};
    const std::string rest =
        name == kRequests ? std::string(payload) : Inner({{"message", payload}});
    const std::string line = "{" + Inner(head) + "," + rest + "}\n";
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }

 private:
  static std::string_view LevelName(spdlog::level::level_enum level) {
    for (const auto& [name, known] : kLevelNames) {
      if (ToSpdlog(known) == level) return name;
    }
    return "error";
  }
};

std::unique_ptr<spdlog::formatter> MakeFormatter(LogFormat format) {
  if (format == LogFormat::kJson) return std::make_unique<JsonFormatter>();
  return std::make_unique<spdlog::pattern_formatter>("%H:%M:%S.%e %^%l%$ %v");
}

}  // namespace

std::optional<LogFormat> ParseLogFormat(std::string_view name) {
  if (name == "human") return LogFormat::kHuman;
  if (name == "json") return LogFormat::kJson;
  return std::nullopt;
}

std::optional<LogLevel> ParseLogLevel(std::string_view name) {
  for (const auto& [known, level] : kLevelNames) {
    if (known == name) return level;
  }
  return std::nullopt;
}

ServerLog::ServerLog(LogFormat format, LogLevel level)
    : ServerLog(format, level, std::make_shared<spdlog::sinks::stderr_color_sink_mt>()) {}

ServerLog::ServerLog(LogFormat format, LogLevel level,
                     const std::shared_ptr<spdlog::sinks::sink>& sink)
    : format_(format),
      lines_(std::make_shared<spdlog::logger>("cairn", sink)),
      requests_(std::make_shared<spdlog::logger>(std::string(kRequests), sink)),
      always_(std::make_shared<spdlog::logger>("always", sink)) {
  sink->set_formatter(MakeFormatter(format));
  for (const auto& logger : {lines_, requests_}) logger->set_level(ToSpdlog(level));
  // A file shows a line at once, and keeps it when the process is killed.
  for (const auto& logger : {lines_, requests_, always_}) {
    logger->flush_on(spdlog::level::trace);
  }
  always_->set_level(spdlog::level::trace);
}

LogSink ServerLog::sink() const {
  return [logger = lines_](LogLevel level, std::string_view line) {
    logger->log(ToSpdlog(level), "{}", line);
  };
}

RequestSink ServerLog::request_sink() const {
  return [logger = requests_, format = format_](std::string_view line, const Json& fields) {
    if (format == LogFormat::kHuman) return logger->info("{}", line);
    logger->info("{}", Inner({{"message", line}, {"request", fields}}));
  };
}

void ServerLog::SayFailed(const Error& error) const {
  if (format_ == LogFormat::kJson) {
    lines_->error("{}", error.message);
  } else {
    std::fprintf(stderr, "cairn serve: %s\n", error.message.c_str());
  }
}

ServerLog MakeServerLog(const ServeOptions& options) {
  const LogFormat format = ParseLogFormat(options.log_format).value_or(LogFormat::kHuman);
  const LogLevel level = options.verbose
                             ? LogLevel::kDebug
                             : ParseLogLevel(options.log_level).value_or(LogLevel::kInfo);
  if (options.log_file.empty()) return {format, level};
  const auto sinks = std::make_shared<spdlog::sinks::dist_sink_mt>();
  sinks->add_sink(std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  std::string complaint;
  try {
    sinks->add_sink(std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.log_file));
  } catch (const spdlog::spdlog_ex& error) {
    complaint = error.what();
  }
  ServerLog log(format, level, sinks);
  if (!complaint.empty()) {
    log->warn("--log-file is not written, the log is on standard error alone: {}", complaint);
  }
  return log;
}

}  // namespace cairn
