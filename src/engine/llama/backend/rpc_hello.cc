#include "engine/llama/backend/rpc_hello.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ggml-rpc.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>

namespace cairn {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr uint8_t kHello = 0x0e;
constexpr uint8_t kTransportBytes = 24;
constexpr uint64_t kAnswerBytesMax = 4096;

// A connection whose every step has a deadline.
class Line {
 public:
  explicit Line(int timeout_ms)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), timeout_(timeout_ms) {}
  ~Line() {
    if (fd_ >= 0) close(fd_);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  // These return 0, or the error number: ETIMEDOUT after the timeout, ECONNRESET at the end.
  int Connect(const std::string& ip, int port) {
    if (fd_ < 0) return EMFILE;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    if (inet_pton(AF_INET, ip.c_str(), &address.sin_addr) != 1) return EINVAL;
    if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    if (const int error = Await(POLLOUT, steady_clock::now() + timeout_); error != 0) return error;
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
  }

  int Send(std::span<const uint8_t> bytes) {
    const auto deadline = steady_clock::now() + timeout_;
    while (!bytes.empty()) {
      if (const int error = Await(POLLOUT, deadline); error != 0) return error;
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return sent < 0 ? errno : ECONNRESET;
      bytes = bytes.subspan(static_cast<size_t>(sent));
    }
    return 0;
  }

  int Receive(std::span<uint8_t> bytes) {
    const auto deadline = steady_clock::now() + timeout_;
    while (!bytes.empty()) {
      if (const int error = Await(POLLIN, deadline); error != 0) return error;
      const ssize_t received = recv(fd_, bytes.data(), bytes.size(), 0);
      if (received <= 0) return received < 0 ? errno : ECONNRESET;
      bytes = bytes.subspan(static_cast<size_t>(received));
    }
    return 0;
  }

 private:
  int Await(short events, steady_clock::time_point deadline) const {
    while (true) {
      const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
      pollfd ready = {fd_, events, 0};
      const int count = poll(&ready, 1, static_cast<int>(std::max<int64_t>(left, 0)));
      if (count > 0) return 0;
      if (count == 0) return ETIMEDOUT;
      if (errno != EINTR) return errno;
    }
  }

  const int fd_;
  const milliseconds timeout_;
};

Status Unusable(const RpcAddress& address, const std::string& why, const std::string& advice) {
  return Fail(ErrorCode::kUnavailable,
              "the RPC worker " + address.Text() + " " + why + "; " + advice);
}

Status CheckVersion(const RpcAddress& address, const std::array<uint8_t, 3>& version) {
  if (version[0] == RPC_PROTO_MAJOR_VERSION && version[1] <= RPC_PROTO_MINOR_VERSION) return {};
  return Unusable(
      address,
      "speaks version " + std::to_string(version[0]) + "." + std::to_string(version[1]) + "." +
          std::to_string(version[2]) + " of ggml's RPC protocol, and this program " +
          std::to_string(RPC_PROTO_MAJOR_VERSION) + "." + std::to_string(RPC_PROTO_MINOR_VERSION),
      "install the same version of ggml on both machines");
}

}  // namespace

Status GreetRpcWorker(const RpcAddress& address, const std::string& ip, int timeout_ms) {
  Line line(timeout_ms);
  if (const int error = line.Connect(ip, address.port); error != 0) {
    return Unusable(address, std::string("cannot be reached: ") + std::strerror(error),
                    "start `cairn rpc-server --port " + std::to_string(address.port) +
                        "` on that machine, and check --rpc");
  }
  std::array<uint8_t, 1 + 8 + kTransportBytes> hello{};
  hello[0] = kHello;
  hello[1] = kTransportBytes;
  std::array<uint8_t, 8> size{};
  int error = line.Send(hello);
  if (error == 0) error = line.Receive(size);
  if (error == ETIMEDOUT) {
    return Unusable(address, "accepts connections and does not answer",
                    "a worker serves one server at a time: end the other one, or start another "
                    "worker");
  }
  uint64_t bytes = 0;
  for (size_t i = size.size(); i > 0; --i) bytes = bytes << 8U | size[i - 1];
  std::array<uint8_t, 3> version{};
  if (error == 0 && bytes >= version.size() && bytes <= kAnswerBytesMax) {
    error = line.Receive(version);
    if (error == 0) return CheckVersion(address, version);
  }
  return Unusable(address, "does not answer as one",
                  "check that --rpc names the port of `cairn rpc-server`");
}

bool AcceptsConnections(const RpcAddress& address, const std::string& ip, int timeout_ms) {
  return Line(timeout_ms).Connect(ip, address.port) == 0;
}

}  // namespace cairn
