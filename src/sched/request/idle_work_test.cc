#include "sched/request/idle_work.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "testing/sched/scheduler_fixture.h"

namespace cairn {
namespace {

using test::Bench;
using test::Text;

// A chunk that ends only when somebody comes.
class EndlessChunk final : public IdleWork {
 public:
  bool Step() override {
    std::unique_lock lock(mutex_);
    is_running_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_interrupted_; });
    return true;
  }
  void End() override {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  void Interrupt() override {
    {
      const std::lock_guard lock(mutex_);
      is_interrupted_ = true;
    }
    changed_.notify_all();
  }

  void WaitUntilItRuns() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_running_; });
  }
  bool has_ended() {
    const std::lock_guard lock(mutex_);
    return has_ended_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_running_ = false;
  bool is_interrupted_ = false;
  bool has_ended_ = false;
};

// Runs a scheduler with idle work, and calls `come` while a step of it runs.
void ComeDuringAStep(const std::function<void(Scheduler*)>& come) {
  EndlessChunk work;
  SchedulerOptions options;
  options.idle_work = &work;
  Bench bench(test::Slots(1, MemoryClass::kHybrid), options);
  std::thread runs([&bench] { bench.scheduler.Run(); });
  work.WaitUntilItRuns();
  come(&bench.scheduler);
  bench.scheduler.Stop();
  runs.join();
  EXPECT_TRUE(work.has_ended());
}

TEST(IdleWork, GivesWayToARequestInTheMiddleOfAChunk) {
  ComeDuringAStep([](Scheduler* scheduler) {
    const auto generation = *scheduler->Submit(Bench::Request(Text(300)));
    GenerationEvent event;
    while (event.kind != GenerationEvent::Kind::kDone) {
      auto next = generation->Next(std::chrono::seconds(60));
      ASSERT_TRUE(next.has_value()) << "no answer";
      event = *std::move(next);
      ASSERT_NE(event.kind, GenerationEvent::Kind::kFailed);
    }
  });
}

TEST(IdleWork, GivesWayToACommand) {
  ComeDuringAStep([](Scheduler* scheduler) { EXPECT_TRUE(scheduler->slots().CheckFree(0)); });
}

TEST(IdleWork, GivesWayToAStop) {
  ComeDuringAStep([](Scheduler*) {});
}

}  // namespace
}  // namespace cairn
