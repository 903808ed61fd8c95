// Schedules in which libllama fails: any call, in any of the ways engine/engine.h allows.

#include <gtest/gtest.h>

#include "testing/base/played_share.h"
#include "testing/sched/played_schedule.h"

namespace cairn {
namespace {

using test::Played;
using test::PlayMany;
using test::Schedule;
using test::Told;

// They include answers that were preempted and whose state was then refused. Those were once
// prefilled again in chunks, and continued differently.
TEST(FaultProperty, AnEngineThatFailsNowAndThenNeverMakesAWrongAnswer) {
  const Told told = PlayMany(1, 1500, [](Schedule* s) {
    s->failing_per_mille = 1 + s->seed % 20;
    s->warms = s->seed % 2 == 0;
  });
  EXPECT_GT(told.failures, Played(5000));
  EXPECT_GT(told.answered, Played(5000));
}

TEST(FaultProperty, AnEngineThatFailsHalfTheTimeStillAnswersEachRequestOrSaysWhyNot) {
  const Told told = PlayMany(2001, 2400, [](Schedule* s) { s->failing_per_mille = 500; });
  EXPECT_GT(told.failures, Played(5000));
  EXPECT_GT(told.failed, Played(1000));
}

TEST(FaultProperty, FailuresInAFullContextAndAcrossSleepLoseNothing) {
  const Told told = PlayMany(3001, 4000, [](Schedule* s) {
    s->failing_per_mille = 10;
    s->cells = 3000;
    s->slots = 3 + s->seed % 3;
    s->sleep_after_ms = s->seed % 2 == 0 ? 60 : -1;
    s->refused_wakes_percent = 20;
    s->vanishing_percent = s->seed % 3 == 0 ? 20 : 0;
    s->request_ms_max = s->seed % 5 == 0 ? 400 : 0;
  });
  EXPECT_GT(told.failures, Played(3000));
  EXPECT_GT(told.answered, Played(3000));
}

}  // namespace
}  // namespace cairn
