// While memory is short the cache holds less; if an allocation fails, requests fail and the server
// continues.

#include <gtest/gtest.h>

#include <new>
#include <string>
#include <thread>
#include <vector>

#include "testing/sched/scheduler_fixture.h"

namespace cairn::memory_governor_test {
namespace {

using test::Bench;
using test::Text;

constexpr size_t kMib = size_t{1} << 20;
constexpr size_t kAsked = 64 * kMib;
constexpr double kMinuteMs = 60'000;

class PlayedMemory final : public MemoryWatch {
 public:
  MemoryRoom Look() override { return {64 * kMib, left, "a test", refused}; }
  void GiveBack() override { ++given_back; }

  uint64_t left = 64 * kMib;
  bool refused = false;
  int given_back = 0;
};

class MemoryTest : public testing::Test {
 protected:
  SchedulerOptions Options() {
    SchedulerOptions options;
    options.memory = &memory_;
    options.cache_bytes_max = kAsked;
    options.log = [this](LogLevel, std::string_view line) { log_.emplace_back(line); };
    return options;
  }

  PlayedMemory memory_;
  std::vector<std::string> log_;
};

TEST_F(MemoryTest, TheCacheHoldsLessWhileItIsShortAndAllOfItAfterwards) {
  Bench bench(MemoryClass::kHybrid, Options());
  bench.cache.SetBudget(kAsked);
  bench.Run(Bench::Request(Text(500)));
  const size_t held = bench.cache.stats().bytes;
  ASSERT_GT(held, 0u);
  memory_.left = 0;
  bench.clock.Advance(1000);
  bench.scheduler.Step();
  SchedulerStats stats = bench.scheduler.stats();
  EXPECT_EQ(stats.memory.sheddings, 1u);
  EXPECT_EQ(stats.memory.shed_bytes, held);
  EXPECT_EQ(stats.cache.bytes, 0u);
  EXPECT_LT(stats.cache.bytes_max, kAsked);
  EXPECT_EQ(memory_.given_back, 1);
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_NE(log_[0].find("memory is short (0 MiB left of 64 MiB, by a test): the cache evicts"),
            std::string::npos)
      << log_[0];
  bench.cache.CheckInvariants();
  // Answers continue, and the message is not logged again.
  EXPECT_EQ(bench.Run(Bench::Request(Text(500, 'y'))).text.size(), 8u);
  EXPECT_EQ(log_.size(), 1u);

  memory_.left = 2000 * kMib;
  bench.clock.Advance(kMinuteMs);
  bench.scheduler.Step();
  stats = bench.scheduler.stats();
  EXPECT_EQ(stats.cache.bytes_max, kAsked);
  EXPECT_EQ(stats.memory.sheddings, 1u);
  ASSERT_EQ(log_.size(), 2u);
  EXPECT_NE(log_[1].find("memory is no longer short"), std::string::npos) << log_[1];
  bench.Run(Bench::Request(Text(500)));
  EXPECT_GT(bench.cache.stats().bytes, 0u);
}

TEST_F(MemoryTest, TheBudgetCanBeReplacedWhileTheSchedulerRuns) {
  Bench bench(MemoryClass::kHybrid, Options());
  bench.cache.SetBudget(kAsked);
  bench.Run(Bench::Request(Text(500)));
  const size_t held = bench.cache.stats().bytes;
  ASSERT_GT(held, 0u);
  std::thread running([&bench] { bench.scheduler.Run(); });
  const auto freed = bench.scheduler.SetCacheLimit(0);
  const SchedulerStats small = bench.scheduler.stats();
  const auto grown = bench.scheduler.SetCacheLimit(2 * kAsked);
  const SchedulerStats large = bench.scheduler.stats();
  bench.scheduler.Stop();
  running.join();
  EXPECT_EQ(freed.value_or(0), held);
  EXPECT_EQ(small.cache.bytes_max, 0u);
  EXPECT_EQ(small.cache.bytes, 0u);
  EXPECT_EQ(grown.value_or(1), 0u);
  EXPECT_EQ(large.cache.bytes_max, 2 * kAsked);
  EXPECT_FALSE(bench.scheduler.SetCacheLimit(kAsked).has_value());
  bench.cache.CheckInvariants();
}

TEST_F(MemoryTest, IsLookedAtFourTimesASecondAtMost) {
  Bench bench(MemoryClass::kHybrid, Options());
  bench.clock.Advance(1000);
  bench.scheduler.Step();
  memory_.refused = true;
  bench.clock.Advance(100);
  bench.scheduler.Step();
  EXPECT_EQ(bench.scheduler.stats().memory.sheddings, 0u);
  bench.clock.Advance(150);
  bench.scheduler.Step();
  EXPECT_EQ(bench.scheduler.stats().memory.sheddings, 1u);
  EXPECT_NE(log_[0].find("an allocation failed"), std::string::npos) << log_[0];
}

TEST(CacheOfABudget, KeepsWhatIsInUseWhateverItIsTold) {
  Bench bench;
  bench.Run(Bench::Request(Text(500)));
  const auto match = bench.cache.Match(0, Text(500));
  ASSERT_FALSE(match.checkpoints.empty());
  const CheckpointId used = match.checkpoints.back().id;
  ASSERT_TRUE(bench.cache.Pin(used).has_value());
  bench.cache.SetBudget(0);
  EXPECT_GT(bench.cache.stats().bytes, 0u);
  EXPECT_EQ(bench.cache.stats().bytes, bench.cache.stats().bytes_max);
  EXPECT_EQ(bench.cache.Match(0, Text(500)).checkpoints.size(), 1u);
  bench.cache.CheckInvariants();
  bench.cache.Unpin(used);
  bench.cache.SetBudget(0);
  EXPECT_EQ(bench.cache.stats().bytes, 0u);
}

// HungryEngine: throws in the middle of a decode, as libllama may when it finds no memory.
class HungryEngine final : public FakeEngine {
 public:
  using FakeEngine::FakeEngine;
  Status Decode(SeqId seq, size_t position, TokenSpan tokens) override {
    if (throws_next && position > 0) {
      throws_next = false;
      throw std::bad_alloc();
    }
    return FakeEngine::Decode(seq, position, tokens);
  }
  bool throws_next = false;  // accessed before the context thread runs
};

TEST(NoMemory, FailsWhatIsAtWorkAndGoesOn) {
  FakeEngineOptions engine_options = Bench::EngineOptions(MemoryClass::kHybrid);
  engine_options.slots = 2;
  HungryEngine engine(engine_options);
  CheckpointCache cache(CacheOptions{}, *MakePlacement("near-end"), *MakeEviction("lru"),
                        MakeRamStore());
  const SteadyClock clock;
  Scheduler scheduler(&engine, &cache, &clock, {});
  engine.throws_next = true;
  const auto first = scheduler.Submit(Bench::Request(Text(900)));
  std::thread context([&] { scheduler.Run(); });
  const auto end_of = [](Generation* generation) {
    GenerationEvent end;
    std::string text;
    while (end.kind != GenerationEvent::Kind::kDone && end.kind != GenerationEvent::Kind::kFailed) {
      if (auto event = generation->Next(std::chrono::milliseconds(100))) {
        end = *event;
        text += event->text;
      }
    }
    return std::pair(end, text);
  };
  const GenerationEvent failed = end_of(first->get()).first;
  EXPECT_EQ(failed.kind, GenerationEvent::Kind::kFailed);
  EXPECT_EQ(failed.error.code, ErrorCode::kUnavailable);
  EXPECT_NE(failed.error.message.find("out of memory"), std::string::npos);
  const auto again = scheduler.Submit(Bench::Request(Text(900)));
  const std::string text = end_of(again->get()).second;
  scheduler.Stop();
  context.join();
  EXPECT_EQ(scheduler.stats().memory.failures, 1u);
  Bench plain;
  EXPECT_EQ(text, plain.Run(Bench::Request(Text(900))).text);
}

}  // namespace
}  // namespace cairn::memory_governor_test
