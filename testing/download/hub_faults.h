// HubFaults: changes answers of a PlayedHub in the ways in which networks, proxies and servers do,
// at random from a seed.

#ifndef CAIRN_TESTING_DOWNLOAD_HUB_FAULTS_H_
#define CAIRN_TESTING_DOWNLOAD_HUB_FAULTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>

#include "testing/download/played_hub.h"

namespace cairn {

class HubFaults {
 public:
  static constexpr size_t kKinds = 14;

  // Faults from now on depend on the seed, and hit that share of all answers.
  void Begin(uint64_t seed, double share) {
    random_.seed(seed);
    share_ = share;
  }
  // A number below `bound`.
  size_t Below(size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(random_);
  }

  void MayInject(HubAnswer* answer) {
    if (std::uniform_real_distribution<double>(0, 1)(random_) >= share_) return;
    const size_t kind = Below(kKinds);
    ++injected_[kind];
    Inject(kind, answer);
  }

  // How many of each kind there were so far.
  const std::array<size_t, kKinds>& injected() const { return injected_; }
  size_t total() const { return std::accumulate(injected_.begin(), injected_.end(), size_t{0}); }

 private:
  void Inject(size_t kind, HubAnswer* answer) {
    constexpr std::array<int, 6> kBusy = {500, 502, 503, 504, 429, 408};
    std::string& body = answer->body;
    switch (kind) {
      case 0:
        answer->refuses = true;
        break;
      case 1:
        answer->sent_max = Below(body.size() + 1);
        break;
      case 2:
        *answer = {};
        answer->status = kBusy[Below(kBusy.size())];
        break;
      case 3:
        if (!body.empty()) body[Below(body.size())] ^= 1;
        break;
      case 4:
        answer->Set("Content-Length", std::to_string(Below(2 * body.size() + 2)));
        break;
      case 5:
        answer->Set("ETag", "\"other\"");
        break;
      case 6:  // a part as if it were the whole
        if (answer->status == 206) answer->status = 200;
        break;
      case 7:
        answer->Set("Content-Range",
                    "bytes " + std::to_string(Below(9000)) + "-/" + std::to_string(Below(30'000)));
        answer->status = 206;
        break;
      case 8:
        answer->status = 416;
        break;
      case 9:
        body += std::string(1 + Below(3000), 'x');
        break;
      case 10:
        *answer = {};
        answer->body = "<!doctype html><title>Log in to this network</title>";
        break;
      case 11:
        answer->Set("Content-Encoding", "gzip");
        break;
      case 12:
        answer->Set("Location", "/nowhere");
        answer->status = 302;
        break;
      default:  // with a right length for it
        body = body.substr(body.size() / 2);
        break;
    }
  }

  std::mt19937_64 random_;
  double share_ = 0;
  std::array<size_t, kKinds> injected_{};
};

}  // namespace cairn

#endif  // CAIRN_TESTING_DOWNLOAD_HUB_FAULTS_H_
