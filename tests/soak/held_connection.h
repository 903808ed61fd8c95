// HeldConnection: a connection to a local server that behaves as no HTTP client would: it sends
// halves of requests and stays open.

#ifndef CAIRN_TESTS_SOAK_HELD_CONNECTION_H_
#define CAIRN_TESTS_SOAK_HELD_CONNECTION_H_

#include <string>

namespace cairn::soak {

// One thread.
class HeldConnection {
 public:
  // `url`: "http://127.0.0.1:PORT".
  explicit HeldConnection(const std::string& url);
  ~HeldConnection();
  HeldConnection(HeldConnection&& other) noexcept;
  HeldConnection& operator=(HeldConnection&&) = delete;
  HeldConnection(const HeldConnection&) = delete;
  HeldConnection& operator=(const HeldConnection&) = delete;

  // Returns false if the connection is broken.
  bool Write(const std::string& bytes);
  // Waits at most five seconds for bytes. Returns an empty text without any, or if it is broken.
  std::string Read();

 private:
  int socket_ = -1;
};

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_HELD_CONNECTION_H_
