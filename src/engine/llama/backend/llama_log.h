// LlamaErrorListener: captures the reason of a libllama failure, which libllama writes to its log
// and not to its results.

#ifndef CAIRN_ENGINE_LLAMA_BACKEND_LLAMA_LOG_H_
#define CAIRN_ENGINE_LLAMA_BACKEND_LLAMA_LOG_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"

namespace cairn {

// Initializes libllama (InitLlamaBackend). During its lifetime, the process's sink keeps the first
// error line, besides passing all lines on to `log`; later lines only say that something failed.
// Its destructor makes lines go straight to `log` again.
//
// libllama's log belongs to the process: of two listeners at a time only the later one gets lines.
class LlamaErrorListener {
 public:
  // `watch`, if any, also gets every line during the lifetime.
  explicit LlamaErrorListener(LogSink log,
                              std::function<void(std::string_view line)> watch = nullptr);
  LlamaErrorListener(const LlamaErrorListener&) = delete;
  LlamaErrorListener& operator=(const LlamaErrorListener&) = delete;
  ~LlamaErrorListener();

  // Returns ": " and the first error line, to append to the description of the failure; empty if
  // there was none.
  std::string Because() const;

 private:
  struct Heard;

  // Shared with the sink, which a logging thread may still hold when the listener is destroyed.
  const std::shared_ptr<Heard> heard_;
  const LogSink log_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_BACKEND_LLAMA_LOG_H_
