// `cairn rpc-server`: a worker, which computes layers of a model for `cairn serve --rpc` on another
// machine. Names and meanings of flags are those of llama.cpp's rpc-server.

#ifndef CAIRN_CMD_RPC_RPC_SERVER_H_
#define CAIRN_CMD_RPC_RPC_SERVER_H_

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "cmd/serve/base/server_log.h"
#include "engine/llama/backend/rpc_backend.h"
#include "http/server.h"
#include "sched/scheduler.h"
#include "store/disk/disk_store.h"

namespace CLI {
class App;
}

namespace cairn {

struct RpcServerCommandOptions {
  RpcServerOptions server;
  bool verbose = false;
};

CLI::App* AddRpcServer(CLI::App* app, RpcServerCommandOptions* options);

// Serves until a signal ends the process. Returns 1 with a message on standard error if it cannot
// begin.
int RunRpcServer(const RpcServerCommandOptions& options);

// WatchRpcWorkers: ends a server in order when a worker of --rpc is lost.
//
// ggml's RPC backend ends the process then (engine/llama/backend/llama_abort.h), and the thread
// that computes never comes back. Before the end, requests get a 503, or an error in their stream,
// and the objects that are queued for the disk are written. States that are in RAM alone are lost;
// those of conversations that were idle for --save-after-ms are on disk. Whoever started the server
// starts it again: a systemd unit with Restart=on-failure, because the exit code is 1.

// The parts of a running server. All empty while it still loads.
struct LostWorkerParts {
  Scheduler* scheduler = nullptr;
  HttpServer* http = nullptr;
  std::future<void> http_ended = {};  // HttpServer::Serve has returned
  std::vector<DiskStore*> stores = {};
};

// From now on the loss of one of `workers` ends the process with exit code 1. `parts` is called
// once, on any thread, and must stay valid until the process ends. Does nothing without workers.
// Call it before the model is loaded.
void WatchRpcWorkers(const std::vector<std::string>& workers, const ServerLog& log,
                     std::function<LostWorkerParts()> parts);

}  // namespace cairn

#endif  // CAIRN_CMD_RPC_RPC_SERVER_H_
