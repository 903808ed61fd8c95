// For tests: a TCP connection to a server of this machine. What is sent on it, and in which pieces,
// is left to the test.

#ifndef CAIRN_TESTING_HTTP_TEST_CONNECTION_H_
#define CAIRN_TESTING_HTTP_TEST_CONNECTION_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace cairn::test {

// Timeout for waits that should succeed; long enough for a busy machine.
constexpr int kPatienceMs = 20'000;

class TestConnection {
 public:
  explicit TestConnection(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  virtual ~TestConnection() { Close(); }
  TestConnection(const TestConnection&) = delete;
  TestConnection& operator=(const TestConnection&) = delete;

  bool connected() const { return connected_; }

  // Closes the socket, and says nothing before.
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  // Returns false if the server accepts no more bytes.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = Write(bytes);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }

  // Reads until the received bytes contain `text`; returns false if the connection ends before.
  bool ReadUntil(std::string_view text) {
    while (received_.find(text) == std::string::npos) {
      if (!ReadSome()) return false;
    }
    return true;
  }

  // Reads to the end of the connection and returns all received bytes.
  const std::string& ReadAll() {
    while (ReadSome()) {
    }
    return received_;
  }

  // Reads everything and returns whether the server has closed the connection.
  bool AtEnd() {
    while (ReadSome()) {
    }
    return ended_;
  }

  const std::string& received() const { return received_; }
  void Forget() { received_.clear(); }

 protected:
  int fd() const { return fd_; }

  // Both return the number of bytes; 0 or less: there are no more.
  virtual ssize_t Write(std::string_view bytes) = 0;
  virtual ssize_t Read(char* buffer, size_t bytes_max) = 0;
  // Whether the next Read() finds bytes only when the socket has some.
  virtual bool WaitsForSocket() const = 0;

 private:
  bool ReadSome() {
    pollfd poll_fd = {fd_, POLLIN, 0};
    if (WaitsForSocket() && poll(&poll_fd, 1, kPatienceMs) <= 0) return false;
    char buffer[4096];
    const ssize_t n = Read(buffer, sizeof(buffer));
    if (n > 0) received_.append(buffer, static_cast<size_t>(n));
    if (n <= 0) ended_ = true;
    return n > 0;
  }

  int fd_;
  bool connected_ = false;
  bool ended_ = false;
  std::string received_;
};

// A connection without TLS.
class PlainConnection final : public TestConnection {
 public:
  using TestConnection::TestConnection;

 protected:
  ssize_t Write(std::string_view bytes) override {
    return send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  ssize_t Read(char* buffer, size_t bytes_max) override { return recv(fd(), buffer, bytes_max, 0); }
  bool WaitsForSocket() const override { return true; }
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_HTTP_TEST_CONNECTION_H_
