#include "soak/held_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace cairn::soak {

HeldConnection::HeldConnection(const std::string& url)
    : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (socket_ < 0) return;
  timeval timeout = {};
  timeout.tv_sec = 5;
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port =
      htons(static_cast<uint16_t>(std::atoi(url.substr(url.rfind(':') + 1).c_str())));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return;
  close(std::exchange(socket_, -1));
}

HeldConnection::~HeldConnection() {
  if (socket_ >= 0) close(socket_);
}

HeldConnection::HeldConnection(HeldConnection&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)) {}

bool HeldConnection::Write(const std::string& bytes) {
  const ssize_t sent = socket_ < 0 ? -1 : send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(bytes.size());
}

std::string HeldConnection::Read() {
  std::string bytes(4096, '\0');
  const ssize_t got = socket_ < 0 ? -1 : recv(socket_, bytes.data(), bytes.size(), 0);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

}  // namespace cairn::soak
