// Front: chooses a server for each request, as the programs in front of a fleet do.
//
//   hash         a ring of hashes of the servers; the conversation's hash names the next one. A
//   server
//                with too many requests is passed over (HAProxy's `balance hash` with
//                `hash-type consistent` and `hash-balance-factor`)
//   prefix       the server with the best score: twice the share of the prompt that it need not
//                prefill, and once how short its queue is (llm-d's endpoint picker with
//                prefix-cache-scorer: 2 and queue-scorer: 1)
//   random       any
//   round-robin  one after the other
//
// Threads: one.

#ifndef CAIRN_LAB_FLEET_FRONT_H_
#define CAIRN_LAB_FLEET_FRONT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cairn {

struct FrontOptions {
  // hash: no server gets more than so many times the mean of requests in flight; 0: no limit.
  double balance_factor = 3;
  // hash: points of each server on the ring, as HAProxy has them for `weight 1`.
  size_t ring_points = 16;
  uint64_t seed = 1;  // of random, and of the ring
};

struct FrontAsk {
  uint64_t conversation = 0;
  size_t prompt_tokens = 0;
  // How much of the prompt a server need not prefill, and how many requests it has.
  std::function<size_t(size_t server)> reach;
  std::function<size_t(size_t server)> waiting;    // not begun yet
  std::function<size_t(size_t server)> in_flight;  // not ended yet
};

class Front {
 public:
  virtual ~Front() = default;
  // REQUIRES: a server is left.
  virtual size_t Choose(const FrontAsk& ask) = 0;
  // The server is not chosen any more.
  virtual void Remove(size_t server) = 0;
};

// HashRing: servers by the hashes of their points.
class HashRing {
 public:
  HashRing(size_t servers, size_t points, uint64_t seed);

  void Remove(size_t server);
  // Returns the first server at or behind `hash` that `accepts`; the very first if none does.
  // REQUIRES: a server is left.
  size_t Find(uint64_t hash, const std::function<bool(size_t server)>& accepts) const;

 private:
  std::vector<std::pair<uint64_t, size_t>> points_;  // sorted
};

// Returns a hash of a conversation's key, to find it on rings.
uint64_t RingHash(uint64_t conversation, uint64_t seed);

// kInvalidArgument: no such front; the message lists the known ones.
Result<std::unique_ptr<Front>> MakeFront(std::string_view name, const FrontOptions& options,
                                         size_t servers);

}  // namespace cairn

#endif  // CAIRN_LAB_FLEET_FRONT_H_
