#include "tree/prefix_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace cairn {
namespace {

Tokens T(std::string_view letters) {
  return Tokens(letters.begin(), letters.end());
}

std::string Drawing(const PrefixTree& tree) {
  return tree.Draw([](Token token) { return std::string(1, static_cast<char>(token)); },
                   [](PrefixTree::Value value) { return std::to_string(value); });
}

TEST(PrefixTree, SplitsWhereSecondPromptDiverges) {
  PrefixTree tree;
  tree.Put(T("abcd"), 1);
  tree.Put(T("abef"), 2);
  EXPECT_EQ(Drawing(tree),
            "ab\n"
            "  cd = 1\n"
            "  ef = 2\n");
  EXPECT_EQ(tree.stored_tokens(), 6u);
}

TEST(PrefixTree, KeepsAValueInTheMiddleOfALongerSequence) {
  PrefixTree tree;
  tree.Put(T("abcd"), 1);
  tree.Put(T("ab"), 2);
  EXPECT_EQ(Drawing(tree),
            "ab = 2\n"
            "  cd = 1\n");
}

TEST(PrefixTree, MergesWhenTheReasonForASplitIsErased) {
  PrefixTree tree;
  tree.Put(T("abcd"), 1);
  const PrefixTree::Node* second = tree.Put(T("abef"), 2);
  tree.Erase(second);
  EXPECT_EQ(Drawing(tree), "abcd = 1\n");
  tree.CheckInvariants();
}

TEST(PrefixTree, ErasingTheUpperOfTwoValuesJoinsTheirEdges) {
  PrefixTree tree;
  const PrefixTree::Node* upper = tree.Put(T("ab"), 1);
  const PrefixTree::Node* lower = tree.Put(T("abcd"), 2);
  tree.Erase(upper);
  EXPECT_EQ(Drawing(tree), "abcd = 2\n");
  EXPECT_EQ(PrefixTree::TokensOf(lower), T("abcd"));
}

TEST(PrefixTree, ErasingEverythingLeavesNothing) {
  PrefixTree tree;
  tree.Erase(tree.Put(T("abcd"), 1));
  EXPECT_EQ(Drawing(tree), "");
  EXPECT_EQ(tree.stored_tokens(), 0u);
  EXPECT_EQ(tree.value_count(), 0u);
}

TEST(PrefixTree, MatchNamesEveryValueOnTheWay) {
  PrefixTree tree;
  tree.Put(T("ab"), 1);
  tree.Put(T("abcd"), 2);
  tree.Put(T("abcdef"), 3);
  const PrefixTree::MatchResult match = tree.Match(T("abcdexyz"));
  EXPECT_EQ(match.shared, 5u);
  ASSERT_EQ(match.stones.size(), 2u);
  EXPECT_EQ(match.stones[0].position, 2u);
  EXPECT_EQ(match.stones[1].position, 4u);
  EXPECT_EQ(match.stones[1].value, 2u);
}

TEST(PrefixTree, FindsOnlyWhereAValueEndsExactly) {
  PrefixTree tree;
  tree.Put(T("abcd"), 1);
  tree.Put(T("abef"), 2);
  EXPECT_EQ(tree.Find(T("ab")), nullptr);
  EXPECT_EQ(tree.Find(T("abc")), nullptr);
  EXPECT_EQ(tree.Find(T("abcdx")), nullptr);
  ASSERT_NE(tree.Find(T("abcd")), nullptr);
  EXPECT_EQ(PrefixTree::ValueOf(tree.Find(T("abcd"))), 1u);
}

TEST(PrefixTree, KnowsTheNearestValueAbove) {
  PrefixTree tree;
  const PrefixTree::Node* top = tree.Put(T("a"), 1);
  tree.Put(T("abx"), 2);
  const PrefixTree::Node* deep = tree.Put(T("abyz"), 3);
  EXPECT_EQ(PrefixTree::AncestorOf(deep), top);
  EXPECT_EQ(PrefixTree::AncestorOf(top), nullptr);
}

TEST(PrefixTree, ReplacesTheValueOfTheSameSequence) {
  PrefixTree tree;
  tree.Put(T("ab"), 1);
  tree.Put(T("ab"), 7);
  EXPECT_EQ(Drawing(tree), "ab = 7\n");
  EXPECT_EQ(tree.value_count(), 1u);
}

TEST(PrefixTree, HoldsAValueAtEveryTokenOfALongSequence) {
  PrefixTree tree;
  Tokens tokens(2000, 1);
  for (size_t n = 1; n <= tokens.size(); ++n) tree.Put(TokenSpan(tokens).first(n), n);
  EXPECT_EQ(tree.value_count(), tokens.size());
  EXPECT_EQ(tree.stored_tokens(), tokens.size());
}

}  // namespace
}  // namespace cairn
