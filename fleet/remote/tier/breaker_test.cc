#include "fleet/remote/tier/breaker.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn {
namespace {

const Status kFailed = Fail(ErrorCode::kUnavailable, "refused");

class BreakerTest : public testing::Test {
 protected:
  void FailThrice() {
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(breaker_.Allows());
      breaker_.Note(kFailed);
    }
  }

  ManualClock clock_;
  std::vector<std::string> log_;
  Breaker breaker_{"the store", &clock_,
                   [this](LogLevel, std::string_view line) { log_.emplace_back(line); }};
};

TEST_F(BreakerTest, OpensAfterThreeFailuresAndLetsOneCallThroughLater) {
  FailThrice();
  EXPECT_TRUE(breaker_.open());
  EXPECT_FALSE(breaker_.Allows());
  clock_.Advance(5000);
  EXPECT_TRUE(breaker_.Allows());
  EXPECT_FALSE(breaker_.Allows());
  breaker_.Note({});
  EXPECT_TRUE(breaker_.Allows());
  ASSERT_EQ(log_.size(), 2U);
  EXPECT_NE(log_[0].find("the store fails: refused"), std::string::npos);
  EXPECT_EQ(log_[1], "the store answers again");
}

TEST_F(BreakerTest, WaitsTwiceAsLongEachTimeUpToAMinute) {
  FailThrice();
  for (const double ms : {5000.0, 10'000.0, 20'000.0, 40'000.0, 60'000.0, 60'000.0}) {
    clock_.Advance(ms - 1);
    EXPECT_FALSE(breaker_.Allows()) << ms;
    clock_.Advance(1);
    EXPECT_TRUE(breaker_.Allows()) << ms;
    breaker_.Note(kFailed);
  }
}

TEST_F(BreakerTest, FailuresThatAreRareDoNotOpenIt) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(breaker_.Allows());
    breaker_.Note(kFailed);
    clock_.Advance(6000);
  }
  EXPECT_EQ(breaker_.failures(), 20U);
  EXPECT_TRUE(log_.empty());
}

TEST_F(BreakerTest, MissingAndCorruptObjectsAreNoFailures) {
  for (int i = 0; i < 5; ++i) {
    breaker_.Note(Fail(ErrorCode::kNotFound, "gone"));
    breaker_.Note(Fail(ErrorCode::kCorrupt, "bad"));
  }
  EXPECT_FALSE(breaker_.open());
  EXPECT_EQ(breaker_.failures(), 0U);
}

TEST_F(BreakerTest, FullStoreIsReadAndNotWrittenForAMinute) {
  breaker_.Note(Fail(ErrorCode::kNoSpace, "full"));
  EXPECT_TRUE(breaker_.Allows());
  EXPECT_FALSE(breaker_.AllowsWrite());
  EXPECT_TRUE(breaker_.refusing());
  clock_.Advance(60'000);
  EXPECT_TRUE(breaker_.AllowsWrite());
}

}  // namespace
}  // namespace cairn
