// HubServer: a PlayedHub behind two ports of this machine, one of the hub and one of its CDN. It
// sends what a PlayedHub answers, byte for byte, so that it can cut a connection or lie about a
// length.

#ifndef CAIRN_TESTING_DOWNLOAD_HUB_SERVER_H_
#define CAIRN_TESTING_DOWNLOAD_HUB_SERVER_H_

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "testing/download/played_hub.h"

namespace cairn {

class HubServer {
 public:
  // Listens, and tells `hub` its origins. `hub` outlives this.
  explicit HubServer(PlayedHub* hub);
  ~HubServer();
  HubServer(const HubServer&) = delete;
  HubServer& operator=(const HubServer&) = delete;

  // "http://127.0.0.1:PORT"
  const std::string& hub_origin() const { return origins_[0]; }
  const std::string& cdn_origin() const { return origins_[1]; }

 private:
  void Accept(size_t which);
  void Serve(int connection, const std::string& origin);
  void Send(int connection, const HubAsked& asked, const HubAnswer& answer);

  PlayedHub* const hub_;
  std::array<int, 2> sockets_{-1, -1};
  std::array<std::string, 2> origins_;
  std::atomic<bool> ending_{false};
  std::array<std::thread, 2> accepting_;
  std::mutex mutex_;
  std::vector<int> open_;  // guarded by mutex_, as the next
  std::vector<std::thread> serving_;
};

}  // namespace cairn

#endif  // CAIRN_TESTING_DOWNLOAD_HUB_SERVER_H_
