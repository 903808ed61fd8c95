#include "lab/load/load_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cairn {
namespace {

TEST(MixedSchedule, IsTheSameForTheSameSeed) {
  MixedParams params;
  params.seed = 7;
  const MixedSchedule schedule = MakeMixedSchedule(params);
  EXPECT_EQ(schedule, MakeMixedSchedule(params));
  params.seed = 8;
  EXPECT_FALSE(schedule == MakeMixedSchedule(params));
}

TEST(MixedSchedule, IsTheSameOnEveryMachine) {
  const MixedSchedule schedule = MakeMixedSchedule({});
  EXPECT_EQ(schedule.prompts.at(1), (LongPrompt{8783, 4875}));
  EXPECT_EQ(schedule.chats.at(2).turns.at(3), (ChatTurn{4639, 143}));
}

TEST(MixedSchedule, HasAsManyOfEachAsWasAskedFor) {
  MixedParams params;
  params.chats = 3;
  params.turns = 5;
  params.prompts = 2;
  const MixedSchedule schedule = MakeMixedSchedule(params);
  EXPECT_EQ(schedule.prompts.size(), 2U);
  ASSERT_EQ(schedule.chats.size(), 3U);
  for (const ChatPlan& chat : schedule.chats) EXPECT_EQ(chat.turns.size(), 5U);
}

TEST(MixedSchedule, SendsLongPromptsOneAfterTheOther) {
  const MixedSchedule schedule = MakeMixedSchedule({});
  EXPECT_TRUE(
      std::is_sorted(schedule.prompts.begin(), schedule.prompts.end(),
                     [](const LongPrompt& a, const LongPrompt& b) { return a.at_ms < b.at_ms; }));
  for (const LongPrompt& prompt : schedule.prompts) {
    EXPECT_GE(prompt.tokens, 4000U);
    EXPECT_LE(prompt.tokens, 8000U);
  }
}

TEST(MixedSchedule, ScalesLengthsAndTimesAlike) {
  MixedParams params;
  const MixedSchedule whole = MakeMixedSchedule(params);
  params.scale = 0.5;
  const MixedSchedule half = MakeMixedSchedule(params);
  for (size_t i = 0; i < whole.prompts.size(); ++i) {
    EXPECT_DOUBLE_EQ(half.prompts[i].at_ms, whole.prompts[i].at_ms / 2);
    EXPECT_EQ(half.prompts[i].tokens, whole.prompts[i].tokens / 2);
  }
  EXPECT_DOUBLE_EQ(half.chats[0].turns[0].think_ms, whole.chats[0].turns[0].think_ms / 2);
}

}  // namespace
}  // namespace cairn
