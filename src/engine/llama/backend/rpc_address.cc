#include "engine/llama/backend/rpc_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <memory>

#include "base/net/loopback.h"

namespace cairn {
namespace {

constexpr int kPortMax = 65535;

Status BadAddress(const std::string& text, const std::string& why) {
  return Fail(ErrorCode::kInvalidArgument,
              "'" + text + "' is no address of an RPC worker: " + why +
                  "; expected HOST:PORT with a name or an IPv4 address, such as 127.0.0.1:50052");
}

}  // namespace

Result<RpcAddress> ParseRpcAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return tl::unexpected(BadAddress(text, "it has no port").error());
  RpcAddress address;
  address.host = text.substr(0, colon);
  if (address.host.empty()) return tl::unexpected(BadAddress(text, "it has no host").error());
  if (address.host.find(':') != std::string::npos) {
    return tl::unexpected(BadAddress(text, "ggml's RPC backend has no IPv6").error());
  }
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, address.port);
  if (parsed.ec != std::errc() || parsed.ptr != end || address.port < 1 ||
      address.port > kPortMax) {
    return tl::unexpected(BadAddress(text, "its port is not a number from 1 to 65535").error());
  }
  return address;
}

Result<std::string> ResolveRpcHost(const RpcAddress& address, bool beyond_loopback) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(address.host.c_str(), nullptr, &hints, &found);
  if (failed != 0 || found == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                "the RPC worker's host '" + address.host + "' has no IPv4 address (" +
                    gai_strerror(failed) + "); give a name that this machine knows, or an address");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> infos(found, freeaddrinfo);
  for (const addrinfo* info = found; info != nullptr && !beyond_loopback; info = info->ai_next) {
    if (IsLoopback(info->ai_addr)) continue;
    return Fail(ErrorCode::kInvalidArgument,
                address.Text() +
                    " is beyond this machine, and RPC has neither keys nor encryption: everyone on "
                    "the network could read and change what is computed; give --rpc-insecure if "
                    "all machines on that network are yours, or use 127.0.0.1 with a tunnel");
  }
  std::array<char, INET_ADDRSTRLEN> text{};
  const auto* const v4 = reinterpret_cast<const sockaddr_in*>(found->ai_addr);
  inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
  return std::string(text.data());
}

}  // namespace cairn
