#include "chat/spans/token_map.h"

#include <gtest/gtest.h>

#include <random>

namespace cairn::token_map_test {
namespace {

using Pieces = std::vector<std::string>;

// Tries every position and returns the first of those whose tokens reach furthest without exceeding
// the offset.
std::optional<size_t> NaivePosition(const std::string& text, const Pieces& pieces, size_t offset) {
  size_t best = 0;
  size_t best_bytes = 0;
  size_t agreed = 0;
  std::string so_far;
  for (size_t position = 1; position <= pieces.size(); ++position) {
    so_far += pieces[position - 1];
    if (!text.starts_with(so_far)) break;
    agreed = so_far.size();
    if (agreed > offset || agreed == best_bytes) continue;
    best = position;
    best_bytes = agreed;
  }
  if (offset > agreed) return std::nullopt;
  return best;
}

TEST(TokenMap, RoundsDownToTheTokenThatContainsTheOffset) {
  const TokenMap map("Hello world", Pieces{"Hel", "lo", " wor", "ld"});
  EXPECT_EQ(map.PositionAt(0), 0u);
  EXPECT_EQ(map.PositionAt(2), 0u);
  EXPECT_EQ(map.PositionAt(3), 1u);
  EXPECT_EQ(map.PositionAt(8), 2u);
  EXPECT_EQ(map.PositionAt(9), 3u);
  EXPECT_EQ(map.PositionAt(11), 4u);
  EXPECT_EQ(map.PositionAt(12), std::nullopt);
}

TEST(TokenMap, GivesNoPositionBeyondTheFirstDisagreement) {
  const TokenMap map("Hello WORLD again", Pieces{"Hello", " world", " again"});
  EXPECT_EQ(map.agreed_bytes(), 5u);
  EXPECT_EQ(map.PositionAt(4), 0u);
  EXPECT_EQ(map.PositionAt(5), 1u);
  EXPECT_EQ(map.PositionAt(6), std::nullopt);
  EXPECT_EQ(map.PositionAt(17), std::nullopt);
}

TEST(TokenMap, CountsTokensThatAreNotInTheText) {
  const TokenMap map("ab", Pieces{"<s>", "a", "b"}, 1);
  EXPECT_EQ(map.PositionAt(0), 1u);
  EXPECT_EQ(map.PositionAt(2), 3u);
}

TEST(TokenMap, ForgivesTheSpaceThatATokenizerPutsInFrontOfAWord) {
  const TokenMap map("Hi<x>you", Pieces{" Hi", "<x>", " y", "ou"});
  EXPECT_EQ(map.PositionAt(5), 2u);
  EXPECT_EQ(map.PositionAt(8), 4u);
}

TEST(TokenMap, TakesTheFirstOfSeveralTokensAtOnePlace) {
  const TokenMap map("ab", Pieces{"", "a", "", "", "b", ""});
  EXPECT_EQ(map.PositionAt(0), 0u);
  EXPECT_EQ(map.PositionAt(1), 2u);
  EXPECT_EQ(map.PositionAt(2), 5u);
}

TEST(TokenMap, HasOnlyTheStartOfATextWithoutTokens) {
  const TokenMap map("text", Pieces{});
  EXPECT_EQ(map.PositionAt(0), 0u);
  EXPECT_EQ(map.PositionAt(1), std::nullopt);
  EXPECT_EQ(TokenMap("", Pieces{}, 3).PositionAt(0), 0u);
}

TEST(TokenMap, EqualsANaiveWalkOnRandomTexts) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    Pieces pieces(random() % 12);
    std::string text;
    for (std::string& piece : pieces) {
      for (size_t n = random() % 4; n > 0; --n) piece += static_cast<char>('a' + random() % 3);
      text += piece;
    }
    if (!text.empty() && random() % 3 == 0) text[random() % text.size()] = 'z';
    const TokenMap map(text, pieces);
    for (size_t offset = 0; offset <= text.size() + 1; ++offset) {
      ASSERT_EQ(map.PositionAt(offset), NaivePosition(text, pieces, offset))
          << text << " at " << offset;
    }
  }
}

}  // namespace
}  // namespace cairn::token_map_test
