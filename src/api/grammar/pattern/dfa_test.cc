#include "api/grammar/pattern/dfa.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "testing/base/played_share.h"

namespace cairn::dfa_test {
namespace {

using Op = Dfa::Op;

Dfa Joined(const Dfa& left, const Dfa& right, Op op) {
  WorkBudget budget(1000000);
  auto joined = left.With(right, op, &budget);
  EXPECT_TRUE(joined.has_value());
  return joined.value_or(Dfa::Nothing());
}

Dfa Words(const std::vector<std::string>& words) {
  auto made = Dfa::OfWords(words);
  EXPECT_TRUE(made.has_value());
  return made.value_or(Dfa::Nothing());
}

TEST(Dfa, HoldsItsWordsAndNoOthers) {
  const Dfa words = Words({"ab", "abc", "xbc", "", "äö"});
  for (const char* word : {"ab", "abc", "xbc", "", "äö"}) EXPECT_TRUE(words.Matches(word)) << word;
  for (const char* word : {"a", "abcd", "xb", "ä", "b"}) EXPECT_FALSE(words.Matches(word)) << word;
  EXPECT_EQ(words.TextLengths().least, 0u);
  EXPECT_EQ(words.TextLengths().most, 3u);
  EXPECT_TRUE(Words({}).empty());
  // The ends that words share are there once.
  EXPECT_EQ(Words({"abc", "xbc", "yc"}).states().size(), 4u);
  std::vector<std::string> many;
  for (int i = 0; i < 30000; ++i)
    many.push_back(std::to_string(i) + std::string(20, '-') + std::to_string(i));
  EXPECT_FALSE(Dfa::OfWords(many).has_value());
}

TEST(Dfa, OperationsAreThoseOfSets) {
  std::mt19937 random(7);
  const auto set = [&] {
    std::set<std::string> words;
    for (size_t i = random() % 6; i > 0; --i) {
      std::string word;
      for (size_t j = random() % 4; j > 0; --j) word += static_cast<char>('a' + random() % 3);
      words.insert(word);
    }
    return words;
  };
  std::vector<std::string> all = {""};
  for (size_t i = 0; i < all.size() && all.size() < 400; ++i) {
    for (const char c : {'a', 'b', 'c'}) all.push_back(all[i] + c);
  }
  for (size_t i = 0; i < test::Played(200); ++i) {
    const auto left = set();
    const auto right = set();
    const Dfa a = Words({left.begin(), left.end()});
    const Dfa b = Words({right.begin(), right.end()});
    const Dfa both = Joined(a, b, Op::kAnd);
    const Dfa either = Joined(a, b, Op::kOr);
    const Dfa but = Joined(Dfa::Everything(), a, Op::kMinus);
    for (const std::string& word : all) {
      EXPECT_EQ(both.Matches(word), left.contains(word) && right.contains(word)) << word;
      EXPECT_EQ(either.Matches(word), left.contains(word) || right.contains(word)) << word;
      EXPECT_EQ(but.Matches(word), !left.contains(word)) << word;
    }
  }
}

TEST(Dfa, CountsCharactersAndFindsWords) {
  EXPECT_TRUE(Dfa::OfLengths(2, 3).Matches("äö"));
  EXPECT_FALSE(Dfa::OfLengths(2, 3).Matches("ä"));
  EXPECT_FALSE(Dfa::OfLengths(2, 3).Matches("abcd"));
  EXPECT_TRUE(Dfa::OfLengths(2, {}).Matches("abcd"));
  EXPECT_FALSE(Dfa::OfLengths(2, {}).TextLengths().most.has_value());
  const Dfa without = Dfa::Without("aab");
  for (const char* text : {"", "aa", "abab", "aaxb"}) EXPECT_TRUE(without.Matches(text)) << text;
  for (const char* text : {"aab", "aaab", "xaabx"}) EXPECT_FALSE(without.Matches(text)) << text;
  EXPECT_TRUE(Dfa::Everything().IsEverything());
  EXPECT_FALSE(without.IsEverything());
}

TEST(Dfa, KnowsTheShortestAndTheLongestText) {
  const auto expect = [](const Dfa& texts, size_t least, std::optional<size_t> most) {
    EXPECT_EQ(texts.TextLengths().least, least);
    EXPECT_EQ(texts.TextLengths().most, most);
  };
  expect(Words({"abc", "x", "xyzw"}), 1, 4);
  expect(Dfa::OfLengths(2, 5000), 2, 5000);
  expect(Dfa::Without("b"), 0, {});
  WorkBudget budget(100000);
  expect(*Dfa::OfLengths(3, {}).With(Dfa::OfLengths(0, 7), Op::kAnd, &budget), 3, 7);
}

TEST(Dfa, StopsWhenItsBudgetIsUsedUp) {
  WorkBudget budget(500);
  EXPECT_FALSE(Dfa::OfLengths(0, 900).With(Dfa::OfLengths(1, 800), Op::kAnd, &budget).has_value());
  EXPECT_EQ(budget.left(), 0u);
}

}  // namespace
}  // namespace cairn::dfa_test
