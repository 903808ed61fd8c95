#include "engine/llama/backend/llama_backend.h"

#include <ggml-backend.h>
#include <ggml.h>
#include <llama.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "engine/llama/backend/backends_folder.h"

namespace cairn {
namespace {

struct LogLine {
  LogLevel level;
  std::string text;
};

// libllama logs in fragments: a message may lack its newline and be continued by the next one. This
// struct collects the fragments until the line is complete.
struct LogState {
  Mutex mutex;
  LogSink sink GUARDED_BY(mutex);
  LogLevel level GUARDED_BY(mutex) = LogLevel::kInfo;  // of the line in `pending`
  std::string pending GUARDED_BY(mutex);
};

// The C callback has no other access to its state. It lives as long as the process, because a
// backend's thread may log while statics are being destroyed.
LogState& SharedLog() {
  static LogState* const state = new LogState;
  return *state;
}

LogLevel LevelOf(ggml_log_level level, LogLevel continued) {
  switch (level) {
    case GGML_LOG_LEVEL_CONT:
      return continued;
    case GGML_LOG_LEVEL_ERROR:
      return LogLevel::kError;
    case GGML_LOG_LEVEL_WARN:
      return LogLevel::kWarning;
    case GGML_LOG_LEVEL_DEBUG:
      return LogLevel::kDebug;
    default:
      return LogLevel::kInfo;
  }
}

// Adds one message to the pending line and returns the lines that became complete.
std::vector<LogLine> Gather(LogState& state, ggml_log_level level, std::string_view text)
    REQUIRES(state.mutex) {
  std::vector<LogLine> lines;
  if (level != GGML_LOG_LEVEL_CONT && !state.pending.empty()) {
    lines.push_back({state.level, std::exchange(state.pending, {})});
  }
  state.level = LevelOf(level, state.level);
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    state.pending.append(text.substr(0, end));
    if (!state.pending.empty()) {
      lines.push_back({state.level, std::exchange(state.pending, {})});
    }
    text.remove_prefix(end + 1);
  }
  state.pending.append(text);
  return lines;
}

void OnLog(ggml_log_level level, const char* text, void* /*user_data*/) {
  LogState& state = SharedLog();
  std::vector<LogLine> lines;
  LogSink sink;
  {
    const MutexLock lock(state.mutex);
    lines = Gather(state, level, text);
    if (!lines.empty()) sink = state.sink;
  }
  // Called outside the lock, so that a slow sink delays only the thread that logs.
  if (!sink) return;
  for (const LogLine& line : lines) sink(line.level, line.text);
}

void LoadBackends() {
  const char* folder = std::getenv("CAIRN_BACKENDS_DIR");
  if (folder == nullptr || *folder == '\0') folder = BackendsFolder();
  if (*folder == '\0') {
    ggml_backend_load_all();
  } else {
    ggml_backend_load_all_from_path(folder);
  }
}

}  // namespace

void SetLlamaLog(const LogSink& log) {
  static std::once_flag once;
  std::call_once(once, [] { llama_log_set(OnLog, nullptr); });
  LogState& state = SharedLog();
  const MutexLock lock(state.mutex);
  state.sink = log;
}

void InitLlamaBackend(const LogSink& log) {
  SetLlamaLog(log);
  static std::once_flag once;
  std::call_once(once, [] {
    llama_backend_init();
    LoadBackends();
  });
}

std::string LlamaVersions() {
  return std::string("libllama ") + llama_version() + ", ggml " + ggml_version() + " (" +
         ggml_commit() + ")";
}

}  // namespace cairn
