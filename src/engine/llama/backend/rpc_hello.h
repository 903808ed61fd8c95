// GreetRpcWorker: asks a worker for its version before ggml's RPC backend connects, because that
// backend ends the process where a worker cannot be used.
//
//   request   0x0e, 64-bit size 24, 24 bytes: the client's transports (0: TCP alone)
//   answer    64-bit size, then one byte each: major, minor and patch version, …
//
// Numbers are little-endian. All later messages are the backend's.
//
// Threads: any.

#ifndef CAIRN_ENGINE_LLAMA_BACKEND_RPC_HELLO_H_
#define CAIRN_ENGINE_LLAMA_BACKEND_RPC_HELLO_H_

#include <string>

#include "base/result.h"
#include "engine/llama/backend/rpc_address.h"

namespace cairn {

// Connects to `ip`, the IPv4 address of the worker's host, and waits up to `timeout_ms` for each
// step. kUnavailable if nobody listens there, if the worker does not answer (it serves one client
// at a time), if it speaks another protocol, or another version of it. The message says what to do.
Status GreetRpcWorker(const RpcAddress& address, const std::string& ip, int timeout_ms);

// Returns whether somebody accepts connections there, within `timeout_ms`.
bool AcceptsConnections(const RpcAddress& address, const std::string& ip, int timeout_ms);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_BACKEND_RPC_HELLO_H_
