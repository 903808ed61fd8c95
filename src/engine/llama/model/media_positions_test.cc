#include "engine/llama/model/media_positions.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

constexpr SeqId kSeq = 3;

// Ten tokens, an image of 12 rows in 4 positions, two tokens, one of 6 rows in 6, one of 20 in 5.
Tokens SomeTokens() {
  Tokens tokens(10, 1);
  const auto add = [&tokens](const Tokens& more) {
    tokens.insert(tokens.end(), more.begin(), more.end());
  };
  add(MediaTokens({1, 0}, 12, 4));
  add({7, 8});
  add(MediaTokens({2, 0}, 6, 6));
  add(MediaTokens({3, 0}, 20, 5));
  add({9});
  return tokens;
}

TEST(MediaPositions, AreThoseOfTheTokensWithoutMedia) {
  MediaPositions positions;
  positions.Set(kSeq, Tokens(100, 1));
  EXPECT_EQ(positions.At(kSeq, 77), 77U);
  EXPECT_EQ(positions.TokensAt(kSeq, 77), 77U);
}

TEST(MediaPositions, AreFewerBehindAnImageWhoseRowsShareThem) {
  const Tokens tokens = SomeTokens();
  MediaPositions positions;
  positions.Set(kSeq, tokens);
  for (const size_t at : {0, 5, 10, 22, 23, 24, 30, 50, 51}) {
    const size_t expected = PositionsOf(TokenSpan(tokens).first(at));
    EXPECT_EQ(positions.At(kSeq, at), expected) << at;
    EXPECT_EQ(positions.TokensAt(kSeq, expected), at) << at;
  }
}

TEST(MediaPositions, CountAnImageWhosePositionsAreNotAllTaken) {
  MediaPositions positions;
  positions.Set(kSeq, SomeTokens());
  EXPECT_EQ(positions.TokensAt(kSeq, 11), 22U) << "all rows at the image's first position";
  EXPECT_EQ(positions.TokensAt(kSeq, 10), 10U);
}

TEST(MediaPositions, ForgetMediaThatAreCutOffAndAreCopiedWithASequence) {
  MediaPositions positions;
  positions.Set(kSeq, SomeTokens());
  positions.Copy(kSeq, 4);
  positions.CutTo(kSeq, 10);
  EXPECT_EQ(positions.At(kSeq, 60), 60U);
  EXPECT_EQ(positions.At(4, 22), 14U);
  positions.Copy(kSeq, 4);
  EXPECT_EQ(positions.At(4, 22), 22U);
}

}  // namespace
}  // namespace cairn
