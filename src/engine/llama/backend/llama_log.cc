#include "engine/llama/backend/llama_log.h"

#include <utility>

#include "base/mutex.h"
#include "engine/llama/backend/llama_backend.h"

namespace cairn {

struct LlamaErrorListener::Heard {
  Mutex mutex;
  std::string first GUARDED_BY(mutex);
};

LlamaErrorListener::LlamaErrorListener(LogSink log,
                                       std::function<void(std::string_view line)> watch)
    : heard_(std::make_shared<Heard>()), log_(std::move(log)) {
  InitLlamaBackend([heard = heard_, next = log_, watch = std::move(watch)](LogLevel level,
                                                                           std::string_view line) {
    if (level == LogLevel::kError) {
      const MutexLock lock(heard->mutex);
      if (heard->first.empty()) heard->first = line;
    }
    if (watch) watch(line);
    if (next) next(level, line);
  });
}

LlamaErrorListener::~LlamaErrorListener() {
  InitLlamaBackend(log_);
}

std::string LlamaErrorListener::Because() const {
  const MutexLock lock(heard_->mutex);
  return heard_->first.empty() ? "" : ": " + heard_->first;
}

}  // namespace cairn
