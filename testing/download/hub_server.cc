#include "testing/download/hub_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

constexpr size_t kPieceBytes = 16 << 10U;

// Receives up to the empty line behind the headers.
std::optional<std::string> ReceiveHead(int connection) {
  std::string head;
  std::array<char, 4096> buffer{};
  while (head.find("\r\n\r\n") == std::string::npos) {
    const ssize_t size = recv(connection, buffer.data(), buffer.size(), 0);
    if (size <= 0) return std::nullopt;
    head.append(buffer.data(), static_cast<size_t>(size));
  }
  return head;
}

HubAsked ParseHead(const std::string& head, const std::string& origin) {
  HubAsked asked;
  asked.origin = origin;
  const size_t method_end = head.find(' ');
  asked.method = head.substr(0, method_end);
  const size_t target_end = head.find(' ', method_end + 1);
  asked.target = head.substr(method_end + 1, target_end - method_end - 1);
  size_t line = head.find("\r\n") + 2;
  for (size_t end = head.find("\r\n", line); end > line; end = head.find("\r\n", line)) {
    const std::string text = head.substr(line, end - line);
    const size_t colon = text.find(": ");
    if (colon != std::string::npos)
      asked.headers.emplace_back(text.substr(0, colon), text.substr(colon + 2));
    line = end + 2;
  }
  return asked;
}

bool SendAll(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

}  // namespace

HubServer::HubServer(PlayedHub* hub) : hub_(hub) {
  for (size_t i = 0; i < sockets_.size(); ++i) {
    sockets_[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    socklen_t size = sizeof(place);
    CHECK(bind(sockets_[i], address, size) == 0 && listen(sockets_[i], 64) == 0);
    CHECK(getsockname(sockets_[i], address, &size) == 0);
    // Not by its number: ServerProcess takes the first such address of a log for its server's.
    origins_[i] = "http://localhost:" + std::to_string(ntohs(place.sin_port));
  }
  hub_->SetOrigins(origins_[0], origins_[1]);
  for (size_t i = 0; i < sockets_.size(); ++i)
    accepting_[i] = std::thread([this, i] { Accept(i); });
}

HubServer::~HubServer() {
  ending_ = true;
  for (const int listening : sockets_) shutdown(listening, SHUT_RDWR);
  for (std::thread& thread : accepting_) thread.join();
  for (const int listening : sockets_) close(listening);
  std::vector<std::thread> serving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const int connection : open_) shutdown(connection, SHUT_RDWR);
    serving.swap(serving_);
  }
  for (std::thread& thread : serving) thread.join();
}

void HubServer::Accept(size_t which) {
  while (!ending_) {
    const int connection = accept4(sockets_[which], nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.push_back(connection);
    serving_.emplace_back([this, connection, which] { Serve(connection, origins_[which]); });
  }
}

// One request for each connection.
void HubServer::Serve(int connection, const std::string& origin) {
  if (const auto head = ReceiveHead(connection)) {
    const HubAsked asked = ParseHead(*head, origin);
    Send(connection, asked, hub_->Answer(asked));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase(open_, connection);
  close(connection);
}

void HubServer::Send(int connection, const HubAsked& asked, const HubAnswer& answer) {
  if (answer.refuses) return;
  std::string head = "HTTP/1.1 " + std::to_string(answer.status) + " Played\r\n";
  for (const auto& [name, value] : answer.headers) head += name + ": " + value + "\r\n";
  if (!SendAll(connection, head + "Connection: close\r\n\r\n") || asked.method == "HEAD") return;
  const std::string_view body =
      std::string_view(answer.body).substr(0, std::min(answer.sent_max, answer.body.size()));
  for (size_t at = 0; at < body.size() && !ending_; at += kPieceBytes) {
    if (answer.pause_ms > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(answer.pause_ms));
    if (!SendAll(connection, body.substr(at, kPieceBytes))) return;
  }
}

}  // namespace cairn
