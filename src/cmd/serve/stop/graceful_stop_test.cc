#include "cmd/serve/stop/run_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <new>
#include <optional>

namespace cairn {
namespace {

// Longer than the test may take.
constexpr double kForeverMs = 1e9;

class GracefulStopTest : public testing::Test {
 protected:
  void WaitUntilStopped() const {
    while (stops_ == 0) std::this_thread::yield();
  }

  SteadyClock clock_;
  Drain drain_{&clock_};
  std::atomic<int> stops_ = 0;
  std::optional<GracefulStop> stop_{std::in_place, &drain_, [this] { ++stops_; }};
};

// A system without memory starts none, and a server ended with an abort instead.
TEST_F(GracefulStopTest, StartsNoThreadWhenItIsAskedToStop) {
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const Drain::Pass pass = drain_.Enter();
  const auto before = threads();
  stop_->Begin(kForeverMs);
  EXPECT_EQ(threads(), before);
}

TEST_F(GracefulStopTest, StopsAtOnceWithoutRequests) {
  stop_->Begin(kForeverMs);
  WaitUntilStopped();
  EXPECT_TRUE(drain_.state().stopping);
  EXPECT_EQ(drain_.Enter(), nullptr);
}

TEST_F(GracefulStopTest, WaitsForTheLastRequest) {
  Drain::Pass first = drain_.Enter();
  Drain::Pass second = drain_.Enter();
  stop_->Begin(kForeverMs);
  EXPECT_EQ(drain_.Enter(), nullptr);
  first.reset();
  EXPECT_EQ(drain_.state().requests, 1u);
  EXPECT_EQ(stops_, 0);
  second.reset();
  WaitUntilStopped();
}

TEST_F(GracefulStopTest, WaitsNoLongerThanItMay) {
  const Drain::Pass pass = drain_.Enter();
  stop_->Begin(1);
  WaitUntilStopped();
  EXPECT_EQ(drain_.state().requests, 1u);
}

TEST_F(GracefulStopTest, StopsOnceHoweverOftenItIsAsked) {
  const Drain::Pass pass = drain_.Enter();
  stop_->Begin(kForeverMs);
  stop_->Begin(0);
  EXPECT_EQ(stops_, 0);
  EXPECT_TRUE(stop_->Now());
  EXPECT_FALSE(stop_->Now());
  stop_->Begin(0);
  stop_.reset();
  EXPECT_EQ(stops_, 1);
}

TEST_F(GracefulStopTest, AStopThatThrowsEndsNothing) {
  stop_.emplace(&drain_, [this] {
    ++stops_;
    throw std::bad_alloc();
  });
  stop_->Begin(kForeverMs);
  WaitUntilStopped();
  stop_.reset();
  EXPECT_EQ(stops_, 1);
}

TEST_F(GracefulStopTest, EndsWithoutStoppingWhenNobodyWaitsAnyMore) {
  const Drain::Pass pass = drain_.Enter();
  stop_->Begin(kForeverMs);
  stop_.reset();
  EXPECT_EQ(stops_, 0);
}

}  // namespace
}  // namespace cairn
