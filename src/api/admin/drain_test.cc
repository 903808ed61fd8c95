#include "api/admin/drain.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "api/json.h"
#include "testing/api/api_fixture.h"

namespace cairn::drain_test {
namespace {

constexpr double kForeverMs = 1e9;

TEST(Drain, LetsRequestsInUntilItBegins) {
  const SteadyClock clock;
  Drain drain(&clock);
  const Drain::Pass first = drain.Enter();
  EXPECT_NE(first, nullptr);
  drain.Begin();
  drain.Begin();
  EXPECT_EQ(drain.Enter(), nullptr);
  EXPECT_EQ(drain.state().requests, 1u);
  EXPECT_TRUE(drain.End());
  EXPECT_NE(drain.Enter(), nullptr);
  EXPECT_EQ(drain.state().requests, 1u);
}

TEST(Drain, CannotBeTakenBackOnceTheProcessEnds) {
  const SteadyClock clock;
  Drain drain(&clock);
  drain.Begin();
  drain.Stop();
  EXPECT_FALSE(drain.End());
  EXPECT_TRUE(drain.state().draining);
  EXPECT_EQ(drain.Enter(), nullptr);
}

TEST(Drain, LetsRequestsInDuringItsDelay) {
  ManualClock clock;
  Drain drain(&clock);
  drain.SetDelay(2000);
  drain.Begin();
  clock.Advance(1999);
  drain.Begin();  // does not begin the delay anew
  EXPECT_TRUE(drain.state().draining);
  EXPECT_FALSE(drain.state().refusing);
  EXPECT_NE(drain.Enter(), nullptr);
  clock.Advance(1);
  EXPECT_TRUE(drain.state().refusing);
  EXPECT_EQ(drain.Enter(), nullptr);
  EXPECT_TRUE(drain.End());
  EXPECT_NE(drain.Enter(), nullptr);
  drain.Begin();
  EXPECT_NE(drain.Enter(), nullptr) << "a second drain has a delay of its own";
}

TEST(Drain, WaitsForItsDelayUnlessItIsTold) {
  const SteadyClock clock;
  Drain drain(&clock);
  drain.SetDelay(kForeverMs);
  drain.Stop();
  std::thread teller([&] { drain.StopWaiting(); });
  drain.WaitForRequests(kForeverMs);  // a test that hangs here fails
  teller.join();
  EXPECT_FALSE(drain.state().refusing);
}

// With many threads a request that was let in is always waited for.
TEST(Drain, WaitsForAllThatWereLetIn) {
  constexpr int kThreads = 8;
  const SteadyClock clock;
  Drain drain(&clock);
  std::atomic<int> answered = 0;
  std::atomic<int> let_in = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < kThreads; ++i) {
    clients.emplace_back([&] {
      for (;;) {
        const Drain::Pass pass = drain.Enter();
        if (pass == nullptr) return;
        ++let_in;
        std::this_thread::yield();
        ++answered;
      }
    });
  }
  while (let_in < 100) std::this_thread::yield();
  drain.Stop();
  drain.WaitForRequests(kForeverMs);
  EXPECT_EQ(answered, let_in);
  EXPECT_EQ(drain.state().requests, 0u);
  for (std::thread& client : clients) client.join();
}

class DrainBodyTest : public ApiTest {
 protected:
  Json Shown(const Drain& drain) { return Json::parse(DrainBody(drain.state(), service_)); }
};

TEST_F(DrainBodyTest, IsDrainedWhenTheLastRequestHasEnded) {
  const SteadyClock clock;
  Drain drain(&clock);
  Drain::Pass pass = drain.Enter();
  EXPECT_EQ(Shown(drain)["draining"], false);
  EXPECT_EQ(Shown(drain)["drained"], false);
  drain.Begin();
  EXPECT_EQ(Shown(drain)["draining"], true);
  EXPECT_EQ(Shown(drain)["requests"], 1);
  EXPECT_EQ(Shown(drain)["drained"], false);
  pass.reset();
  EXPECT_EQ(Shown(drain)["drained"], true);
  EXPECT_EQ(Shown(drain)["unsaved_bytes"], 0);
  EXPECT_EQ(Shown(drain)["stopping"], false);
}

TEST_F(DrainBodyTest, IsNotDrainedWhileRequestsAreLetIn) {
  ManualClock clock;
  Drain drain(&clock);
  drain.SetDelay(1);
  drain.Begin();
  EXPECT_EQ(Shown(drain)["drained"], false);
  clock.Advance(1);
  EXPECT_EQ(Shown(drain)["drained"], true);
}

}  // namespace
}  // namespace cairn::drain_test
