#include "sched/request/queue_order.h"

#include <gtest/gtest.h>

#include <vector>

namespace cairn {
namespace {

using Order = std::vector<size_t>;

TEST(QueueOrder, TakesTheLeastLeftToReadFirst) {
  const std::vector<Contender> contenders = {{.number = 1, .prefill_ms = 500},
                                             {.number = 2, .prefill_ms = 20},
                                             {.number = 3, .prefill_ms = 100}};
  EXPECT_EQ(InOrder(contenders, {}), (Order{1, 2, 0}));
}

TEST(QueueOrder, KeepsTheOrderOfArrivalAmongEquals) {
  const std::vector<Contender> contenders = {{.number = 7}, {.number = 3}, {.number = 5}};
  EXPECT_EQ(InOrder(contenders, {}), (Order{1, 2, 0}));
}

TEST(QueueOrder, LetsWhoHasWaitedAsLongAsItReadsPassTheShortOnes) {
  const std::vector<Contender> contenders = {
      {.number = 1, .prefill_ms = 60'000, .waited_ms = 60'000}, {.number = 2, .prefill_ms = 20}};
  EXPECT_EQ(InOrder(contenders, {}), (Order{0, 1}));
}

TEST(QueueOrder, LetsWhoWasAtWorkBeforeGoOnFirst) {
  FairShares shares;
  shares.Charge(9, 1000);
  const std::vector<Contender> contenders = {
      {.number = 1, .prefill_ms = 1},
      {.number = 3, .name_space = 9, .goes_on = true, .prefill_ms = 900},
      {.number = 2, .name_space = 9, .goes_on = true, .prefill_ms = 800'000}};
  EXPECT_EQ(InOrder(contenders, shares), (Order{2, 1, 0}));
}

TEST(QueueOrder, TakesTheNamespaceThatHadLeastTimeBeforeTheShorterPrompt) {
  FairShares shares;
  shares.SetActive({1, 2});
  shares.Charge(1, 300);
  shares.Charge(2, 100);
  const std::vector<Contender> contenders = {{.number = 1, .name_space = 1, .prefill_ms = 1},
                                             {.number = 2, .name_space = 2, .prefill_ms = 900}};
  EXPECT_EQ(InOrder(contenders, shares), (Order{1, 0}));
}

TEST(FairShares, GiveNoCreditForTimeThatNobodyWanted) {
  FairShares shares;
  shares.SetActive({1});
  shares.Charge(1, 5000);
  shares.SetActive({1, 2});
  EXPECT_EQ(shares.UsedMs(2), shares.UsedMs(1));
  shares.Charge(2, 10);
  shares.SetActive({1});
  shares.Charge(1, 5000);
  shares.SetActive({1, 2});
  EXPECT_EQ(shares.UsedMs(2), shares.UsedMs(1));
}

TEST(FairShares, RememberWhatOneHadWhenItComesBackAtOnce) {
  FairShares shares;
  shares.SetActive({1, 2});
  shares.Charge(1, 50);
  shares.Charge(2, 800);
  shares.SetActive({1});
  shares.SetActive({1, 2});
  EXPECT_EQ(shares.UsedMs(2), 800);
  EXPECT_EQ(shares.UsedMs(1), 50);
}

TEST(FairShares, ForgetEverythingWhenNobodyStays) {
  FairShares shares;
  shares.SetActive({1, 2});
  shares.Charge(1, 50);
  shares.SetActive({});
  shares.SetActive({1, 2});
  EXPECT_EQ(shares.UsedMs(1), shares.UsedMs(2));
}

TEST(FairShares, LetNamespacesOfAnySizeOfRequestHaveTheSameTime) {
  FairShares shares;
  shares.SetActive({1, 2, 3});
  double served_ms[4] = {};
  const double chunk_ms[4] = {0, 10, 35, 120};
  for (int i = 0; i < 3000; ++i) {
    std::vector<Contender> contenders;
    for (NamespaceId one = 1; one <= 3; ++one) {
      contenders.push_back({.number = one, .name_space = one, .prefill_ms = chunk_ms[one]});
    }
    const NamespaceId first = contenders[InOrder(contenders, shares).front()].name_space;
    shares.Charge(first, chunk_ms[first]);
    served_ms[first] += chunk_ms[first];
  }
  EXPECT_NEAR(served_ms[1], served_ms[3], 240);
  EXPECT_NEAR(served_ms[2], served_ms[3], 240);
}

}  // namespace
}  // namespace cairn
