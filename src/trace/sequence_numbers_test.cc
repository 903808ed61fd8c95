#include "trace/sequence_numbers.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>

namespace cairn::sequence_numbers_test {
namespace {

Tokens Text(std::string_view text) {
  return {text.begin(), text.end()};
}

std::vector<size_t> Each(const std::optional<std::vector<BlockRange>>& ranges) {
  std::vector<size_t> numbers;
  for (const BlockRange& range : *ranges) {
    for (size_t number = range.first; number <= range.last; ++number) numbers.push_back(number);
  }
  return numbers;
}

size_t SharedCount(const std::vector<size_t>& a, const std::vector<size_t>& b) {
  size_t shared = 0;
  while (shared < std::min(a.size(), b.size()) && a[shared] == b[shared]) ++shared;
  return shared;
}

TEST(SequenceNumbers, TwoSequencesAgreeAsFarAsTheirTokensDo) {
  SequenceNumbers numbers;
  EXPECT_EQ(Each(numbers.Add(0, Text("the cat"))), (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Each(numbers.Add(0, Text("the dogs"))), (std::vector<size_t>{0, 1, 2, 3, 7, 8, 9, 10}));
  EXPECT_EQ(Each(numbers.Add(0, Text("the dot"))), (std::vector<size_t>{0, 1, 2, 3, 7, 8, 11}));
  EXPECT_EQ(Each(numbers.Add(0, Text("the"))), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(numbers.next(), 12u);
}

TEST(SequenceNumbers, SequencesOfDifferentRootsShareNone) {
  SequenceNumbers numbers(100);
  EXPECT_EQ(Each(numbers.Add(0, Text("ab"))), (std::vector<size_t>{100, 101}));
  EXPECT_EQ(Each(numbers.Add(7, Text("ab"))), (std::vector<size_t>{102, 103}));
}

TEST(SequenceNumbers, TheSameWordAtAnotherPlaceHasOtherNumbers) {
  SequenceNumbers numbers;
  EXPECT_EQ(Each(numbers.Add(0, Text("aaaa"))), (std::vector<size_t>{0, 1, 2, 3}));
}

TEST(SequenceNumbers, AgreeOnRandomSequencesWithTheirLongestCommonBeginning) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    SequenceNumbers numbers;
    std::vector<Tokens> texts;
    std::vector<std::vector<size_t>> numbered;
    for (size_t i = 0; i < 60; ++i) {
      Tokens text;
      if (!texts.empty()) {
        const Tokens& from = texts[random() % texts.size()];
        text.assign(from.begin(),
                    from.begin() + static_cast<std::ptrdiff_t>(random() % (from.size() + 1)));
      }
      const size_t more = 1 + random() % 9;
      for (size_t k = 0; k < more; ++k) text.push_back(static_cast<Token>(random() % 3));
      const auto mine = Each(numbers.Add(0, text));
      ASSERT_EQ(mine.size(), text.size());
      for (size_t k = 0; k < texts.size(); ++k) {
        ASSERT_EQ(SharedCount(mine, numbered[k]), CommonPrefix(text, texts[k])) << "seed " << seed;
      }
      texts.push_back(text);
      numbered.push_back(mine);
    }
  }
}

TEST(SequenceNumbers, ForgetsWhatWasSeenLongestAgo) {
  SequenceNumbers numbers(0, 1000);
  const Tokens header(100, 'h');
  const auto with = [&](Token last) {
    Tokens tokens = header;
    tokens.resize(300, last);
    return tokens;
  };
  const auto first = Each(numbers.Add(0, with('a')));
  for (Token last = 'b'; last <= 'h'; ++last) numbers.Add(0, with(last));
  EXPECT_LE(numbers.held_tokens(), 1000u);
  const auto newest = Each(numbers.Add(0, with('h')));
  const auto again = Each(numbers.Add(0, with('a')));
  // The common prefix was in use all the time; the remainder of the first sequence was not.
  EXPECT_EQ(SharedCount(first, again), 100u);
  EXPECT_EQ(SharedCount(newest, Each(numbers.Add(0, with('h')))), 300u);
}

TEST(SequenceNumbers, SaysWhenThereAreNoneLeft) {
  SequenceNumbers numbers(kTraceTokensMax - 3);
  EXPECT_FALSE(numbers.Add(0, Text("four")).has_value());
  EXPECT_TRUE(numbers.Add(0, Text("two")).has_value());
}

}  // namespace
}  // namespace cairn::sequence_numbers_test
