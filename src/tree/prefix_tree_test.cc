#include "tree/prefix_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

namespace cairn {
namespace {

Tokens AllOf(const Edge& edge) {
  Tokens tokens(edge.size());
  edge.Copy(0, tokens);
  return tokens;
}

// Numbered tokens in runs of one to four, or of up to 68.
Tokens AnyNumbered(size_t size, std::mt19937* random) {
  Tokens tokens;
  Token next = Numbered(0);
  const size_t least = 1 + (*random)() % 2 * 64;
  while (tokens.size() < size) {
    next += 10;
    for (size_t run = least + (*random)() % 4; run > 0; --run) tokens.push_back(next++);
  }
  tokens.resize(size);
  return tokens;
}

Tokens AnyPlain(size_t size, std::mt19937* random) {
  Tokens tokens(size);
  for (Token& token : tokens) token = static_cast<Token>((*random)() % 3);
  return tokens;
}

void ExpectBehavesAs(const Tokens& tokens, const Tokens& unlike) {
  const TokenSpan all = tokens;
  EXPECT_EQ(AllOf(Edge(all)), tokens);
  for (size_t n = 0; n <= tokens.size(); ++n) {
    for (size_t begin = 0; begin <= n; ++begin) {
      Tokens part(n - begin);
      Edge(all).Copy(begin, part);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), all.subspan(begin).begin()));
    }
    EXPECT_EQ(Edge(all).SharedWith(all.first(n)), n);
    Tokens other(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(n));
    other.insert(other.end(), unlike.begin(), unlike.end());
    EXPECT_EQ(Edge(all).SharedWith(other), n);
    if (n == 0 || n == tokens.size()) continue;
    Edge front(all);
    const Edge rest = front.CutAfter(n);
    EXPECT_EQ(front.size() + rest.size(), tokens.size());
    EXPECT_EQ(front.front(), tokens.front());
    EXPECT_EQ(rest.front(), tokens[n]);
    EXPECT_EQ(AllOf(front), Tokens(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(n)));
    EXPECT_EQ(AllOf(rest), Tokens(tokens.begin() + static_cast<ptrdiff_t>(n), tokens.end()));
    front.Append(rest);
    EXPECT_EQ(AllOf(front), tokens);
  }
}

TEST(Edge, CopiesComparesCutsAndJoinsItsTokens) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const size_t size = 1 + random() % 30;
    ExpectBehavesAs(AnyPlain(size, &random), Tokens(20, 5));
    Tokens unlike;
    for (Token i = 0; i < 20; ++i) unlike.push_back(Numbered(INT32_MAX - i));
    ExpectBehavesAs(AnyNumbered(size, &random), unlike);
  }
}

TEST(Edge, IsEmptyUntilItHasTokens) {
  EXPECT_TRUE(Edge().empty());
  EXPECT_EQ(Edge().size(), 0u);
  EXPECT_FALSE(Edge(Tokens{Numbered(3)}).empty());
}

constexpr PrefixTree::RootId kRoot = 1;

Tokens T(std::string_view letters) {
  return Tokens(letters.begin(), letters.end());
}

std::string Drawing(const PrefixTree& tree, PrefixTree::RootId root = kRoot) {
  return tree.Draw(
      root, [](Token token) { return std::string(1, static_cast<char>(token)); },
      [](PrefixTree::Value value) { return std::to_string(value); });
}

TEST(PrefixTree, SplitsWhereSecondPromptDiverges) {
  PrefixTree tree;
  tree.Put(kRoot, T("abcd"), 1);
  tree.Put(kRoot, T("abef"), 2);
  EXPECT_EQ(Drawing(tree),
            "ab\n"
            "  cd = 1\n"
            "  ef = 2\n");
  EXPECT_EQ(tree.stored_tokens(), 6u);
}

TEST(PrefixTree, KeepsAValueInTheMiddleOfALongerSequence) {
  PrefixTree tree;
  tree.Put(kRoot, T("abcd"), 1);
  tree.Put(kRoot, T("ab"), 2);
  EXPECT_EQ(Drawing(tree),
            "ab = 2\n"
            "  cd = 1\n");
}

TEST(PrefixTree, MergesWhenTheReasonForASplitIsErased) {
  PrefixTree tree;
  tree.Put(kRoot, T("abcd"), 1);
  const PrefixTree::Node* second = tree.Put(kRoot, T("abef"), 2);
  tree.Erase(second);
  EXPECT_EQ(Drawing(tree), "abcd = 1\n");
  tree.CheckInvariants();
}

TEST(PrefixTree, ErasingTheUpperOfTwoValuesJoinsTheirEdges) {
  PrefixTree tree;
  const PrefixTree::Node* upper = tree.Put(kRoot, T("ab"), 1);
  const PrefixTree::Node* lower = tree.Put(kRoot, T("abcd"), 2);
  tree.Erase(upper);
  EXPECT_EQ(Drawing(tree), "abcd = 2\n");
  EXPECT_EQ(PrefixTree::TokensOf(lower), T("abcd"));
  EXPECT_EQ(PrefixTree::TokensFrom(lower, 1), T("bcd"));
  EXPECT_EQ(PrefixTree::TokensFrom(lower, 3), T("d"));
  EXPECT_EQ(PrefixTree::TokensFrom(lower, 4), T(""));
}

TEST(PrefixTree, ErasingEverythingLeavesNothing) {
  PrefixTree tree;
  tree.Erase(tree.Put(kRoot, T("abcd"), 1));
  EXPECT_EQ(Drawing(tree), "");
  EXPECT_EQ(tree.stored_tokens(), 0u);
  EXPECT_EQ(tree.value_count(), 0u);
  EXPECT_EQ(tree.bytes(), 0u);
}

TEST(PrefixTree, MatchNamesEveryValueOnTheWay) {
  PrefixTree tree;
  tree.Put(kRoot, T("ab"), 1);
  tree.Put(kRoot, T("abcd"), 2);
  tree.Put(kRoot, T("abcdef"), 3);
  const PrefixTree::MatchResult match = tree.Match(kRoot, T("abcdexyz"));
  EXPECT_EQ(match.shared, 5u);
  ASSERT_EQ(match.hits.size(), 2u);
  EXPECT_EQ(match.hits[0].position, 2u);
  EXPECT_EQ(match.hits[1].position, 4u);
  EXPECT_EQ(match.hits[1].value, 2u);
}

TEST(PrefixTree, FindsOnlyWhereAValueEndsExactly) {
  PrefixTree tree;
  tree.Put(kRoot, T("abcd"), 1);
  tree.Put(kRoot, T("abef"), 2);
  EXPECT_EQ(tree.Find(kRoot, T("ab")), nullptr);
  EXPECT_EQ(tree.Find(kRoot, T("abc")), nullptr);
  EXPECT_EQ(tree.Find(kRoot, T("abcdx")), nullptr);
  ASSERT_NE(tree.Find(kRoot, T("abcd")), nullptr);
  EXPECT_EQ(PrefixTree::ValueOf(tree.Find(kRoot, T("abcd"))), 1u);
}

TEST(PrefixTree, KnowsTheNearestValueAbove) {
  PrefixTree tree;
  const PrefixTree::Node* top = tree.Put(kRoot, T("a"), 1);
  tree.Put(kRoot, T("abx"), 2);
  const PrefixTree::Node* deep = tree.Put(kRoot, T("abyz"), 3);
  EXPECT_EQ(PrefixTree::AncestorOf(deep), top);
  EXPECT_EQ(PrefixTree::AncestorOf(top), nullptr);
}

TEST(PrefixTree, ReplacesTheValueOfTheSameSequence) {
  PrefixTree tree;
  tree.Put(kRoot, T("ab"), 1);
  tree.Put(kRoot, T("ab"), 7);
  EXPECT_EQ(Drawing(tree), "ab = 7\n");
  EXPECT_EQ(tree.value_count(), 1u);
}

TEST(PrefixTree, HoldsAValueAtEveryTokenOfALongSequence) {
  PrefixTree tree;
  Tokens tokens(2000, 1);
  for (size_t n = 1; n <= tokens.size(); ++n) tree.Put(kRoot, TokenSpan(tokens).first(n), n);
  EXPECT_EQ(tree.value_count(), tokens.size());
  EXPECT_EQ(tree.stored_tokens(), tokens.size());
}

TEST(PrefixTree, KeepsWhatIsUnderOneRootFromTheOthers) {
  PrefixTree tree;
  tree.Put(1, T("abcd"), 1);
  tree.Put(2, T("abef"), 2);
  EXPECT_EQ(tree.Match(1, T("abef")).shared, 2u);
  EXPECT_EQ(tree.Match(3, T("abcd")).shared, 0u);
  EXPECT_EQ(tree.Find(2, T("abcd")), nullptr);
  EXPECT_EQ(Drawing(tree, 1), "abcd = 1\n");
  EXPECT_EQ(Drawing(tree, 2), "abef = 2\n");
  EXPECT_EQ(Drawing(tree, 3), "");
  EXPECT_EQ(tree.stored_tokens(), 8u);
  tree.CheckInvariants();
}

TEST(PrefixTree, ARootVanishesWithTheLastThingUnderIt) {
  PrefixTree tree;
  tree.Put(1, T("abcd"), 1);
  const PrefixTree::Node* upper = tree.Put(2, T("ab"), 2);
  const PrefixTree::Node* lower = tree.Put(2, T("abcd"), 3);
  EXPECT_EQ(tree.root_count(), 2u);
  tree.Erase(upper);
  EXPECT_EQ(tree.root_count(), 2u);
  tree.Erase(lower);
  EXPECT_EQ(tree.root_count(), 1u);
  tree.CheckInvariants();
}

TEST(PrefixTree, MatchNamesTheNodeWhereItEnds) {
  PrefixTree tree;
  const PrefixTree::Node* upper = tree.Put(kRoot, T("ab"), 1);
  const PrefixTree::Node* lower = tree.Put(kRoot, T("abcd"), 2);
  EXPECT_EQ(tree.Match(kRoot, T("abx")).last, upper);
  EXPECT_EQ(tree.Match(kRoot, T("abcx")).last, lower);
  EXPECT_EQ(tree.Match(kRoot, T("x")).last, nullptr);
}

TEST(PrefixTree, ThePathToAnEndLeadsToTheNewestAndThenToAnother) {
  PrefixTree tree;
  const PrefixTree::Node* top = tree.Put(kRoot, T("ab"), 1);
  const PrefixTree::Node* old = tree.Put(kRoot, T("abX"), 2);
  const PrefixTree::Node* newer = tree.Put(kRoot, T("abcd"), 3);
  const PrefixTree::Node* newest = tree.Put(kRoot, T("abcdef"), 4);
  EXPECT_EQ(PrefixTree::LeafOf(top), newest);
  EXPECT_EQ(PrefixTree::LeafOf(newer), newest);
  EXPECT_EQ(PrefixTree::LeafOf(old), old);
  tree.Erase(newest);
  EXPECT_EQ(PrefixTree::LeafOf(top), newer);
  tree.Erase(newer);
  EXPECT_EQ(PrefixTree::LeafOf(top), old);
  tree.Erase(old);
  EXPECT_EQ(PrefixTree::LeafOf(top), top);
}

TEST(PrefixTree, CountsTheMemoryOfItsTokensAndItsNodes) {
  PrefixTree tree;
  tree.Put(kRoot, T("abcd"), 1);
  EXPECT_EQ(tree.bytes(), PrefixTree::BytesOf(4));
  tree.Put(kRoot, T("abef"), 2);
  EXPECT_EQ(tree.bytes(), PrefixTree::BytesOf(6) + 2 * PrefixTree::NodeBytes());
}

TEST(PrefixTree, SaysWhatErasingFrees) {
  PrefixTree tree;
  const PrefixTree::Node* first = tree.Put(kRoot, T("abcd"), 1);
  const PrefixTree::Node* second = tree.Put(kRoot, T("abef"), 2);
  const PrefixTree::Node* branching = tree.Put(kRoot, T("ab"), 3);
  EXPECT_EQ(PrefixTree::BytesFreedBy(branching), 0u);
  EXPECT_EQ(PrefixTree::BytesFreedBy(second), 2 * sizeof(Token) + PrefixTree::NodeBytes());
  tree.Erase(branching);
  // Where no path branches any more, two nodes become one.
  EXPECT_EQ(PrefixTree::BytesFreedBy(second), 2 * sizeof(Token) + 2 * PrefixTree::NodeBytes());
  tree.Erase(second);
  EXPECT_EQ(PrefixTree::BytesFreedBy(first), tree.bytes());
}

}  // namespace
}  // namespace cairn
