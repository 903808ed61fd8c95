#include "engine/adapters/adapter_sets.h"

#include <gtest/gtest.h>

#include <cmath>

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
  EXPECT_EQ(sets.ScalesOf(1), (AdapterScales{0, 0.5}));
}

TEST(AdapterSets, TheDigestIsOfContentsAndScales) {
  AdapterSets sets = Two();
  EXPECT_EQ(sets.DigestOf(*sets.SetOf({0, 0})), "");
  EXPECT_EQ(sets.DigestOf(*sets.SetOf({0, 0.5})), "d2*0x1p-1");
  EXPECT_EQ(sets.DigestOf(*sets.SetOf({1, 0.5})), "d1*0x1p+0+d2*0x1p-1");
  AdapterSets other({{"x.gguf", "d2", "", ""}}, {0.5});
  EXPECT_EQ(other.DigestOf(0), "d2*0x1p-1");
}

TEST(AdapterSets, AScaleIsAFiniteNumberAndSetsAreLimited) {
  AdapterSets sets = Two();
  EXPECT_FALSE(sets.SetOf({NAN, 0}).has_value());
  EXPECT_FALSE(sets.SetOf({INFINITY, 0}).has_value());
  for (AdapterSets::Number i = 1; i < AdapterSets::kSetsMax; ++i)
    ASSERT_TRUE(sets.SetOf({0, static_cast<float>(i)}, i).has_value());
  EXPECT_EQ(sets.SetOf({2, 2}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(*sets.SetOf({1, 0}), 0u);
}

TEST(AdapterSets, OneOwnerCannotUseUpTheSetsOfTheOthers) {
  AdapterSets sets = Two();
  AdapterSets::Number made = 0;
  while (made < AdapterSets::kSetsMax && sets.SetOf({0, 1.0F + static_cast<float>(made)}, 1))
    ++made;
  EXPECT_EQ(made, AdapterSets::kSharedSets + AdapterSets::kOwnSetsMax - 1);
  EXPECT_EQ(sets.SetOf({2, 0}, 1).error().code, ErrorCode::kUnavailable);
  for (AdapterSets::Number i = 0; i < AdapterSets::kOwnSetsMax; ++i) {
    ASSERT_TRUE(sets.SetOf({3, static_cast<float>(i)}, 2).has_value()) << i;
  }
  // What is there is for all.
  EXPECT_TRUE(sets.SetOf({3, 0}, 1).has_value());
}

}  // namespace
}  // namespace cairn
