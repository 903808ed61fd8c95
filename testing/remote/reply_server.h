// For tests: ReplyServer, a server on loopback that answers whatever the test says.

#ifndef CAIRN_TESTING_REMOTE_REPLY_SERVER_H_
#define CAIRN_TESTING_REMOTE_REPLY_SERVER_H_

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace cairn::test {

class ReplyServer {
 public:
  // `answer` returns what is sent for the bytes received, on the server's thread. One connection is
  // served at a time.
  explicit ReplyServer(std::function<std::string(std::string_view received)> answer)
      : answer_(std::move(answer)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const general = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, general, size) == 0 && listen(listener_, 8) == 0 &&
        getsockname(listener_, general, &size) == 0) {
      port_ = ntohs(address.sin_port);
    }
    thread_ = std::thread([this] { Serve(); });
  }
  ~ReplyServer() {
    stopped_ = true;
    thread_.join();
    close(listener_);
  }
  ReplyServer(const ReplyServer&) = delete;
  ReplyServer& operator=(const ReplyServer&) = delete;

  uint16_t port() const { return port_; }

 private:
  // Returns false when the server stops.
  bool WaitFor(int descriptor, short events) const {
    constexpr int kLookMs = 20;
    pollfd ready = {descriptor, events, 0};
    while (!stopped_) {
      if (poll(&ready, 1, kLookMs) > 0) return true;
    }
    return false;
  }
  void Serve() {
    while (WaitFor(listener_, POLLIN)) {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection < 0) continue;
      while (Answer(connection)) {
      }
      close(connection);
    }
  }
  bool Answer(int connection) const {
    std::array<char, 65536> buffer;
    if (!WaitFor(connection, POLLIN)) return false;
    const ssize_t received = recv(connection, buffer.data(), buffer.size(), 0);
    if (received <= 0) return false;
    const std::string reply = answer_({buffer.data(), static_cast<size_t>(received)});
    for (size_t sent = 0; sent < reply.size();) {
      if (!WaitFor(connection, POLLOUT)) return false;
      const ssize_t n =
          send(connection, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n <= 0) return false;
      sent += static_cast<size_t>(n);
    }
    return true;
  }

  const std::function<std::string(std::string_view)> answer_;
  const int listener_;
  uint16_t port_ = 0;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_REMOTE_REPLY_SERVER_H_
