#include "api/answer/running_answers.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(RunningAnswers, EndTheOneThatIsNamed) {
  RunningAnswers running;
  const auto one = std::make_shared<Generation>();
  const auto other = std::make_shared<Generation>();
  running.Add("chatcmpl-1", 1, one);
  running.Add("chatcmpl-2", 1, other);
  EXPECT_TRUE(running.Cancel("chatcmpl-1", 1).has_value());
  EXPECT_TRUE(one->cancelled());
  EXPECT_FALSE(other->cancelled());
}

TEST(RunningAnswers, AreNobodyElsesToEnd) {
  RunningAnswers running;
  const auto one = std::make_shared<Generation>();
  running.Add("chatcmpl-1", 1, one);
  const auto ended = running.Cancel("chatcmpl-1", 2);
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().status, 404);
  EXPECT_FALSE(one->cancelled());
}

TEST(RunningAnswers, AreForgottenWhenTheyHaveEnded) {
  RunningAnswers running;
  running.Add("chatcmpl-1", 1, std::make_shared<Generation>());
  EXPECT_EQ(running.Cancel("chatcmpl-1", 1).error().status, 404);
}

}  // namespace
}  // namespace cairn
