#include "media/child/child_media_decoder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cairn {
namespace {

constexpr std::chrono::minutes kLong(10);

class DecodePlacesTest : public ::testing::Test {
 protected:
  ~DecodePlacesTest() override {
    for (std::thread& thread : threads_) thread.join();
  }

  // Waits for a place on a thread of its own, notes the owner, and leaves it at once.
  void Wait(uint64_t owner) {
    const size_t before = places_.waiting();
    threads_.emplace_back([this, owner] {
      const auto place = places_.Take(owner, kLong);
      ASSERT_NE(place, nullptr);
      const std::lock_guard lock(mutex_);
      order_ += std::to_string(owner) + " ";
    });
    while (places_.waiting() == before) std::this_thread::yield();
  }
  std::string OrderOfAll() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return order_;
  }

  DecodePlaces places_{1};
  std::mutex mutex_;
  std::string order_;
  std::vector<std::thread> threads_;
};

TEST_F(DecodePlacesTest, CallsOfOneOwnerAreServedInTheirOrder) {
  DecodePlaces places(1);
  std::vector<int> order;
  std::vector<std::thread> threads;
  auto held = places.Take(1, kLong);
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&, i] {
      const auto place = places.Take(1, kLong);
      order.push_back(i);  // one at a time has a place
    });
    while (places.waiting() != static_cast<size_t>(i) + 1) std::this_thread::yield();
  }
  held.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST_F(DecodePlacesTest, AnotherOwnerWaitsForOneChildAndNotForAllOfTheFirst) {
  auto held = places_.Take(1, kLong);
  for (int i = 0; i < 5; ++i) Wait(1);
  Wait(2);
  held.reset();
  EXPECT_EQ(OrderOfAll(), "2 1 1 1 1 1 ");
}

TEST_F(DecodePlacesTest, OwnersTakeTurns) {
  auto held = places_.Take(3, kLong);
  for (const uint64_t owner : {1, 1, 1, 2, 2, 3}) Wait(owner);
  held.reset();
  EXPECT_EQ(OrderOfAll(), "1 2 3 1 2 1 ");
}

TEST_F(DecodePlacesTest, TheOwnerWithFewerChildrenComesFirst) {
  DecodePlaces places(2);
  auto first = places.Take(1, kLong);
  auto second = places.Take(2, kLong);
  std::vector<uint64_t> order;
  std::vector<std::thread> threads;
  for (const uint64_t owner : {1, 2}) {
    threads.emplace_back([&, owner] {
      const auto place = places.Take(owner, kLong);
      order.push_back(owner);
    });
    while (places.waiting() != threads.size()) std::this_thread::yield();
  }
  // Owner 2 has none then, and 1, which was served before it and asked first, still has one.
  second.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<uint64_t>{2, 1}));
}

TEST_F(DecodePlacesTest, WhoWaitsTooLongLeavesTheLine) {
  auto held = places_.Take(1, kLong);
  EXPECT_EQ(places_.Take(1, std::chrono::milliseconds(1)), nullptr);
  EXPECT_EQ(places_.waiting(), 0u);
  held.reset();
  EXPECT_NE(places_.Take(1, std::chrono::milliseconds(0)), nullptr);
}

TEST_F(DecodePlacesTest, WhoIsNotWantedAnyMoreLeavesTheLine) {
  auto held = places_.Take(1, kLong);
  int asked = 0;
  EXPECT_EQ(places_.Take(1, kLong, [&asked] { return ++asked == 2; }), nullptr);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(places_.waiting(), 0u);
}

TEST_F(DecodePlacesTest, WhoLeavesTheLineHoldsNobodyUp) {
  auto held = places_.Take(1, kLong);
  std::atomic<bool> gone = false;
  std::vector<std::thread> left;
  for (int i = 0; i < 10; ++i) {
    left.emplace_back(
        [&] { EXPECT_EQ(places_.Take(1, kLong, [&] { return gone.load(); }), nullptr); });
  }
  while (places_.waiting() < left.size()) std::this_thread::yield();
  gone = true;
  for (std::thread& thread : left) thread.join();
  EXPECT_EQ(places_.waiting(), 0u);
  Wait(2);
  held.reset();
  EXPECT_EQ(OrderOfAll(), "2 ");
}

}  // namespace
}  // namespace cairn
