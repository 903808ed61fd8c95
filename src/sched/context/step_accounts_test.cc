#include "sched/context/step_accounts.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(SaveLag, LastsFromTheFirstAnswerUntilNothingIsUnsaved) {
  SaveLag lag;
  EXPECT_FALSE(lag.OnUnsaved(0, 5));
  lag.OnAnswer(10);
  EXPECT_FALSE(lag.OnUnsaved(100, 20));
  lag.OnAnswer(30);
  EXPECT_EQ(lag.OnUnsaved(0, 50), 40.0);
  EXPECT_FALSE(lag.OnUnsaved(0, 60));
  lag.OnAnswer(70);
  EXPECT_EQ(lag.OnUnsaved(0, 71), 1.0);
}

}  // namespace
}  // namespace cairn
