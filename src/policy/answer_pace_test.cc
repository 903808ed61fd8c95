#include "policy/answer_pace.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

std::unique_ptr<AnswerPace> Share(double prefill_share) {
  return *MakeAnswerPace({.name = "share", .prefill_share = prefill_share});
}

TEST(AnswerPace, ThatIsUnknownIsRefusedWithTheNamesThereAre) {
  const auto pace = MakeAnswerPace({.name = "fast"});
  ASSERT_FALSE(pace);
  EXPECT_EQ(pace.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(pace.error().message.find("none, rate, share"), std::string::npos)
      << pace.error().message;
}

TEST(AnswerPace, OfEveryNameDecodesAfterAChunkThatTookNoTimeSoonerOrLater) {
  for (const PolicySummary& policy : AnswerPaceSummaries()) {
    SCOPED_TRACE(policy.name);
    const auto pace = *MakeAnswerPace({.name = std::string(policy.name)});
    pace->OnNoAnswers(0);
    EXPECT_TRUE(pace->MayPrefill(0, 0));
    size_t chunks = 0;
    for (; pace->MayPrefill(0, 0) && chunks < 1000; ++chunks) pace->OnPrefill(0);
    EXPECT_LE(chunks, 100u);
    pace->OnDecode(0, 0);
    EXPECT_TRUE(pace->MayPrefill(0, 0));
  }
}

TEST(AnswerPace, OfEveryNameIsOverWithTheAnswers) {
  for (const PolicySummary& policy : AnswerPaceSummaries()) {
    SCOPED_TRACE(policy.name);
    const auto pace = *MakeAnswerPace({.name = std::string(policy.name)});
    pace->OnPrefill(100'000);
    EXPECT_FALSE(pace->MayPrefill(100'000, 1));
    pace->OnNoAnswers(100'000);
    EXPECT_FALSE(pace->owes());
    EXPECT_TRUE(pace->MayPrefill(100'000, 1));
  }
}

TEST(AnswerPace, OtherThanRateLimitsNoChunk) {
  EXPECT_GT(Share(0.5)->ChunkMsMax(1e9), 1e9);
}

TEST(NonePace, TakesTurns) {
  const auto pace = *MakeAnswerPace({.name = "none"});
  pace->OnPrefill(1000);
  EXPECT_FALSE(pace->owes());
  EXPECT_FALSE(pace->MayPrefill(1000, 1));
  pace->OnDecode(1001, 1);
  EXPECT_TRUE(pace->MayPrefill(1001, 1));
}

TEST(SharePace, OwesAnswersAsLongAsThePieceTookAtOneHalf) {
  const auto pace = Share(0.5);
  EXPECT_FALSE(pace->owes());
  pace->OnPrefill(180);
  pace->OnDecode(280, 100);
  EXPECT_TRUE(pace->owes());
  EXPECT_FALSE(pace->MayPrefill(280, 180));
  pace->OnDecode(360, 80);
  EXPECT_FALSE(pace->owes());
  EXPECT_TRUE(pace->MayPrefill(360, 180));
}

TEST(SharePace, OwesThreeTimesAsLongAtOneQuarter) {
  const auto pace = Share(0.25);
  pace->OnPrefill(100);
  pace->OnDecode(399, 299);
  EXPECT_TRUE(pace->owes());
  pace->OnDecode(400, 1);
  EXPECT_FALSE(pace->owes());
}

TEST(SharePace, OwesOneStepAtOne) {
  const auto pace = Share(1);
  pace->OnPrefill(1000);
  EXPECT_FALSE(pace->owes());
  EXPECT_FALSE(pace->MayPrefill(1000, 1));
  pace->OnDecode(1001, 1);
  EXPECT_TRUE(pace->MayPrefill(1001, 1));
}

// 300 ms, 15 tokens a second, and nine tenths of the time for prompts at least.
std::unique_ptr<AnswerPace> Rate() {
  return *MakeAnswerPace({.name = "rate"});
}

TEST(RatePace, LetsChunksFollowOneAnotherUntilTheGapWouldBeTooLong) {
  const auto pace = Rate();
  pace->OnDecode(1000, 10);
  EXPECT_EQ(pace->ChunkMsMax(1000), 290);
  pace->OnPrefill(60);
  EXPECT_FALSE(pace->owes()) << "the step before was longer than the share of 60 ms";
  // Time also passes between chunks.
  EXPECT_EQ(pace->ChunkMsMax(1070), 220);
  EXPECT_TRUE(pace->MayPrefill(1070, 219));
  EXPECT_FALSE(pace->MayPrefill(1070, 221));
}

TEST(RatePace, LetsAChunkOfAnyLengthFollowAStep) {
  const auto pace = Rate();
  pace->OnDecode(1000, 400);
  EXPECT_EQ(pace->ChunkMsMax(1000), 0);
  EXPECT_TRUE(pace->MayPrefill(1000, 5000));
  pace->OnPrefill(5000);
  EXPECT_FALSE(pace->MayPrefill(6000, 1));
}

TEST(RatePace, OwesTheTimeOfTheRate) {
  const auto pace = Rate();
  pace->OnDecode(1000, 2);
  // 15 steps take 30 ms of each second, so 970 ms of prefill owe 30 ms, less the step before.
  pace->OnPrefill(970);
  size_t steps = 0;
  for (; pace->owes(); ++steps) pace->OnDecode(1972 + 2 * static_cast<double>(steps), 2);
  EXPECT_GE(steps, 14u);
  EXPECT_LE(steps, 15u);
}

TEST(RatePace, OwesNoMoreThanPrefillLeavesOnASlowMachine) {
  const auto pace = Rate();
  pace->OnDecode(1000, 50);
  // 15 steps would take three quarters of the time.
  pace->OnPrefill(900);
  EXPECT_TRUE(pace->owes());
  pace->OnDecode(1950, 50);
  EXPECT_FALSE(pace->owes()) << "900 ms owe 100 ms, two steps";
}

TEST(RatePace, OwesNothingBeforeAStepWasMeasured) {
  const auto pace = Rate();
  pace->OnNoAnswers(1000);
  pace->OnPrefill(200);
  EXPECT_FALSE(pace->owes());
  EXPECT_TRUE(pace->MayPrefill(1200, 99));
  EXPECT_FALSE(pace->MayPrefill(1200, 101));
}

}  // namespace
}  // namespace cairn
