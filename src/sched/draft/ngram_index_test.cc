#include "sched/draft/ngram_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string_view>

namespace cairn::ngram_index_test {
namespace {

Tokens T(std::string_view text) {
  return {text.begin(), text.end()};
}

std::optional<size_t> FindIn(std::string_view text, std::string_view ngram) {
  NgramIndex index(ngram.size());
  index.Extend(T(text));
  return index.Find(T(text), T(ngram));
}

TEST(NgramIndex, FindsThePositionBehindTheLatestOccurrence) {
  EXPECT_EQ(FindIn("the cat and the dog", "the"), 15u);
  EXPECT_EQ(FindIn("the cat and the dog", "cat"), 7u);
  EXPECT_EQ(FindIn("the cat and the dog", "dog"), 19u);
  EXPECT_EQ(FindIn("the cat and the dog", "cow"), std::nullopt);
}

TEST(NgramIndex, OfATextThatIsShorterThanAnNgramFindsNothing) {
  EXPECT_EQ(FindIn("th", "the"), std::nullopt);
  EXPECT_EQ(FindIn("", "the"), std::nullopt);
}

TEST(NgramIndex, ForgetsATextThatBecameShorter) {
  NgramIndex index(3);
  index.Extend(T("abcdefgh"));
  const Tokens shorter = T("xyzabc");
  index.Extend(shorter);
  EXPECT_EQ(index.Find(shorter, T("abc")), 6u);
  EXPECT_EQ(index.Find(shorter, T("def")), std::nullopt);
}

TEST(NgramIndex, NeverFindsWhatIsNotThereAndMostOfWhatIs) {
  std::mt19937_64 random(1);
  Tokens text;
  NgramIndex index(3);
  size_t found = 0;
  size_t there = 0;
  for (int step = 0; step < 4000; ++step) {
    text.push_back(static_cast<Token>(random() % 20));
    index.Extend(text);
    Tokens ngram;
    for (int i = 0; i < 3; ++i) ngram.push_back(static_cast<Token>(random() % 20));
    const auto at = std::search(text.begin(), text.end(), ngram.begin(), ngram.end());
    const auto position = index.Find(text, ngram);
    if (at != text.end()) ++there;
    if (!position) continue;
    ++found;
    ASSERT_TRUE(std::equal(ngram.begin(), ngram.end(),
                           text.begin() + static_cast<ptrdiff_t>(*position) - 3));
  }
  EXPECT_GT(there, 500u);
  EXPECT_GT(found, there * 3 / 4);
}

}  // namespace
}  // namespace cairn::ngram_index_test
