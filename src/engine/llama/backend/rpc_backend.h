// AddRpcWorkers, ServeDevices: the two sides of ggml's RPC backend. Devices of other machines
// become devices of this process, and devices of this machine become those of another.
//
//   cairn serve --rpc a:50052,b:50052         cairn rpc-server, on a            … on b
//     libllama ── RPC0, layers 0 to 15 ──────>  CPU, or its GPUs
//              └─ RPC1, layers 16 to 32 ───────────────────────────────────────>  CPU, or its GPUs
//
// The backend is a library of ggml that need not be installed (Debian: libggml0-backend-rpc).

#ifndef CAIRN_ENGINE_LLAMA_BACKEND_RPC_BACKEND_H_
#define CAIRN_ENGINE_LLAMA_BACKEND_RPC_BACKEND_H_

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/llama/backend/rpc_address.h"

namespace cairn {

// Parses the addresses of workers. kInvalidArgument names the first that is wrong or named twice,
// or says how many ggml takes.
Result<std::vector<RpcAddress>> ParseRpcWorkers(const std::vector<std::string>& workers);

// Adds the devices of the workers to those of the process, as RPC0, RPC1, …, where they stay until
// its end; workers that were added before are left alone. REQUIRES: InitLlamaBackend. Any thread,
// one at a time, and no model may be loading.
//
// kInvalidArgument for a bad address, or one that is refused (rpc_address.h); kUnsupported without
// the backend; kUnavailable for a worker that cannot be used (rpc_hello.h). In all cases the
// message says what to do. A worker that ends later ends this process: see llama_abort.h.
Status AddRpcWorkers(const std::vector<std::string>& workers, bool beyond_loopback);

// Sets TCP keepalive on the connections to the workers, which exist once a model is loaded.
void KeepRpcWorkersAlive(const std::vector<std::string>& workers);

// Returns those of the workers that accept no connection, waiting up to a second for each.
std::vector<std::string> LostRpcWorkers(const std::vector<std::string>& workers);

struct RpcServerOptions {
  RpcAddress address = {"127.0.0.1", 50052};
  bool beyond_loopback = false;
  std::vector<std::string> devices;  // ggml's names; empty: all GPUs, or the CPU if there is none
  int threads = 0;                   // 0: one per core
  std::string cache_folder;          // keeps large tensors for the next load; empty: none
  // Called once, on another thread, when the port is open, with the devices for people.
  std::function<void(const std::string& devices)> ready;
};

// Serves this machine's devices to one client at a time, until the process ends: the backend has no
// way to stop. Returns only with an error: kInvalidArgument for an address or a device,
// kUnsupported without the backend, kUnavailable if the port is in use. REQUIRES: InitLlamaBackend.
Status ServeDevices(const RpcServerOptions& options);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_BACKEND_RPC_BACKEND_H_
