// OnLlamaAbort: a last call before ggml ends the process.
//
// ggml ends the process where its code cannot go on. With its RPC backend the cause may be another
// machine: a worker that ended, or a network that failed. There is no way to go on, because the
// thread that computes waits for an answer that never comes. But other threads still run: requests
// can be told, and files that were begun can be finished.

#ifndef CAIRN_ENGINE_LLAMA_BACKEND_LLAMA_ABORT_H_
#define CAIRN_ENGINE_LLAMA_BACKEND_LLAMA_ABORT_H_

#include <functional>
#include <string_view>

namespace cairn {

// From now on `handler` is called with ggml's message instead of printing it and a backtrace. It is
// called at most once, on the thread that fails, which may be one of ggml's; the thread that
// computes may still run, or never come back. It should end the process; if it returns, ggml does,
// with SIGABRT. An empty handler restores ggml's own behaviour. Call it before loading a model.
void OnLlamaAbort(std::function<void(std::string_view message)> handler);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_BACKEND_LLAMA_ABORT_H_
