#include "base/hash.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(Hash, AgreesWithThePublishedValueForNoBytes) {
  // XXH3_64bits of the empty input, from the xxHash project's sanity vectors.
  EXPECT_EQ(Hash64("", 0), 0x2D06800538D394C2ULL);
}

TEST(Hash, MixingDependsOnOrder) {
  EXPECT_NE(HashMix(HashMix(1, 2), 3), HashMix(HashMix(1, 3), 2));
}

}  // namespace
}  // namespace cairn
