#include "sched/draft/drafter.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace cairn {
namespace {

Tokens T(std::string_view text) {
  return {text.begin(), text.end()};
}

// The draft for a conversation whose last letter is not decoded yet.
std::string DraftFor(Drafter* drafter, std::string_view text, size_t tokens_max = 8) {
  const Draft draft = drafter->Propose(T(text.substr(0, text.size() - 1)), text.back(), tokens_max);
  return {draft.tokens.begin(), draft.tokens.end()};
}

TEST(NgramDrafter, RepeatsWhatFollowedTheSameTokensBefore) {
  const auto drafter = MakeNgramDrafter({});
  EXPECT_EQ(DraftFor(drafter.get(), "one two three, one t"), "wo three");
  EXPECT_EQ(DraftFor(drafter.get(), "one two three, one t", 3), "wo ");
  EXPECT_EQ(DraftFor(drafter.get(), "nothing like it here"), "");
}

TEST(NgramDrafter, TakesTheLongerOfTwoMatches) {
  const auto drafter = MakeNgramDrafter({});
  // The last three letters occurred later, the last eight only once.
  EXPECT_EQ(DraftFor(drafter.get(), "a red balloon, xxoon! a red balloon", 1), ",");
}

TEST(NgramDrafter, GoesOnWithARepetitionThatReachesIntoItself) {
  const auto drafter = MakeNgramDrafter({});
  EXPECT_EQ(DraftFor(drafter.get(), "abcabca", 7), "bcabcab");
}

TEST(NgramDrafter, FollowsAnEarlierAnswerUntilTheTwoDiffer) {
  const auto drafter = MakeNgramDrafter(T("yes it is"));
  EXPECT_EQ(DraftFor(drafter.get(), "? y"), "es it is");
  EXPECT_EQ(DraftFor(drafter.get(), "? yes", 4), " it ");
  EXPECT_EQ(DraftFor(drafter.get(), "? yes,"), "");
  EXPECT_EQ(DraftFor(drafter.get(), "? yes, "), "");
}

TEST(NgramDrafter, ForgetsAnEarlierAnswerWhenTheContextIsShifted) {
  const auto drafter = MakeNgramDrafter(T("abcdefgh"));
  EXPECT_EQ(DraftFor(drafter.get(), "0123456789a", 2), "bc");
  EXPECT_EQ(DraftFor(drafter.get(), "56789ab", 2), "");
}

TEST(FindDrafter, TakesLlamaServersNamesForNgramLookup) {
  EXPECT_EQ(*FindDrafter("none"), nullptr);
  for (const char* name : {"ngram", "ngram-simple", "ngram-map-k4v", "ngram-mod"}) {
    EXPECT_EQ(*FindDrafter(name), &MakeNgramDrafter) << name;
  }
  const auto unknown = FindDrafter("draft-eagle3");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().message,
            "there is no kind of speculative decoding named \"draft-eagle3\"; there are none and "
            "ngram");
}

}  // namespace
}  // namespace cairn
