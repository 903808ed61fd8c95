// Looks at the cache from other threads: Scheduler::Look and PostLook, while answers are decoded
// and when memory runs out.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <new>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "testing/sched/scheduler_fixture.h"

namespace cairn::mailbox_test {
namespace {

using test::Bench;
using test::Text;

// A scheduler on its thread.
class Server {
 public:
  Server()
      : engine_(EngineOptions()),
        cache_(CacheOptions{}, *MakePlacement("near-end"), *MakeEviction("value"), MakeRamStore()),
        scheduler_(&engine_, &cache_, &clock_, SchedulerOptions{}),
        thread_([this] { scheduler_.Run(); }) {}
  ~Server() {
    scheduler_.Stop();
    thread_.join();
  }

  Scheduler& scheduler() { return scheduler_; }
  // For the context thread.
  uint64_t decoded_tokens() const { return engine_.decoded_tokens(); }

 private:
  static FakeEngineOptions EngineOptions() {
    FakeEngineOptions options = Bench::EngineOptions(MemoryClass::kHybrid);
    options.context_tokens = 1 << 20;
    return options;
  }

  const SteadyClock clock_;
  FakeEngine engine_;
  CheckpointCache cache_;
  Scheduler scheduler_;
  std::thread thread_;
};

// Regression: all pollers used to be served between the same two steps.
TEST(Looks, AtTheCacheAreOneAStepWhileAnswersAreWritten) {
  constexpr size_t kPollers = 8;
  constexpr size_t kLooks = 20;
  Server server;
  GenerationRequest endless = Bench::Request(Text(100, 'a'), 1 << 19);
  endless.params.ignore_end = true;
  const auto generation = server.scheduler().Submit(std::move(endless));
  ASSERT_TRUE(generation.has_value());
  while (!(*generation)->Next(std::chrono::seconds(20))) {
  }
  std::vector<uint64_t> at;  // written by the context thread, until all pollers are done
  std::vector<std::thread> pollers;
  for (size_t i = 0; i < kPollers; ++i) {
    pollers.emplace_back([&] {
      for (size_t look = 0; look < kLooks; ++look) {
        EXPECT_TRUE(server.scheduler().Look(
            [&](CheckpointCache*) { at.push_back(server.decoded_tokens()); }));
      }
    });
  }
  for (std::thread& poller : pollers) poller.join();
  EXPECT_EQ(at.size(), kPollers * kLooks);
  EXPECT_EQ(std::set<uint64_t>(at.begin(), at.end()).size(), at.size());
  (*generation)->Abandon();
}

TEST(Looks, ThatFindNoMemoryAreAnErrorAndTheNextIsDone) {
  Server server;
  const Status failed = server.scheduler().Look([](CheckpointCache*) { throw std::bad_alloc(); });
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
  ASSERT_TRUE(server.scheduler().PostLook([](CheckpointCache*) { throw std::bad_alloc(); }));
  bool looked = false;
  EXPECT_TRUE(server.scheduler().Look([&](CheckpointCache*) { looked = true; }));
  EXPECT_TRUE(looked);
  const auto generation = server.scheduler().Submit(Bench::Request(Text(100, 'a'), 5));
  ASSERT_TRUE(generation.has_value());
  while (const auto event = (*generation)->Next(std::chrono::seconds(20))) {
    if (event->kind == GenerationEvent::Kind::kDone) break;
    ASSERT_NE(event->kind, GenerationEvent::Kind::kFailed) << event->error.message;
  }
}

}  // namespace
}  // namespace cairn::mailbox_test
