// RpcAddress: the address of a worker, a program that computes layers for other machines by ggml's
// RPC backend.
//
// The protocol has neither keys nor encryption: whoever reaches a worker can make it allocate and
// read memory, and whoever is between it and its client can read and change prompts and answers. So
// an address beyond this machine is used only if the caller allows it.
//
// Threads: any.

#ifndef CAIRN_ENGINE_LLAMA_BACKEND_RPC_ADDRESS_H_
#define CAIRN_ENGINE_LLAMA_BACKEND_RPC_ADDRESS_H_

#include <string>

#include "base/result.h"

namespace cairn {

struct RpcAddress {
  std::string host;  // a name, or an IPv4 address: ggml's backend has no IPv6
  int port = 0;

  std::string Text() const { return host + ":" + std::to_string(port); }
};

// Parses HOST:PORT. kInvalidArgument if it has another form.
Result<RpcAddress> ParseRpcAddress(const std::string& text);

// Returns the IPv4 address of the host, as numbers. kInvalidArgument if the host is unknown or, not
// `beyond_loopback`, if an address of its is not loopback. A name may take seconds to resolve.
Result<std::string> ResolveRpcHost(const RpcAddress& address, bool beyond_loopback);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_BACKEND_RPC_ADDRESS_H_
