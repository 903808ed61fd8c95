// `cairn rpc-server`: a worker, which computes layers of a model for `cairn serve --rpc` on another
// machine. Names and meanings of flags are those of llama.cpp's rpc-server.

#ifndef CAIRN_CMD_RPC_RPC_SERVER_H_
#define CAIRN_CMD_RPC_RPC_SERVER_H_

#include "engine/llama/backend/rpc_backend.h"

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

}  // namespace cairn

#endif  // CAIRN_CMD_RPC_RPC_SERVER_H_
