#include "sched/upkeep/prefix_reporter.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "testing/sched/played_schedule.h"

namespace cairn {
namespace {

using test::Schedule;
using test::ScheduleRun;

class CountingWatcher final : public PrefixWatcher {
 public:
  void OnChanges(std::vector<PrefixChange> changes) override {
    ++calls;
    for (const PrefixChange& change : changes) tokens += change.tokens.size();
  }

  size_t calls = 0;
  size_t tokens = 0;  // that were copied
};

class PrefixReporterTest : public ::testing::TestWithParam<MemoryClass> {};

// A conversation of 40 turns is copied once for its slot and once for the cache, not once a turn.
TEST_P(PrefixReporterTest, CopiesOnlyTokensThatAreNew) {
  CountingWatcher watcher;
  Schedule schedule;
  schedule.memory_class = GetParam();
  schedule.clients = 1;
  schedule.slots = 1;
  schedule.headers = 0;
  schedule.turns = 40;
  schedule.prefixes = &watcher;
  schedule.after_step = [](ScheduleRun* run) { run->scheduler().ReportPrefixes(); };
  ScheduleRun run(schedule);
  run.Play();
  EXPECT_GT(watcher.calls, schedule.turns);
  EXPECT_LT(watcher.tokens, 3 * run.engine().decoded_tokens());
}

TEST_P(PrefixReporterTest, SaysNothingWhileNothingChanges) {
  CountingWatcher watcher;
  Schedule schedule;
  schedule.memory_class = GetParam();
  schedule.prefixes = &watcher;
  ScheduleRun run(schedule);
  run.Play();
  run.scheduler().ReportPrefixes();
  const size_t calls = watcher.calls;
  EXPECT_GT(calls, 0u);
  run.scheduler().ReportPrefixes();
  EXPECT_EQ(watcher.calls, calls);
}

INSTANTIATE_TEST_SUITE_P(EachMemory, PrefixReporterTest, ::testing::ValuesIn(test::kClasses));

}  // namespace
}  // namespace cairn
