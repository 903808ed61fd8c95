#include "base/tokens.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace cairn
