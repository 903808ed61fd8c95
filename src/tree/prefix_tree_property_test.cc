// Random operations, held to a map from whole sequences to values.

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tree/prefix_tree.h"

namespace cairn {
namespace {

// Three letters make shared prefixes, splits and merges frequent.
Tokens RandomSequence(std::mt19937_64& random) {
  Tokens tokens(1 + random() % 9);
  for (Token& token : tokens) token = static_cast<Token>(random() % 3);
  return tokens;
}

class NaiveTree {
 public:
  std::map<Tokens, PrefixTree::Value> values;

  size_t Shared(const Tokens& asked) const {
    size_t longest = 0;
    for (const auto& [tokens, value] : values) {
      longest = std::max(longest, CommonPrefix(tokens, asked));
    }
    return longest;
  }
  std::vector<PrefixTree::Value> OnTheWay(const Tokens& asked) const {
    std::vector<PrefixTree::Value> found;
    for (size_t n = 1; n <= asked.size(); ++n) {
      const auto at = values.find(Tokens(asked.begin(), asked.begin() + static_cast<ptrdiff_t>(n)));
      if (at != values.end()) found.push_back(at->second);
    }
    return found;
  }
};

void ExpectSameAnswer(const PrefixTree& tree, const NaiveTree& naive, const Tokens& asked) {
  const PrefixTree::MatchResult match = tree.Match(1, asked);
  EXPECT_EQ(match.shared, naive.Shared(asked));
  std::vector<PrefixTree::Value> found;
  for (const PrefixTree::Stone& stone : match.stones) {
    EXPECT_EQ(PrefixTree::PositionOf(stone.node), stone.position);
    EXPECT_EQ(CommonPrefix(PrefixTree::TokensOf(stone.node), asked), stone.position);
    found.push_back(stone.value);
  }
  EXPECT_EQ(found, naive.OnTheWay(asked));
}

TEST(PrefixTreeProperty, AgreesWithAMapOverRandomOperations) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    PrefixTree tree;
    NaiveTree naive;
    for (PrefixTree::Value step = 1; step <= 150; ++step) {
      const Tokens tokens = RandomSequence(random);
      if (random() % 3 != 0) {
        tree.Put(1, tokens, step);
        naive.values[tokens] = step;
      } else if (const PrefixTree::Node* node = tree.Find(1, tokens)) {
        tree.Erase(node);
        ASSERT_EQ(naive.values.erase(tokens), 1u);
      } else {
        ASSERT_EQ(naive.values.count(tokens), 0u);
      }
      ExpectSameAnswer(tree, naive, RandomSequence(random));
      ASSERT_EQ(tree.value_count(), naive.values.size());
    }
    tree.CheckInvariants();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace cairn
