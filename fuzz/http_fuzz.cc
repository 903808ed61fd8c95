// Bytes sent to the HTTP server over a real socket: it answers in HTTP or closes, nothing is
// thrown, no response is a 500, and handlers see only what their route and the limits allow.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <thread>

#include "base/check.h"
#include "fuzz/input.h"
#include "http/keys.h"
#include "http/server.h"

namespace cairn {
namespace {

constexpr size_t kBodyBytesMax = 2000;
// Many short waits, because a single one may expire while the machine is suspended.
constexpr int kWaitMs = 100;
constexpr int kWaitsMax = 200;

HttpResponse Echo(const HttpRequest& request) {
  CHECK(request.body.size() <= kBodyBytesMax);
  CHECK(request.method == "POST" || request.method == "GET" || request.method == "HEAD");
  CHECK(request.path.starts_with('/'));
  CHECK(request.captures.size() <= 1);
  for (const auto& [name, value] : request.captures) CHECK(name == "id" && !value.empty());
  HttpResponse response;
  response.body = request.body;
  for (const auto& [name, value] : request.headers)
    response.headers.emplace_back("x-" + name, value);
  for (const auto& [name, value] : request.params) response.headers.emplace_back(name, value);
  return response;
}

HttpResponse Stream(const HttpRequest& request) {
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.stream.next = [left = 3, text = request.body](std::string* chunk) mutable {
    *chunk = text;
    return --left > 0;
  };
  return response;
}

// Runs until the program ends.
class Servers {
 public:
  explicit Servers(const std::vector<std::string>& keys) : server_(Options(keys)) {
    server_.Handle("POST", "/echo", Echo);
    server_.Handle("GET", "/echo/:id", Echo);
    server_.Handle("POST", "/stream", Stream);
    server_.Handle("GET", "/health", Echo, HttpAccess::kPublic);
    CHECK(server_.Bind().has_value());
    std::thread([this] { server_.Serve(); }).detach();
  }
  int port() const { return server_.port(); }

 private:
  static HttpServerOptions Options(const std::vector<std::string>& keys) {
    HttpServerOptions options;
    options.port = 0;
    options.keys = *ApiKeys::Make(keys);
    options.body_bytes_max = kBodyBytesMax;
    options.error_body = [](int status, std::string_view message, std::string_view) {
      CHECK(status >= 400 && status < 600 && status != 500);
      return std::string(message);
    };
    options.log = [](LogLevel level, std::string_view) { CHECK(level != LogLevel::kError); };
    return options;
  }

  HttpServer server_;
};

class Socket {
 public:
  explicit Socket(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // Each connection has another loopback address: thousands of connections a second would use
    // up the ports of one address.
    static uint32_t connections = 0;
    const sockaddr_in from = AddressOf(INADDR_LOOPBACK + ++connections % 0xFFFFF0U, 0);
    CHECK(bind(fd_, reinterpret_cast<const sockaddr*>(&from), sizeof(from)) == 0);
    const sockaddr_in to = AddressOf(INADDR_LOOPBACK, port);
    CHECK(connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0 || Connects());
  }
  ~Socket() { close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void Send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;  // refused in the middle
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }
  void EndSending() const { shutdown(fd_, SHUT_WR); }
  std::string ReadAll() const {
    std::string received;
    for (;;) {
      pollfd waited = {fd_, POLLIN, 0};
      int waits = 0;
      while (poll(&waited, 1, kWaitMs) <= 0) CHECK(++waits < kWaitsMax);
      char buffer[4096];
      const ssize_t n = recv(fd_, buffer, sizeof(buffer), 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return received;
      received.append(buffer, static_cast<size_t>(n));
    }
  }

 private:
  // libFuzzer's timer signal may interrupt connect() while the server's accept queue is full; the
  // connection is made all the same.
  bool Connects() const {
    if (errno != EINTR) return false;
    pollfd made = {fd_, POLLOUT, 0};
    for (int waits = 0; poll(&made, 1, kWaitMs) <= 0;) CHECK(++waits < kWaitsMax);
    int error = 0;
    socklen_t size = sizeof(error);
    return getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }
  static sockaddr_in AddressOf(uint32_t host, int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(host);
    return address;
  }

  int fd_;
};

void CheckReceived(std::string_view received) {
  if (received.empty()) return;
  constexpr std::string_view kBegin = "HTTP/1.1 ";
  CHECK(received.starts_with(kBegin));
  const std::string_view status = received.substr(kBegin.size(), 3);
  CHECK(status.size() == 3 && status[0] >= '1' && status[0] <= '5' && status != "500");
  CHECK(received.find("\r\n\r\n") != std::string_view::npos);
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;  // NOLINT: the target begins here
  static const auto* const kOpen = new Servers({});
  static const auto* const kKeyed = new Servers({"k", "key%41"});
  fuzz::FuzzInput input(data, size);
  const uint8_t flags = input.Byte();
  const Socket client((flags & 1U) != 0 ? kKeyed->port() : kOpen->port());
  const std::string_view text = input.RestText();
  const size_t cut = (flags & 2U) != 0 ? text.size() / 2 : text.size();
  client.Send(text.substr(0, cut));
  client.Send(text.substr(cut));
  client.EndSending();
  CheckReceived(client.ReadAll());
  return 0;
}
