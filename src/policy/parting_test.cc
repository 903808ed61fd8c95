#include "policy/parting.h"

#include <gtest/gtest.h>

#include "policy/parting_histogram.h"
#include "testing/policy/test_shapes.h"

namespace cairn {
namespace {

using test::Conversation;

TEST(Parting, IsDescribedByTheMessageInWhichItHappens) {
  const Parting in_tool = DescribeParting(Conversation(), 520, 2000, 5);
  EXPECT_EQ(in_tool.parted_in, PartedIn::kTool);
  EXPECT_EQ(in_tool.tokens_into_message, 20u);
  EXPECT_EQ(in_tool.turns_from_end, 3u);
  const Parting at_the_end = DescribeParting(Conversation(), 990, 990, 3);
  EXPECT_EQ(at_the_end.parted_in, PartedIn::kUser);
  EXPECT_EQ(at_the_end.turns_from_end, 0u);
}

TEST(Parting, TellsInsideTheHeaderFromItsEnd) {
  EXPECT_EQ(DescribeParting(Conversation(), 40, 2000, 5).parted_in, PartedIn::kHeader);
  EXPECT_EQ(DescribeParting(Conversation(), 303, 2000, 5).parted_in, PartedIn::kHeaderEnd);
  EXPECT_EQ(DescribeParting(Conversation(), 400, 2000, 5).parted_in, PartedIn::kUser);
}

TEST(Parting, OfAPromptThatIsNoChatIsOnlyAPlace) {
  PromptShape shape;
  shape.tokens = 900;
  const Parting parting = DescribeParting(shape, 500, 800, 0);
  EXPECT_EQ(parting.parted_in, PartedIn::kUnknown);
  EXPECT_EQ(parting.turns_from_end, Parting::kUnknown);
}

// A prompt of 50,000 tokens and 20 turns, and another that parts from it.
Parting Far(size_t tokens_from_end) {
  Parting parting;
  parting.stored_tokens = 50000;
  parting.parted_at = 50000 - tokens_from_end;
  return parting;
}

Parting AtTurn(PartedIn parted_in, size_t turns_from_end) {
  Parting parting = Far(3000);
  parting.parted_in = parted_in;
  parting.tokens_into_message = 5;
  parting.turns_from_end = turns_from_end;
  return parting;
}

void LearnOften(PartingHistogram* histogram, const Parting& parting, int times) {
  for (int i = 0; i < times; ++i) histogram->Learn(parting);
}

TEST(PartingHistogram, BeginsWithWhatCodingAgentsDo) {
  const PartingHistogram histogram;
  EXPECT_NEAR(histogram.ShareWithin(256), 0.05, 0.001);
  EXPECT_NEAR(histogram.ShareWithin(1 << 20), 0.061, 0.001);
  EXPECT_GT(histogram.ShareAtTurn(true, 0), histogram.ShareAtTurn(true, 1));
  EXPECT_GT(histogram.ShareAtTurn(true, 1), histogram.ShareAtTurn(true, 9));
  EXPECT_GT(histogram.ShareAtTurn(true, 0), histogram.ShareAtTurn(false, 0));
}

TEST(PartingHistogram, SharesGrowWithTheDistanceAndStayBelowOne) {
  PartingHistogram histogram;
  LearnOften(&histogram, Far(5000), 300);
  double last = 0;
  for (size_t tokens = 0; tokens < size_t{1} << 30; tokens = tokens * 3 / 2 + 1) {
    EXPECT_GE(histogram.ShareWithin(tokens), last);
    last = histogram.ShareWithin(tokens);
  }
  EXPECT_LT(last, 1);
}

TEST(PartingHistogram, LearnsTheDistance) {
  PartingHistogram histogram;
  const double before = histogram.ShareWithin(8191) - histogram.ShareWithin(4095);
  LearnOften(&histogram, Far(5000), 300);
  EXPECT_LT(before, 0.01);
  EXPECT_GT(histogram.ShareWithin(8191) - histogram.ShareWithin(4095), 0.5);
}

TEST(PartingHistogram, LearnsTheTurn) {
  PartingHistogram histogram;
  const double within = histogram.ShareWithin(50000);
  LearnOften(&histogram, AtTurn(PartedIn::kUser, 1), 300);
  EXPECT_GT(histogram.ShareAtTurn(true, 1), 0.5);
  EXPECT_LT(histogram.ShareAtTurn(false, 1), 0.01);
  EXPECT_LT(histogram.ShareWithin(50000), within);
}

TEST(PartingHistogram, CountsWhatPartsDeepInsideAMessageByItsDistance) {
  PartingHistogram histogram;
  Parting parting = AtTurn(PartedIn::kUser, 1);
  parting.tokens_into_message = 900;
  LearnOften(&histogram, parting, 300);
  EXPECT_LT(histogram.ShareAtTurn(true, 1), 0.01);
  EXPECT_GT(histogram.ShareWithin(4096), 0.5);
}

TEST(PartingHistogram, PromptsThatGoOnMakeAllPartingsRarer) {
  PartingHistogram histogram;
  const double before = histogram.ShareWithin(50000);
  LearnOften(&histogram, Far(0), 300);
  EXPECT_LT(histogram.ShareWithin(50000), before / 2);
  EXPECT_GT(histogram.ShareWithin(50000), 0);
}

TEST(PartingHistogram, ForgetsWhatDoesNotHappenAnyMore) {
  PartingHistogram histogram;
  LearnOften(&histogram, Far(5000), 300);
  LearnOften(&histogram, Far(0), 2000);
  EXPECT_LT(histogram.ShareWithin(50000), 0.03);
}

TEST(PartingHistogram, APlaceBeyondEveryBucketIsCountedInTheLast) {
  PartingHistogram histogram;
  Parting parting;
  parting.stored_tokens = SIZE_MAX;
  LearnOften(&histogram, parting, 300);
  LearnOften(&histogram, AtTurn(PartedIn::kTool, SIZE_MAX - 1), 300);
  EXPECT_LT(histogram.ShareWithin(1 << 20), 0.1);
  EXPECT_GT(histogram.ShareWithin(SIZE_MAX), 0.2);
}

}  // namespace
}  // namespace cairn
