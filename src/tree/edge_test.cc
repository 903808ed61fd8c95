#include "tree/edge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

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

}  // namespace
}  // namespace cairn
