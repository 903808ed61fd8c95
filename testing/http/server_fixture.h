// For the tests of the HTTP server: a server on a free port and a client with a raw socket, which
// can send what no well-behaved client sends. With CAIRN_TEST_TLS both use TLS, so that the same
// tests run under it.

#ifndef CAIRN_TESTING_HTTP_SERVER_FIXTURE_H_
#define CAIRN_TESTING_HTTP_SERVER_FIXTURE_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "http/server.h"
#ifdef CAIRN_TEST_TLS
#include "testing/http/tls_client.h"
#endif

namespace cairn {

// Timeout for waits that should succeed; long enough for a busy machine.
constexpr int kPatienceMs = 20'000;

// Returns whether `condition` becomes true in time.
inline bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class PlainClient {
 public:
  explicit PlainClient(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~PlainClient() { Close(); }
  PlainClient(const PlainClient&) = delete;
  PlainClient& operator=(const PlainClient&) = delete;

  bool connected() const { return connected_; }

  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  // Returns false if the server accepts no more bytes.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
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

 private:
  bool ReadSome() {
    pollfd poll_fd = {fd_, POLLIN, 0};
    if (poll(&poll_fd, 1, kPatienceMs) <= 0) return false;
    char buffer[4096];
    const ssize_t n = recv(fd_, buffer, sizeof(buffer), 0);
    if (n > 0) received_.append(buffer, static_cast<size_t>(n));
    if (n <= 0) ended_ = true;
    return n > 0;
  }

  int fd_;
  bool connected_ = false;
  bool ended_ = false;
  std::string received_;
};

#ifdef CAIRN_TEST_TLS
using RawClient = test::TlsClient;
#else
using RawClient = PlainClient;
#endif

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    options_.port = 0;
#ifdef CAIRN_TEST_TLS
    options_.certificate = test::AnyCertificate();
#endif
    options_.error_body = [](int status, std::string_view message, std::string_view) {
      return "{" + std::to_string(status) + ": " + std::string(message) + "}";
    };
    options_.log = [this](LogLevel, std::string_view line) {
      const std::lock_guard<std::mutex> lock(log_mutex_);
      log_.emplace_back(line);
    };
  }
  // Not in the destructor: handlers may use members of derived fixtures.
  void TearDown() override { StopServer(); }

  // Makes the server from `options_`; add handlers, then call StartServer().
  HttpServer& MakeServer() {
    server_ = std::make_unique<HttpServer>(options_);
    return *server_;
  }

  void StartServer() {
    const Status bound = server_->Bind();
    ASSERT_TRUE(bound) << bound.error().message;
    thread_ = std::thread([this] { server_->Serve(); });
  }

  void StopServer() {
    if (!thread_.joinable()) return;
    server_->Stop();
    thread_.join();
  }

  // Sends `request` on a new connection and returns everything received.
  std::string Ask(std::string_view request) {
    RawClient client(server_->port());
    client.Send(request);
    return client.ReadAll();
  }

  // As Ask(), with a request line and headers that end the connection after the answer.
  std::string AskFor(const std::string& method, const std::string& target,
                     const std::string& headers = "", const std::string& body = "") {
    std::string request =
        method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    if (!body.empty()) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    return Ask(request + headers + "\r\n" + body);
  }

  std::vector<std::string> Log() {
    const std::lock_guard<std::mutex> lock(log_mutex_);
    return log_;
  }

  HttpServerOptions options_;
  std::unique_ptr<HttpServer> server_;

 private:
  std::thread thread_;
  std::mutex log_mutex_;
  std::vector<std::string> log_;
};

inline int StatusOf(std::string_view answer) {
  if (!answer.starts_with("HTTP/1.1 ") || answer.size() < 12) return 0;
  return (answer[9] - '0') * 100 + (answer[10] - '0') * 10 + (answer[11] - '0');
}

inline std::string BodyOf(const std::string& answer) {
  const size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

inline HttpResponse Text(std::string body) {
  HttpResponse response;
  response.content_type = "text/plain";
  response.body = std::move(body);
  return response;
}

}  // namespace cairn

#endif  // CAIRN_TESTING_HTTP_SERVER_FIXTURE_H_
