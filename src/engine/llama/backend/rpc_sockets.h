// KeepRpcSocketsAlive: makes the system notice that the other side of an RPC connection is gone.
//
// ggml's backend waits for an answer without a limit, and its sockets are its own. A machine that
// loses its power or its network says nothing, so a server would hang for ever, and a worker would
// wait for a dead server and refuse the next one. With TCP keepalive the connection fails after
// some 25 seconds: the worker accepts the next server, the server ends (llama_abort.h).
//
// Threads: any. The sockets are found among the descriptors of the process.

#ifndef CAIRN_ENGINE_LLAMA_BACKEND_RPC_SOCKETS_H_
#define CAIRN_ENGINE_LLAMA_BACKEND_RPC_SOCKETS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace cairn {

struct RpcPeer {
  std::string ip;  // IPv4
  int port = 0;
};

// Sets keepalive on all connections of this process to `peers`. Returns how many there are.
size_t KeepConnectionsAlive(const std::vector<RpcPeer>& peers);

// Sets keepalive on the socket of this process that listens on that IPv4 port; the connections that
// it accepts inherit it. Returns false if there is no such socket.
bool KeepAcceptedAlive(int port);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_BACKEND_RPC_SOCKETS_H_
