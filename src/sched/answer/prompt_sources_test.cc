#include "sched/answer/reuse_report.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

ReuseReport Reused(size_t live, size_t ram, size_t disk, size_t prefetched) {
  ReuseReport report;
  report.live_tokens = live;
  report.ram_tokens = ram;
  report.disk_tokens = disk;
  report.prefetched_tokens = prefetched;
  report.reused_tokens = live + ram + disk;
  return report;
}

TEST(PromptSources, AddUpToThePrompts) {
  PromptSources sources;
  const ReuseReport first = Reused(10, 20, 30, 0);
  sources.Add(&first, 100);
  const ReuseReport second = Reused(0, 5, 0, 0);
  sources.Add(&second, 5);
  EXPECT_EQ(sources.live, 10u);
  EXPECT_EQ(sources.ram, 25u);
  EXPECT_EQ(sources.disk, 30u);
  EXPECT_EQ(sources.computed, 40u);
  EXPECT_EQ(sources.prefetched, 0u);
}

TEST(PromptSources, TakeWhatWasReadAheadOutOfWhereItLay) {
  PromptSources sources;
  const ReuseReport report = Reused(10, 20, 30, 15);
  sources.Add(&report, 61);
  EXPECT_EQ(sources.prefetched, 15u);
  EXPECT_EQ(sources.live, 0u);
  EXPECT_EQ(sources.ram, 15u);
  EXPECT_EQ(sources.disk, 30u);
  EXPECT_EQ(sources.computed, 1u);
}

TEST(PromptSources, CountNoMoreThanThePromptHas) {
  PromptSources sources;
  const ReuseReport report = Reused(50, 50, 50, 20);
  sources.Add(&report, 60);
  EXPECT_EQ(sources.prefetched + sources.live + sources.ram + sources.disk, 60u);
  EXPECT_EQ(sources.computed, 0u);
}

TEST(PromptSources, OfARequestThatGotNoSlotAreRead) {
  PromptSources sources;
  sources.Add(nullptr, 7);
  EXPECT_EQ(sources.computed, 7u);
}

}  // namespace
}  // namespace cairn
