#include "base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace cairn {
namespace {

constexpr std::chrono::minutes kPatience{1};

// Two threads that take turns.
class Turns {
 public:
  // Waits until the number of turns is `turn`, and takes it.
  bool Take(int turn) {
    const MutexLock lock(mutex_);
    const auto is_due = [&]() REQUIRES(mutex_) { return turns_ == turn; };
    if (!changed_.WaitFor(mutex_, kPatience, is_due)) return false;
    ++turns_;
    changed_.NotifyAll();
    return true;
  }
  int turns() const {
    const MutexLock lock(mutex_);
    return turns_;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  int turns_ GUARDED_BY(mutex_) = 0;
};

TEST(CondVar, WakesWhoeverWaitsForTheTurn) {
  Turns turns;
  std::thread other([&] {
    for (int turn = 1; turn < 100; turn += 2) EXPECT_TRUE(turns.Take(turn));
  });
  for (int turn = 0; turn < 100; turn += 2) EXPECT_TRUE(turns.Take(turn));
  other.join();
  EXPECT_EQ(turns.turns(), 100);
}

TEST(CondVar, ReturnsWhatThePredicateWasAtTheEndOfTheTime) {
  Mutex mutex;
  CondVar changed;
  const MutexLock lock(mutex);
  EXPECT_FALSE(changed.WaitFor(mutex, std::chrono::milliseconds(1), [] { return false; }));
  EXPECT_TRUE(changed.WaitFor(mutex, kPatience, [] { return true; }));
}

TEST(CondVar, KeepsTheMutexWhereThePredicateThrows) {
  Mutex mutex;
  CondVar changed;
  std::vector<std::string> order;
  std::thread other;
  {
    const MutexLock lock(mutex);
    EXPECT_THROW(changed.Wait(mutex, []() -> bool { throw std::runtime_error("no"); }),
                 std::runtime_error);
    other = std::thread([&] {
      const MutexLock its_lock(mutex);
      order.emplace_back("other");
    });
    // Time for the other thread to take a mutex that is free.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    order.emplace_back("this");
  }
  other.join();
  EXPECT_EQ(order, (std::vector<std::string>{"this", "other"}));
}

TEST(MutexUnlock, LetsAnotherThreadInAndTakesTheMutexAgain) {
  Mutex mutex;
  std::vector<std::string> order;
  std::thread later;
  {
    const MutexLock lock(mutex);
    {
      const MutexUnlock unlocked(mutex);
      std::thread([&] {
        const MutexLock its_lock(mutex);
        order.emplace_back("meanwhile");
      }).join();
    }
    later = std::thread([&] {
      const MutexLock its_lock(mutex);
      order.emplace_back("later");
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    order.emplace_back("this");
  }
  later.join();
  EXPECT_EQ(order, (std::vector<std::string>{"meanwhile", "this", "later"}));
}

}  // namespace
}  // namespace cairn
