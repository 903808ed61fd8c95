// Thousands of schedules, see testing/sched/played_schedule.h.

#include "testing/sched/played_schedule.h"

#include <gtest/gtest.h>

#include "testing/base/played_share.h"

namespace cairn {
namespace {

using test::Played;
using test::PlayMany;
using test::Schedule;
using test::Told;

TEST(ScheduleProperty, EveryAnswerIsRightHoweverRequestsComeTogether) {
  const Told told = PlayMany(1, 800, [](Schedule*) {});
  EXPECT_EQ(told.cancelled + told.timed_out + told.refused, 0u);
  EXPECT_GT(told.reused, Played(100'000));
}

TEST(ScheduleProperty, NobodyPassesWhoHasWaitedForLongerThanItReads) {
  const Told told = PlayMany(1001, 1500, [](Schedule* s) {
    s->headers = 0;
    s->clients = 8 + s->seed % 9;
    s->name_spaces = 1 + s->seed % 3;
    s->slots = 1 + s->seed % 3;
  });
  EXPECT_GT(told.answered, Played(10'000));
}

TEST(ScheduleProperty, ClientsThatVanishTakeNobodyWithThem) {
  const Told told = PlayMany(2001, 2500, [](Schedule* s) { s->vanishing_percent = 30; });
  EXPECT_GT(told.cancelled, Played(1000));
  EXPECT_GT(told.answered, Played(3000));
}

TEST(ScheduleProperty, AFullQueueRefusesAndSixtyFourClientsAreAnsweredAllTheSame) {
  const Told told = PlayMany(3001, 3060, [](Schedule* s) {
    s->clients = 64;
    s->queue_limit = 4 + s->seed % 40;
    s->name_spaces = 1 + s->seed % 5;
    s->vanishing_percent = 10;
  });
  EXPECT_GT(told.refused, Played(1000));
  EXPECT_GT(told.answered, Played(10'000));
}

TEST(ScheduleProperty, WhatIsReadAheadChangesNoAnswer) {
  const Told told = PlayMany(4001, 4500, [](Schedule* s) {
    s->warms = true;
    s->ram_bytes_max = s->seed % 3 == 0 ? 20'000 : 1 << 20;
    s->vanishing_percent = 5;
  });
  EXPECT_GT(told.warmed, Played(10'000));
}

TEST(ScheduleProperty, SlotsThatOutgrowTheContextGiveWayAndComeBack) {
  const Told told = PlayMany(5001, 5300, [](Schedule* s) {
    s->cells = 3000;
    s->slots = 3 + s->seed % 3;
    s->clients = 6 + s->seed % 10;
    s->warms = s->seed % 2 == 0;
  });
  EXPECT_GT(told.answered, Played(5000));
}

TEST(ScheduleProperty, WhoRunsOutOfTimeIsToldAndTheOthersAreNot) {
  const Told told = PlayMany(6001, 6300, [](Schedule* s) {
    s->request_ms_max = 400;
    s->pace.prefill_share = s->seed % 2 == 0 ? 1 : 0.2;
  });
  EXPECT_GT(told.timed_out, Played(500));
  EXPECT_GT(told.answered, Played(1000));
}

TEST(ScheduleProperty, AModelThatIsUnloadedBetweenRequestsAnswersAsOneThatStays) {
  const Told told = PlayMany(7001, 7800, [](Schedule* s) {
    s->clients = 1 + s->seed % 7;
    s->headers = s->seed % 4 < 3 ? 3 : 0;
    s->pause_ms_max = 2000;
    s->sleep_after_ms = static_cast<double>(s->seed % 7 * 30);
    s->refused_wakes_percent = s->seed % 2 == 0 ? 40 : 0;
    s->warms = s->seed % 3 == 0;
    s->cells = s->seed % 5 == 0 ? 3000 : 0;
    s->ram_bytes_max = s->seed % 11 == 0 ? 20'000 : 1 << 20;
    s->vanishing_percent = s->seed % 13 == 0 ? 20 : 0;
    s->request_ms_max = s->seed % 17 == 0 ? 400 : 0;
  });
  EXPECT_GT(told.slept, Played(700));
  EXPECT_GT(told.refused_to_wake, Played(200));
  EXPECT_GT(told.answered, Played(8000));
  EXPECT_GT(told.reused_after_sleep, Played(500'000));
}

}  // namespace
}  // namespace cairn
