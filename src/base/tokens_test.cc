#include "base/tokens.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cairn {
namespace {

TEST(CommonPrefix, EndsAtTheFirstTokenThatDiffersWhereverItIs) {
  constexpr size_t kTokens = 200;
  const Tokens all(kTokens, 7);
  for (size_t i = 0; i < kTokens; ++i) {
    Tokens other = all;
    other[i] = 8;
    EXPECT_EQ(CommonPrefix(all, other), i);
  }
  EXPECT_EQ(CommonPrefix(all, all), kTokens);
}

TEST(CommonPrefix, EndsWithTheShorterOfTheTwo) {
  const Tokens all(200, 7);
  for (const size_t size : {0u, 1u, 63u, 64u, 65u, 128u, 199u}) {
    EXPECT_EQ(CommonPrefix(all, TokenSpan(all).first(size)), size);
    EXPECT_EQ(CommonPrefix(TokenSpan(all).first(size), all), size);
  }
}

// Each position of the other sequence from `differs` on has a number of its own.
TEST(CommonPrefix, OfNumberedTokensEndsWhereTheirNumbersBeginToDiffer) {
  constexpr Token kTokens = 130;
  Tokens all;
  for (Token i = 0; i < kTokens; ++i) all.push_back(Numbered(i));
  for (size_t differs = 0; differs <= all.size(); ++differs) {
    Tokens other = all;
    for (size_t i = differs; i < other.size(); ++i) other[i] += kTokens;
    for (const size_t size : {size_t{0}, size_t{1}, size_t{77}, all.size()}) {
      const TokenSpan front = TokenSpan(all).first(size);
      EXPECT_EQ(CommonPrefix(front, other), std::min(differs, size));
      EXPECT_EQ(CommonPrefix(other, front), std::min(differs, size));
    }
  }
}

TEST(Numbered, KeepsTheOrderOfTokens) {
  EXPECT_TRUE(IsNumbered(Numbered(0)) && IsNumbered(Numbered(kNumberedMax)));
  EXPECT_LT(Numbered(0), Numbered(1));
  EXPECT_LT(Numbered(1), Numbered(kNumberedMax));
}

}  // namespace
}  // namespace cairn
