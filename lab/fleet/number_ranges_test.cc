#include "lab/fleet/number_ranges.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace cairn {
namespace {

std::vector<BlockRange> RandomRanges(std::mt19937* random) {
  std::vector<BlockRange> ranges;
  const size_t count = (*random)() % 6;
  for (size_t i = 0; i < count; ++i) {
    const auto first = static_cast<uint32_t>((*random)() % 40);
    ranges.push_back({first, first + static_cast<uint32_t>((*random)() % 8)});
  }
  return ranges;
}

std::set<uint32_t> SetOf(const std::vector<BlockRange>& ranges) {
  std::set<uint32_t> numbers;
  for (const BlockRange& range : ranges) {
    for (uint32_t number = range.first; number <= range.last; ++number) numbers.insert(number);
  }
  return numbers;
}

TEST(NumberRanges, HoldWhatASetHolds) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const std::vector<BlockRange> ranges = RandomRanges(&random);
    const std::set<uint32_t> set = SetOf(ranges);
    const NumberRanges tried(ranges);
    ASSERT_EQ(tried.size(), set.size()) << "seed " << seed;
    for (uint32_t number = 0; number < 50; ++number) {
      ASSERT_EQ(tried.Has(number), set.contains(number)) << "seed " << seed << ", " << number;
      const auto below = static_cast<size_t>(std::distance(set.begin(), set.lower_bound(number)));
      if (set.contains(number)) {
        ASSERT_EQ(tried.PlaceOf(number), below) << "seed " << seed;
      }
      uint32_t until = number;
      while (until < 49 && set.contains(until + 1) == set.contains(number)) ++until;
      ASSERT_EQ(tried.SameUntil({number, 49}), until) << "seed " << seed << ", " << number;
    }
  }
}

TEST(NumberRanges, InSeveralAreThoseOfTwoSetsOrMore) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    std::vector<NumberRanges> sets;
    std::map<uint32_t, int> counts;
    for (size_t i = 0; i < 4; ++i) {
      const std::vector<BlockRange> ranges = RandomRanges(&random);
      for (const uint32_t number : SetOf(ranges)) ++counts[number];
      sets.emplace_back(ranges);
    }
    const NumberRanges several = InSeveral(sets);
    for (uint32_t number = 0; number < 50; ++number) {
      ASSERT_EQ(several.Has(number), counts[number] > 1) << "seed " << seed << ", " << number;
    }
  }
}

}  // namespace
}  // namespace cairn
