// The trace of requests' lives; tests/trace_events_test.cc checks the file of a served model.

#include "sched/answer/schedule_trace.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "testing/base/memory_fs.h"
#include "testing/sched/scheduler_fixture.h"

namespace cairn {
namespace {

using test::Bench;
using test::Join;
using test::Slots;
using test::Text;

// A microsecond passes at each call.
class LookedAtClock final : public Clock {
 public:
  double NowMs() const override { return now_ms_ += 0.001; }

 private:
  mutable double now_ms_ = 0;
};

class ScheduleTraceTest : public testing::Test {
 protected:
  ScheduleTraceTest() : events_(*TraceEvents::Open(&fs_, "/events.json", &clock_)) {}

  SchedulerOptions Options() const {
    SchedulerOptions options;
    options.trace = events_.get();
    options.prefetch.first_tokens = 1 << 20;
    return options;
  }

  // Returns the lines that contain both.
  std::vector<std::string> Lines(const std::string& name, const std::string& with = "") const {
    events_->Flush();
    const auto bytes = fs_.Read("/events.json", 0, SIZE_MAX);
    std::istringstream text(std::string(bytes->begin(), bytes->end()));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) {
      const bool named = line.find("{\"name\":\"" + name + "\"") != std::string::npos;
      if (named && line.find(with) != std::string::npos) lines.push_back(line);
    }
    return lines;
  }

  MemoryFs fs_;
  const LookedAtClock clock_;
  const std::unique_ptr<TraceEvents> events_;
};

TEST_F(ScheduleTraceTest, AStepTellsWhatItReadAndWhatItDecoded) {
  Bench bench(Slots(2, MemoryClass::kAttention), Options());
  bench.RunTogether({Bench::Request(Text(100, 'x'), 20), Bench::Request(Text(100, 'y'), 20)});
  EXPECT_EQ(Lines("process_name", "\"requests\"").size(), 2u);
  EXPECT_EQ(Lines("thread_name", "\"slot 1\"").size(), 1u);
  EXPECT_FALSE(Lines("step", R"("prefill_tokens":128,"prefill_slots":[0,1])").empty());
  EXPECT_EQ(Lines("prefill", R"("slot":1,"from":0,"tokens":64)").size(), 1u);
  EXPECT_FALSE(Lines("step", R"("decode_tokens":2,"decode_slots":[0,1])").empty());
  EXPECT_FALSE(Lines("decode", R"("tokens":2,"slots":[0,1])").empty());
  EXPECT_EQ(Lines("request", R"("end":"length")").size(), 2u);
  EXPECT_EQ(Lines("answer", R"("generated_tokens":20)").size(), 2u);
}

TEST_F(ScheduleTraceTest, WhoGivesUpItsSlotIsQueuedAndHasOneAgain) {
  FakeEngineOptions options = Slots(3, MemoryClass::kHybrid);
  options.context_tokens = options.cells = 1000;
  Bench bench(options, Options());
  const auto request = [](char letter) { return Bench::Request(Text(300, letter), 150); };
  bench.RunTogether({request('x'), request('y'), request('z')});
  const size_t preempted = bench.scheduler.stats().preempted;
  ASSERT_GE(preempted, 1u);
  EXPECT_EQ(Lines("request", "preempted").size(), preempted);
  EXPECT_EQ(Lines("request").size(), 3 + preempted);
  EXPECT_EQ(Lines("queued", "\"ph\":\"b\"").size(), 3 + preempted);
  EXPECT_FALSE(Lines("offload").empty());
}

TEST_F(ScheduleTraceTest, WhoIsCancelledInTheQueueHadNoSlot) {
  Bench bench(Slots(1, MemoryClass::kHybrid), Options());
  const auto generation = *bench.scheduler.Submit(Bench::Request(Text(100)));
  generation->Cancel();
  while (bench.scheduler.Step()) {
  }
  EXPECT_EQ(Lines("queued", R"("end":"cancelled")").size(), 1u);
  EXPECT_TRUE(Lines("request").empty());
}

TEST_F(ScheduleTraceTest, WhatIsReadAheadIsOnTheSlotsTrackToo) {
  Bench bench(Slots(1, MemoryClass::kHybrid), Options());
  const Tokens asked = Text(1000, 'q');
  bench.Run(Bench::Request(asked, 50));
  bench.scheduler.Prefetch({{0, Join(asked, Text(400, 'w')), asked.size(), false}});
  size_t pieces = 0;
  while (bench.scheduler.PrefetchNext()) ++pieces;
  ASSERT_GT(pieces, 0u);
  const auto lines = Lines("prefetch");
  EXPECT_EQ(lines.size(), 2 * pieces);
  EXPECT_EQ(Lines("prefetch", "\"pid\":" + std::to_string(kTraceNumbersFree)).size(), pieces);
  EXPECT_EQ(Lines("checkpoint", R"("class":"reply")").size(), 1u);
}

TEST_F(ScheduleTraceTest, AWayBackThatFailsIsTold) {
  Bench bench(Slots(1, MemoryClass::kHybrid), Options());
  bench.Run(Bench::Request(Text(300, 'x')));
  bench.Run(Bench::Request(Text(300, 'y')));
  bench.engine.RefuseNextStates(1);
  bench.Run(Bench::Request(Join(Text(300, 'x'), Text(50, 'z'))));
  EXPECT_EQ(bench.scheduler.stats().slot_counters.failed, 1u);
  EXPECT_EQ(Lines("resume", R"("failed":1)").size(), 1u);
}

}  // namespace
}  // namespace cairn
