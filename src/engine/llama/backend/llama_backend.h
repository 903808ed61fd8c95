// InitLlamaBackend: wakes libllama once per process. Every file of ours that calls libllama calls
// this first.

#ifndef CAIRN_ENGINE_LLAMA_BACKEND_LLAMA_BACKEND_H_
#define CAIRN_ENGINE_LLAMA_BACKEND_LLAMA_BACKEND_H_

#include <string>

#include "base/log.h"

namespace cairn {

// Loads ggml's backends and sends what libllama logs to `log`, whole lines at a time. Only the
// first call loads; any thread may call, as often as it likes.
//
// The backends come from the folder in the environment variable CAIRN_BACKENDS_DIR, else from the
// folder the build was told of, else from wherever ggml itself looks.
//
// libllama's log belongs to the process, not to a model: there is one sink, and the one given last
// gets the lines of all models. An empty `log` silences them. The sink must not call libllama.
void InitLlamaBackend(const LogSink& log);

// The libraries that compute, as they name themselves: those found now, not those built with.
// Loads no backend. Any thread.
std::string LlamaVersions();

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_BACKEND_LLAMA_BACKEND_H_
