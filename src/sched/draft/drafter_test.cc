#include "sched/draft/drafter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::drafter_test {
namespace {

Tokens T(std::string_view text) {
  return {text.begin(), text.end()};
}

// The draft for a conversation whose last letter is not decoded yet.
std::string DraftFor(Drafter* drafter, std::string_view text, size_t tokens_max = 8) {
  const auto length_of = [tokens_max](DraftSource, size_t tokens) {
    return std::min(tokens, tokens_max);
  };
  const Tokens decoded = T(text.substr(0, text.size() - 1));
  const Draft draft = drafter->Propose({decoded, text.back()}, length_of);
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
  const auto drafter = MakeNgramDrafter({T("yes it is")});
  EXPECT_EQ(DraftFor(drafter.get(), "? y"), "es it is");
  EXPECT_EQ(DraftFor(drafter.get(), "? yes", 4), " it ");
  EXPECT_EQ(DraftFor(drafter.get(), "? yes,"), "");
  EXPECT_EQ(DraftFor(drafter.get(), "? yes, "), "");
}

TEST(NgramDrafter, ForgetsAnEarlierAnswerWhenTheContextIsShifted) {
  const auto drafter = MakeNgramDrafter({T("abcdefgh")});
  EXPECT_EQ(DraftFor(drafter.get(), "0123456789a", 2), "bc");
  EXPECT_EQ(DraftFor(drafter.get(), "56789ab", 2), "");
}

TEST(NgramDrafter, FindsInOtherConversationsWhatItsOwnDoesNotHave) {
  const auto stored = std::make_shared<const StoredText>(
      std::vector<Tokens>{T("int main() { return 0; }"), T("int main() { return 1; }")});
  const auto drafter = MakeNgramDrafter({{}, stored});
  // The last of them counts, and drafts end where a text does.
  EXPECT_EQ(DraftFor(drafter.get(), "? int main() {", 30), " return 1; }");
  EXPECT_EQ(DraftFor(drafter.get(), "? main"), "");
}

TEST(NgramDrafter, LeavesFewTokensThatOccurredBeforeToADraftModel) {
  const auto drafter = MakeNgramDrafter({{}, nullptr, true});
  EXPECT_EQ(DraftFor(drafter.get(), "one two three, one t"), "");
  EXPECT_EQ(DraftFor(drafter.get(), "one two three, one two th", 2), "re");
}

TEST(ParseDraftKinds, TakesLlamaServersNames) {
  EXPECT_FALSE(ParseDraftKinds("none")->ngram);
  for (const char* name : {"ngram", "ngram-simple", "ngram-map-k4v", "ngram-mod"}) {
    const auto kinds = ParseDraftKinds(name);
    EXPECT_TRUE(kinds->ngram && !kinds->draft_model) << name;
  }
  const auto both = ParseDraftKinds("draft-simple,ngram-mod");
  EXPECT_TRUE(both->ngram && both->draft_model);
  const auto heads = ParseDraftKinds("draft-mtp");
  EXPECT_TRUE(heads->mtp && !heads->ngram && !heads->automatic);
  const auto all = ParseDraftKinds("auto");
  EXPECT_TRUE(all->mtp && all->ngram && all->automatic);
  const auto unknown = ParseDraftKinds("ngram,draft-eagle3");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().message,
            "there is no kind of speculative decoding named \"draft-eagle3\"; there are none, "
            "auto, ngram, draft-mtp and draft-simple");
}

TEST(AnswerDrafts, BeginWithWhatEarlierAnswersSaw) {
  Acceptance seen = ExpectedAcceptances();
  seen[static_cast<size_t>(DraftSource::kMtp)] = 0.05;
  AnswerDrafts drafts({}, seen);
  EXPECT_EQ(drafts.accepted(DraftSource::kMtp), 0.05);
  EXPECT_EQ(drafts.accepted(DraftSource::kLongNgram), 0.8);
  drafts.OnVerified(DraftSource::kMtp, 4, 4);
  const double raised = drafts.accepted(DraftSource::kMtp);
  EXPECT_GT(raised, 0.3);
  // A source that is skipped goes back to that, not to what nothing is known of.
  for (int i = 0; i < 1000; ++i) drafts.OnSkipped(DraftSource::kMtp);
  EXPECT_NEAR(drafts.accepted(DraftSource::kMtp), 0.05, 0.01);
}

}  // namespace
}  // namespace cairn::drafter_test
