// InitLlamaBackend: initializes libllama once per process. Every file of ours that calls libllama
// calls this first.

#ifndef CAIRN_ENGINE_LLAMA_BACKEND_LLAMA_BACKEND_H_
#define CAIRN_ENGINE_LLAMA_BACKEND_LLAMA_BACKEND_H_

#include <string>

#include "base/log.h"

namespace cairn {

// Loads ggml's backends and sends libllama's log to `log`, whole lines at a time. Only the first
// call loads; any thread may call it, any number of times.
//
// The backends come from the folder in the environment variable CAIRN_BACKENDS_DIR, else from the
// folder that the build was configured with, else from ggml's own search path.
//
// libllama's log belongs to the process, not to a model: there is one sink, and the latest one gets
// the lines of all models. An empty `log` silences them. The sink must not call libllama.
void InitLlamaBackend(const LogSink& log);

// Sets the sink alone, for calls that need no backend: those that read files.
void SetLlamaLog(const LogSink& log);

// Returns the computing libraries as they name themselves: those found at run time, not at build
// time. Loads no backend. Any thread.
std::string LlamaVersions();

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_BACKEND_LLAMA_BACKEND_H_
