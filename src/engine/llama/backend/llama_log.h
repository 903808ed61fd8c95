// LlamaErrorListener: why libllama refused something. It says so in its log, not in its results.

#ifndef CAIRN_ENGINE_LLAMA_BACKEND_LLAMA_LOG_H_
#define CAIRN_ENGINE_LLAMA_BACKEND_LLAMA_LOG_H_

#include <memory>
#include <string>

#include "base/log.h"

namespace cairn {

// Wakes libllama (InitLlamaBackend). While this lives, the process's sink keeps the first error
// line besides passing all lines on to `log`; the later ones only say that something failed. When
// it goes, lines go straight to `log`.
//
// libllama's log belongs to the process: of two listeners at a time only the later one hears.
class LlamaErrorListener {
 public:
  explicit LlamaErrorListener(LogSink log);
  LlamaErrorListener(const LlamaErrorListener&) = delete;
  LlamaErrorListener& operator=(const LlamaErrorListener&) = delete;
  ~LlamaErrorListener();

  // ": " and the first error line, to stand after what failed; empty when none was heard.
  std::string Because() const;

 private:
  struct Heard;

  // Shared with the sink, which a logging thread may still hold when the listener goes.
  const std::shared_ptr<Heard> heard_;
  const LogSink log_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_BACKEND_LLAMA_LOG_H_
