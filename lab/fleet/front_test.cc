#include "lab/fleet/front.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace cairn::front_test {
namespace {

struct Servers {
  std::vector<size_t> reach;
  std::vector<size_t> waiting;
  std::vector<size_t> in_flight;

  explicit Servers(size_t count) : reach(count), waiting(count), in_flight(count) {}

  FrontAsk Ask(uint64_t conversation, size_t prompt_tokens = 1000) const {
    FrontAsk ask;
    ask.conversation = conversation;
    ask.prompt_tokens = prompt_tokens;
    ask.reach = [this](size_t server) { return reach[server]; };
    ask.waiting = [this](size_t server) { return waiting[server]; };
    ask.in_flight = [this](size_t server) { return in_flight[server]; };
    return ask;
  }
};

std::unique_ptr<Front> Make(const std::string& name, size_t servers, FrontOptions options = {}) {
  return std::move(*MakeFront(name, options, servers));
}

TEST(Front, ThereAreFour) {
  const auto none = MakeFront("least", {}, 3);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().message,
            "there is no front named 'least'; there are: hash, prefix, random, round-robin");
}

TEST(Front, RoundRobinGoesRoundAndLeavesOutALostServer) {
  const auto front = Make("round-robin", 3);
  const Servers servers(3);
  std::map<size_t, size_t> chosen;
  for (size_t i = 0; i < 9; ++i) ++chosen[front->Choose(servers.Ask(i))];
  EXPECT_EQ(chosen, (std::map<size_t, size_t>{{0, 3}, {1, 3}, {2, 3}}));
  front->Remove(1);
  for (size_t i = 0; i < 10; ++i) EXPECT_NE(front->Choose(servers.Ask(i)), 1u);
}

TEST(Front, HashKeepsAConversationUntilItsServerIsLost) {
  const auto front = Make("hash", 8);
  const Servers servers(8);
  std::vector<size_t> before;
  for (size_t i = 0; i < 400; ++i) before.push_back(front->Choose(servers.Ask(i)));
  EXPECT_EQ(std::set<size_t>(before.begin(), before.end()).size(), 8u);
  front->Remove(3);
  for (size_t i = 0; i < 400; ++i) {
    const size_t now = front->Choose(servers.Ask(i));
    if (before[i] == 3) {
      EXPECT_NE(now, 3u);
    } else {
      EXPECT_EQ(now, before[i]);
    }
  }
}

// With 3 times the mean of (9 + 1) / 4 requests, a server takes 8 at most.
TEST(Front, HashPassesOverAServerWithTooManyRequests) {
  const auto front = Make("hash", 4);
  Servers servers(4);
  const size_t first = front->Choose(servers.Ask(7));
  servers.in_flight[first] = 7;
  servers.in_flight[(first + 1) % 4] = 2;
  EXPECT_EQ(front->Choose(servers.Ask(7)), first);
  servers.in_flight[first] = 8;
  servers.in_flight[(first + 1) % 4] = 1;
  EXPECT_NE(front->Choose(servers.Ask(7)), first);
  EXPECT_EQ(Make("hash", 4, {.balance_factor = 0})->Choose(servers.Ask(7)), first);
}

TEST(Front, MorePointsOnTheRingSpreadConversationsMoreEvenly) {
  const auto most = [](size_t points) {
    const auto front = Make("hash", 16, {.balance_factor = 0, .ring_points = points});
    const Servers servers(16);
    std::vector<size_t> counts(16);
    for (size_t i = 0; i < 16'000; ++i) ++counts[front->Choose(servers.Ask(i))];
    return *std::max_element(counts.begin(), counts.end());
  };
  EXPECT_LT(most(512), most(16));
}

TEST(Front, PrefixTakesTheServerThatReadsLeastUnlessItsQueueIsLong) {
  const auto front = Make("prefix", 3);
  Servers servers(3);
  servers.reach = {100, 900, 0};
  EXPECT_EQ(front->Choose(servers.Ask(1)), 1u);
  // 2 * 0.9 + 0 against 2 * 0.1 + 1: 1.8 and 1.2.
  servers.waiting = {0, 5, 0};
  EXPECT_EQ(front->Choose(servers.Ask(1)), 1u);
  // 2 * 0.4 + 0 against 2 * 0.1 + 1.
  servers.reach = {100, 400, 0};
  EXPECT_EQ(front->Choose(servers.Ask(1)), 0u);
}

TEST(Front, PrefixTakesTheLeastBusyOfEqualScores) {
  const auto front = Make("prefix", 4);
  Servers servers(4);
  servers.in_flight = {2, 1, 3, 1};
  std::set<size_t> chosen;
  for (size_t i = 0; i < 40; ++i) chosen.insert(front->Choose(servers.Ask(i)));
  EXPECT_EQ(chosen, (std::set<size_t>{1, 3}));
}

TEST(Front, RandomFrontsWithASeedChooseTheSame) {
  const auto a = Make("random", 5);
  const auto b = Make("random", 5);
  const Servers servers(5);
  std::set<size_t> chosen;
  for (size_t i = 0; i < 100; ++i) {
    const size_t server = a->Choose(servers.Ask(i));
    EXPECT_EQ(server, b->Choose(servers.Ask(i)));
    chosen.insert(server);
  }
  EXPECT_EQ(chosen.size(), 5u);
}

// A plain model: the ring as a list of all points, searched from the hash on.
TEST(HashRing, FindsWhatASearchOfAllPointsFinds) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    const size_t servers = 1 + random() % 9;
    HashRing ring(servers, 8, seed);
    std::set<size_t> left;
    for (size_t i = 0; i < servers; ++i) left.insert(i);
    while (left.size() > 1 && random() % 3 > 0) {
      const size_t lost = *std::next(left.begin(), static_cast<long>(random() % left.size()));
      left.erase(lost);
      ring.Remove(lost);
    }
    std::set<size_t> accepted;
    for (const size_t server : left) {
      if (random() % 2 == 0) accepted.insert(server);
    }
    for (uint64_t i = 0; i < 100; ++i) {
      const uint64_t hash = RingHash(i, seed);
      const size_t found =
          ring.Find(hash, [&](size_t server) { return accepted.contains(server); });
      const size_t any = ring.Find(hash, [](size_t /*server*/) { return true; });
      ASSERT_TRUE(left.contains(found) && left.contains(any)) << "seed " << seed;
      if (!accepted.empty()) {
        ASSERT_TRUE(accepted.contains(found)) << "seed " << seed;
      }
      if (accepted.contains(any) || accepted.empty()) {
        ASSERT_EQ(found, any) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace cairn::front_test
