// HeldConnection: a connection to a server on this machine that does what no HTTP client would:
// sends halves of requests, and stays open.

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

  // False: it is broken.
  bool Write(const std::string& bytes);
  // Waits for what comes, at most five seconds; empty: nothing, or it is broken.
  std::string Read();

 private:
  int socket_ = -1;
};

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_HELD_CONNECTION_H_
