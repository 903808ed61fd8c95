#include "engine/llama/backend/rpc_sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <system_error>

namespace cairn {
namespace {

constexpr int kIdleS = 10;
constexpr int kProbeIntervalS = 5;
constexpr int kProbes = 3;
constexpr unsigned kUnacknowledgedMsMax = 25'000;

void SetKeepalive(int fd) {
  const auto set = [fd](int level, int name, auto value) {
    setsockopt(fd, level, name, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleS);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeIntervalS);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  // Keepalive does not probe while bytes wait for an acknowledgement.
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMsMax);
}

void ForEachDescriptor(const std::function<void(int fd)>& visit) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename().string();
    int fd = -1;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), fd);
    if (parsed.ec == std::errc()) visit(fd);
  }
}

bool IsPeer(const sockaddr_in& address, const RpcPeer& peer) {
  in_addr ip{};
  return ntohs(address.sin_port) == peer.port && inet_pton(AF_INET, peer.ip.c_str(), &ip) == 1 &&
         ip.s_addr == address.sin_addr.s_addr;
}

}  // namespace

size_t KeepConnectionsAlive(const std::vector<RpcPeer>& peers) {
  size_t kept = 0;
  ForEachDescriptor([&](int fd) {
    sockaddr_in address{};
    socklen_t size = sizeof(address);
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return;
    if (address.sin_family != AF_INET) return;
    const auto is_it = [&](const RpcPeer& peer) { return IsPeer(address, peer); };
    if (std::none_of(peers.begin(), peers.end(), is_it)) return;
    SetKeepalive(fd);
    ++kept;
  });
  return kept;
}

bool KeepAcceptedAlive(int port) {
  bool found = false;
  ForEachDescriptor([&](int fd) {
    int listens = 0;
    socklen_t size = sizeof(listens);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) return;
    sockaddr_in address{};
    size = sizeof(address);
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return;
    if (address.sin_family != AF_INET || ntohs(address.sin_port) != port) return;
    SetKeepalive(fd);
    found = true;
  });
  return found;
}

}  // namespace cairn
