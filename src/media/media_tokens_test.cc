#include "media/media_tokens.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

Tokens Joined(std::initializer_list<Tokens> parts) {
  Tokens all;
  for (const Tokens& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(MediaTokens, AreThoseOfTheKeyAlone) {
  const Tokens image = MediaTokens({1, 2}, 256, 16);
  EXPECT_EQ(image.size(), 256U);
  EXPECT_EQ(MediaTokens({1, 2}, 256, 16), image);
  EXPECT_EQ(CommonTokens(MediaTokens({1, 3}, 256, 16), image), 0U);
  EXPECT_EQ(CommonTokens(MediaTokens({2, 2}, 256, 16), image), 0U);
}

TEST(MediaTokens, AreNoTokensOfAVocabularyAndNotNumbered) {
  for (uint64_t key = 0; key < 2000; ++key) {
    for (const Token token : MediaTokens({key, 0}, 64, 0xFFFF)) {
      EXPECT_TRUE(IsMediaToken(token) && !IsNumbered(token) && token < -1) << token;
    }
  }
  EXPECT_FALSE(IsMediaToken(-1));
  EXPECT_FALSE(IsMediaToken(0));
  EXPECT_FALSE(IsMediaToken(Numbered((1 << 30) - 1)));
  EXPECT_TRUE(IsNumbered(Numbered((1 << 30) - 1)));
  EXPECT_TRUE(IsNumbered(Numbered(0)));
}

TEST(MediaTokens, SayWhereMediaBeginAndEndAndHowManyPositionsTheyTake) {
  const Tokens a = MediaTokens({1, 0}, 12, 4);
  const Tokens b = MediaTokens({2, 0}, 4, 0xFFFF);
  const Tokens all = Joined({a, b, {7, 8}, a, {9}});
  const std::vector<MediumRange> expected = {{0, 12, 4}, {12, 16, 0xFFFF}, {18, 30, 4}};
  EXPECT_EQ(MediaIn(all), expected);
  EXPECT_EQ(PositionsOf(all), 4U + 0xFFFFU + 2 + 4 + 1);
  EXPECT_EQ(PositionsOf(TokenSpan(all).first(17)), 4U + 0xFFFFU + 1);
  EXPECT_EQ(PositionsOf({}), 0U);
  EXPECT_TRUE(HasMedia(all));
  EXPECT_FALSE(HasMedia(TokenSpan(all).subspan(16, 2)));
}

TEST(MediaTokens, AreSharedWholeOrNotAtAll) {
  const Tokens image = MediaTokens({1, 0}, 12, 4);
  Tokens other = image;
  other[7] = MediaTokens({2, 0}, 12, 4)[7];
  const Tokens a = Joined({{5, 6}, image, {7}});
  const Tokens b = Joined({{5, 6}, other, {7}});
  EXPECT_EQ(CommonTokens(a, b), 9U);
  EXPECT_EQ(CommonPrefix(a, b), 2U);
  EXPECT_EQ(CommonPrefix(a, TokenSpan(a).first(9)), 2U);
  EXPECT_EQ(CommonPrefix(a, Joined({{5, 6}, image, {8}})), 14U);
  EXPECT_EQ(BeforeMedium(a, 2), 2U);
  EXPECT_EQ(BeforeMedium(a, 13), 2U);
  EXPECT_EQ(BeforeMedium(a, 14), 14U);
  EXPECT_EQ(BeforeMedium(a, a.size()), a.size());
}

}  // namespace
}  // namespace cairn
