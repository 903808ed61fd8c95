#include "lab/bench/prefill_lower_bound.h"

#include <gtest/gtest.h>

#include <vector>

namespace cairn {
namespace {

using Ids = std::vector<int32_t>;

TEST(SeenSequences, KnowsNothingAtFirst) {
  const SeenSequences seen;
  EXPECT_EQ(seen.SharedPrefix(Ids{1, 2}), 0u);
  EXPECT_EQ(seen.PrefillLowerBound(Ids{1, 2}), 2u);
  EXPECT_EQ(seen.PrefillLowerBound(Ids{}), 0u);
}

TEST(SeenSequences, TakesTheLongestPrefixOfAll) {
  SeenSequences seen;
  seen.Add({1, 2, 3, 4});
  seen.Add({1, 2, 9, 9});
  seen.Add({1, 2, 9, 7, 5});
  EXPECT_EQ(seen.SharedPrefix(Ids{1, 2, 9, 8}), 3u);
  EXPECT_EQ(seen.PrefillLowerBound(Ids{1, 2, 9, 8}), 1u);
  EXPECT_EQ(seen.PrefillLowerBound(Ids{1, 2, 3, 4, 5, 6}), 2u);
  EXPECT_EQ(seen.PrefillLowerBound(Ids{7, 1, 2}), 3u);
}

TEST(SeenSequences, ReadsAtLeastTheLastToken) {
  SeenSequences seen;
  seen.Add({1, 2, 3});
  EXPECT_EQ(seen.PrefillLowerBound(Ids{1, 2, 3}), 1u);
  EXPECT_EQ(seen.PrefillLowerBound(Ids{1, 2}), 1u);
}

TEST(SeenSequences, ForgetsNothingWhenOneGoesOnFromAnother) {
  SeenSequences seen;
  seen.Add({1, 2, 3});
  seen.Add({1, 2, 3, 4});
  seen.Add({1, 2});
  EXPECT_EQ(seen.SharedPrefix(Ids{1, 2, 3, 4, 5}), 4u);
  EXPECT_EQ(seen.SharedPrefix(Ids{1, 2, 3, 7}), 3u);
}

}  // namespace
}  // namespace cairn
