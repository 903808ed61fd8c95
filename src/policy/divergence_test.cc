#include "policy/divergence.h"

#include <gtest/gtest.h>

#include "testing/policy/test_shapes.h"

namespace cairn {
namespace {

using test::Conversation;

TEST(Divergence, IsDescribedByTheMessageInWhichItHappens) {
  const Divergence in_tool = DescribeDivergence(Conversation(), 520, 2000, 5);
  EXPECT_EQ(in_tool.diverged_in, DivergedIn::kTool);
  EXPECT_EQ(in_tool.tokens_into_message, 20u);
  EXPECT_EQ(in_tool.turns_from_end, 3u);
  const Divergence at_the_end = DescribeDivergence(Conversation(), 990, 990, 3);
  EXPECT_EQ(at_the_end.diverged_in, DivergedIn::kUser);
  EXPECT_EQ(at_the_end.turns_from_end, 0u);
}

TEST(Divergence, TellsInsideTheHeaderFromItsEnd) {
  EXPECT_EQ(DescribeDivergence(Conversation(), 40, 2000, 5).diverged_in, DivergedIn::kHeader);
  EXPECT_EQ(DescribeDivergence(Conversation(), 303, 2000, 5).diverged_in, DivergedIn::kHeaderEnd);
  EXPECT_EQ(DescribeDivergence(Conversation(), 400, 2000, 5).diverged_in, DivergedIn::kUser);
}

TEST(Divergence, OfAPromptThatIsNoChatIsOnlyAPlace) {
  PromptShape shape;
  shape.tokens = 900;
  const Divergence divergence = DescribeDivergence(shape, 500, 800, 0);
  EXPECT_EQ(divergence.diverged_in, DivergedIn::kUnknown);
  EXPECT_EQ(divergence.turns_from_end, Divergence::kUnknown);
}

// A prompt of 50,000 tokens and 20 turns, and another that diverges from it.
Divergence Far(size_t tokens_from_end) {
  Divergence divergence;
  divergence.stored_tokens = 50000;
  divergence.diverged_at = 50000 - tokens_from_end;
  return divergence;
}

Divergence AtTurn(DivergedIn diverged_in, size_t turns_from_end) {
  Divergence divergence = Far(3000);
  divergence.diverged_in = diverged_in;
  divergence.tokens_into_message = 5;
  divergence.turns_from_end = turns_from_end;
  return divergence;
}

void LearnOften(DivergenceHistogram* histogram, const Divergence& divergence, int times) {
  for (int i = 0; i < times; ++i) histogram->Learn(divergence);
}

TEST(DivergenceHistogram, BeginsWithWhatCodingAgentsDo) {
  const DivergenceHistogram histogram;
  EXPECT_NEAR(histogram.ShareWithin(256), 0.05, 0.001);
  EXPECT_NEAR(histogram.ShareWithin(1 << 20), 0.061, 0.001);
  EXPECT_GT(histogram.ShareAtTurn(true, 0), histogram.ShareAtTurn(true, 1));
  EXPECT_GT(histogram.ShareAtTurn(true, 1), histogram.ShareAtTurn(true, 9));
  EXPECT_GT(histogram.ShareAtTurn(true, 0), histogram.ShareAtTurn(false, 0));
}

TEST(DivergenceHistogram, SharesGrowWithTheDistanceAndStayBelowOne) {
  DivergenceHistogram histogram;
  LearnOften(&histogram, Far(5000), 300);
  double last = 0;
  for (size_t tokens = 0; tokens < size_t{1} << 30; tokens = tokens * 3 / 2 + 1) {
    EXPECT_GE(histogram.ShareWithin(tokens), last);
    last = histogram.ShareWithin(tokens);
  }
  EXPECT_LT(last, 1);
}

TEST(DivergenceHistogram, LearnsTheDistance) {
  DivergenceHistogram histogram;
  const double before = histogram.ShareWithin(8191) - histogram.ShareWithin(4095);
  LearnOften(&histogram, Far(5000), 300);
  EXPECT_LT(before, 0.01);
  EXPECT_GT(histogram.ShareWithin(8191) - histogram.ShareWithin(4095), 0.5);
}

TEST(DivergenceHistogram, LearnsTheTurn) {
  DivergenceHistogram histogram;
  const double within = histogram.ShareWithin(50000);
  LearnOften(&histogram, AtTurn(DivergedIn::kUser, 1), 300);
  EXPECT_GT(histogram.ShareAtTurn(true, 1), 0.5);
  EXPECT_LT(histogram.ShareAtTurn(false, 1), 0.01);
  EXPECT_LT(histogram.ShareWithin(50000), within);
}

TEST(DivergenceHistogram, CountsWhatPartsDeepInsideAMessageByItsDistance) {
  DivergenceHistogram histogram;
  Divergence divergence = AtTurn(DivergedIn::kUser, 1);
  divergence.tokens_into_message = 900;
  LearnOften(&histogram, divergence, 300);
  EXPECT_LT(histogram.ShareAtTurn(true, 1), 0.01);
  EXPECT_GT(histogram.ShareWithin(4096), 0.5);
}

TEST(DivergenceHistogram, PromptsThatGoOnMakeAllDivergencesRarer) {
  DivergenceHistogram histogram;
  const double before = histogram.ShareWithin(50000);
  LearnOften(&histogram, Far(0), 300);
  EXPECT_LT(histogram.ShareWithin(50000), before / 2);
  EXPECT_GT(histogram.ShareWithin(50000), 0);
}

TEST(DivergenceHistogram, ForgetsWhatDoesNotHappenAnyMore) {
  DivergenceHistogram histogram;
  LearnOften(&histogram, Far(5000), 300);
  LearnOften(&histogram, Far(0), 2000);
  EXPECT_LT(histogram.ShareWithin(50000), 0.03);
}

TEST(DivergenceHistogram, APlaceBeyondEveryBucketIsCountedInTheLast) {
  DivergenceHistogram histogram;
  Divergence divergence;
  divergence.stored_tokens = SIZE_MAX;
  LearnOften(&histogram, divergence, 300);
  LearnOften(&histogram, AtTurn(DivergedIn::kTool, SIZE_MAX - 1), 300);
  EXPECT_LT(histogram.ShareWithin(1 << 20), 0.1);
  EXPECT_GT(histogram.ShareWithin(SIZE_MAX), 0.2);
}

}  // namespace
}  // namespace cairn
