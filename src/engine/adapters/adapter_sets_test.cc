#include "engine/adapters/adapter_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace cairn {
namespace {

AdapterSets Two() {
  return AdapterSets({{"a.gguf", "d1", "", ""}, {"b.gguf", "d2", "", ""}}, {1, 0});
}

TEST(AdapterSets, ASetHasOneNumberHoweverOftenItIsAskedFor) {
  AdapterSets sets = Two();
  EXPECT_EQ(*sets.SetOf({1, 0}), 0u);
  EXPECT_EQ(*sets.SetOf({0, 0.5}), 1u);
  EXPECT_EQ(*sets.SetOf({0, 0}), 2u);
  EXPECT_EQ(*sets.SetOf({-0.0F, 0.5}), 1u);
  EXPECT_EQ(*sets.ScalesOf(1), (AdapterScales{0, 0.5}));
}

TEST(AdapterSets, TheDigestIsOfContentsAndScales) {
  AdapterSets sets = Two();
  EXPECT_EQ(*sets.DigestOf(*sets.SetOf({0, 0})), "");
  EXPECT_EQ(*sets.DigestOf(*sets.SetOf({0, 0.5})), "d2*0x1p-1");
  EXPECT_EQ(*sets.DigestOf(*sets.SetOf({1, 0.5})), "d1*0x1p+0+d2*0x1p-1");
  AdapterSets other({{"x.gguf", "d2", "", ""}}, {0.5});
  EXPECT_EQ(*other.DigestOf(0), "d2*0x1p-1");
}

TEST(AdapterSets, AScaleIsAFiniteNumber) {
  AdapterSets sets = Two();
  EXPECT_FALSE(sets.SetOf({NAN, 0}).has_value());
  EXPECT_FALSE(sets.SetOf({INFINITY, 0}).has_value());
}

// Returns the number of a set that no other `i` has.
AdapterSets::Number Another(AdapterSets* sets, size_t i, AdapterSets::Owner owner) {
  const auto set = sets->SetOf({0, 10.0F + static_cast<float>(i)}, owner);
  EXPECT_TRUE(set.has_value()) << i;
  return set.value_or(0);
}

TEST(AdapterSets, HoweverManyAreAskedForAFewAreKept) {
  AdapterSets sets = Two();
  std::vector<AdapterSets::Number> numbers;
  for (size_t i = 0; i < 3 * AdapterSets::kSetsMax; ++i) numbers.push_back(Another(&sets, i, 1));
  const auto kept = [&](AdapterSets::Number number) { return sets.Keeps(number); };
  const auto count = static_cast<size_t>(std::count_if(numbers.begin(), numbers.end(), kept));
  EXPECT_LE(count, AdapterSets::kSetsMax);
  EXPECT_GE(count, AdapterSets::kSetsMax - AdapterSets::kFreedAtOnce);
  EXPECT_EQ(sets.freed(), numbers.size() - count);
  // The set of the start and those that were asked for last.
  EXPECT_EQ(*sets.SetOf({1, 0}), 0u);
  EXPECT_TRUE(std::is_partitioned(numbers.rbegin(), numbers.rend(), kept));
  EXPECT_EQ(sets.ScalesOf(numbers[0]).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(sets.DigestOf(numbers[0]).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(sets.Hold(numbers[0]).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(sets.SetStanding(numbers[0]).error().code, ErrorCode::kUnavailable);
}

// Whatever was computed with a set bears its number.
TEST(AdapterSets, ANumberIsNeverGivenAgain) {
  AdapterSets sets = Two();
  std::set<AdapterSets::Number> numbers = {0};
  for (size_t i = 0; i < 2 * AdapterSets::kSetsMax; ++i) {
    EXPECT_TRUE(numbers.insert(Another(&sets, i, 1)).second) << i;
  }
  EXPECT_TRUE(numbers.insert(Another(&sets, 0, 1)).second) << "its first number was freed";
}

TEST(AdapterSets, WhatIsInUseOrStandsIsNotFreed) {
  AdapterSets sets = Two();
  auto held = sets.Hold(*sets.SetOf({7, 7}, 1));
  ASSERT_TRUE(held.has_value());
  const AdapterSets::Number number = **held;
  const AdapterSets::Number standing = *sets.SetOf({8, 8}, 1);
  ASSERT_TRUE(sets.SetStanding(standing).has_value());
  for (size_t i = 0; i < 2 * AdapterSets::kSetsMax; ++i) Another(&sets, i, 1);
  EXPECT_EQ(*sets.ScalesOf(number), (AdapterScales{7, 7}));
  EXPECT_EQ(*sets.ScalesOf(standing), (AdapterScales{8, 8}));
  ASSERT_TRUE(sets.SetStanding(0).has_value());
  held->reset();
  for (size_t i = 0; i < AdapterSets::kSetsMax; ++i) {
    Another(&sets, 2 * AdapterSets::kSetsMax + i, 1);
  }
  EXPECT_FALSE(sets.Keeps(number));
  EXPECT_FALSE(sets.Keeps(standing));
}

TEST(AdapterSets, ANewOneIsRefusedWhileAllAreInUse) {
  AdapterSets sets = Two();
  std::vector<AdapterSets::Held> held;
  for (size_t i = 1; i < AdapterSets::kSetsMax; ++i) {
    held.push_back(*sets.Hold(Another(&sets, i, 1)));
  }
  EXPECT_EQ(sets.SetOf({2, 2}, 2).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(*sets.SetOf({1, 0}, 2), 0u) << "one that there is";
  held.pop_back();
  EXPECT_TRUE(sets.SetOf({2, 2}, 2).has_value());
}

TEST(AdapterSets, OneOwnerTakesNoSetsOfTheOthers) {
  AdapterSets sets = Two();
  std::vector<AdapterSets::Number> few;
  for (size_t i = 0; i < 50; ++i) few.push_back(Another(&sets, i, 2));
  for (size_t i = 50; i < 3 * AdapterSets::kSetsMax; ++i) Another(&sets, i, 1);
  for (const AdapterSets::Number number : few) EXPECT_TRUE(sets.Keeps(number));
  // What is there is for all, and then it is the other's.
  EXPECT_EQ(Another(&sets, 49, 1), few[49]);
}

}  // namespace
}  // namespace cairn
