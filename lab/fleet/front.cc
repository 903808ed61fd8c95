#include "lab/fleet/front.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "base/check.h"
#include "base/hash.h"

namespace cairn {
namespace {

constexpr double kPrefixWeight = 2;
constexpr double kQueueWeight = 1;

std::vector<size_t> AllServers(size_t count) {
  std::vector<size_t> servers(count);
  std::iota(servers.begin(), servers.end(), size_t{0});
  return servers;
}

class HashFront final : public Front {
 public:
  HashFront(const FrontOptions& options, size_t servers)
      : options_(options),
        servers_(AllServers(servers)),
        ring_(servers, options.ring_points, options.seed) {}

  size_t Choose(const FrontAsk& ask) override {
    size_t most = SIZE_MAX;
    if (options_.balance_factor > 0) {
      size_t in_flight = 1;
      for (const size_t server : servers_) in_flight += ask.in_flight(server);
      const double mean = static_cast<double>(in_flight) / static_cast<double>(servers_.size());
      most = static_cast<size_t>(std::ceil(mean * options_.balance_factor));
    }
    return ring_.Find(RingHash(ask.conversation, options_.seed), [&](size_t server) {
      return most == SIZE_MAX || ask.in_flight(server) < most;
    });
  }

  void Remove(size_t server) override {
    std::erase(servers_, server);
    ring_.Remove(server);
  }

 private:
  const FrontOptions options_;
  std::vector<size_t> servers_;
  HashRing ring_;
};

// Among equal scores the fewest requests in flight decide, and then a hash that differs by
// conversation.
class PrefixFront final : public Front {
 public:
  PrefixFront(const FrontOptions& options, size_t servers)
      : seed_(options.seed), servers_(AllServers(servers)) {}

  size_t Choose(const FrontAsk& ask) override {
    CHECK(!servers_.empty());
    size_t shortest = SIZE_MAX;
    size_t longest = 0;
    for (const size_t server : servers_) {
      const size_t waiting = ask.waiting(server);
      shortest = std::min(shortest, waiting);
      longest = std::max(longest, waiting);
    }
    Scored best;
    for (const size_t server : servers_) {
      Scored scored{server, 0, ask.in_flight(server),
                    HashMix(RingHash(ask.conversation, seed_), server)};
      const double queue = shortest == longest
                               ? 1.0
                               : static_cast<double>(longest - ask.waiting(server)) /
                                     static_cast<double>(longest - shortest);
      const double prefix = static_cast<double>(ask.reach(server)) /
                            static_cast<double>(std::max<size_t>(ask.prompt_tokens, 1));
      scored.score = kPrefixWeight * prefix + kQueueWeight * queue;
      if (best.server == SIZE_MAX || IsBetter(scored, best)) best = scored;
    }
    return best.server;
  }

  void Remove(size_t server) override { std::erase(servers_, server); }

 private:
  struct Scored {
    size_t server = SIZE_MAX;
    double score = 0;
    size_t in_flight = 0;
    uint64_t hash = 0;
  };

  static bool IsBetter(const Scored& a, const Scored& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.in_flight != b.in_flight) return a.in_flight < b.in_flight;
    return a.hash < b.hash;
  }

  const uint64_t seed_;
  std::vector<size_t> servers_;
};

class RandomFront final : public Front {
 public:
  RandomFront(const FrontOptions& options, size_t servers)
      : random_(options.seed), servers_(AllServers(servers)) {}

  size_t Choose(const FrontAsk& /*ask*/) override { return servers_[random_() % servers_.size()]; }
  void Remove(size_t server) override { std::erase(servers_, server); }

 private:
  std::mt19937_64 random_;
  std::vector<size_t> servers_;
};

class RoundRobinFront final : public Front {
 public:
  explicit RoundRobinFront(size_t servers) : servers_(AllServers(servers)) {}

  size_t Choose(const FrontAsk& /*ask*/) override { return servers_[next_++ % servers_.size()]; }
  void Remove(size_t server) override { std::erase(servers_, server); }

 private:
  std::vector<size_t> servers_;
  size_t next_ = 0;
};

}  // namespace

HashRing::HashRing(size_t servers, size_t points, uint64_t seed) {
  for (size_t server = 0; server < servers; ++server) {
    for (size_t point = 0; point < points; ++point) {
      points_.emplace_back(RingHash(HashMix(server + 1, point), seed), server);
    }
  }
  std::sort(points_.begin(), points_.end());
}

void HashRing::Remove(size_t server) {
  std::erase_if(points_, [server](const auto& point) { return point.second == server; });
}

size_t HashRing::Find(uint64_t hash, const std::function<bool(size_t server)>& accepts) const {
  CHECK(!points_.empty());
  const auto begin = std::lower_bound(points_.begin(), points_.end(), std::pair(hash, size_t{0}));
  const auto first = static_cast<size_t>(begin - points_.begin());
  for (size_t i = 0; i < points_.size(); ++i) {
    const size_t server = points_[(first + i) % points_.size()].second;
    if (accepts(server)) return server;
  }
  return points_[first % points_.size()].second;
}

uint64_t RingHash(uint64_t conversation, uint64_t seed) {
  return Hash64(&conversation, sizeof(conversation), seed);
}

Result<std::unique_ptr<Front>> MakeFront(std::string_view name, const FrontOptions& options,
                                         size_t servers) {
  if (name == "hash") return std::make_unique<HashFront>(options, servers);
  if (name == "prefix") return std::make_unique<PrefixFront>(options, servers);
  if (name == "random") return std::make_unique<RandomFront>(options, servers);
  if (name == "round-robin") return std::make_unique<RoundRobinFront>(servers);
  return Fail(ErrorCode::kInvalidArgument, "there is no front named '" + std::string(name) +
                                               "'; there are: hash, prefix, random, round-robin");
}

}  // namespace cairn
