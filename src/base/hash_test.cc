#include "base/hash.h"

#include <gtest/gtest.h>

#include <string_view>

namespace cairn {
namespace {

TEST(Hash, AgreesWithThePublishedValueForNoBytes) {
  // XXH3_64bits of the empty input, from the xxHash project's sanity vectors.
  EXPECT_EQ(Hash64("", 0), 0x2D06800538D394C2ULL);
}

TEST(Hash, AgreesWithThePublishedValueOf128BitsForNoBytes) {
  // XXH3_128bits of the empty input, from the same source.
  EXPECT_EQ(Hash128("", 0), (Bits128{0x99AA06D3014798D8ULL, 0x6001C324468D497FULL}));
}

TEST(Hash, MovesAll128BitsWithOneBitOfTheInput) {
  const Bits128 one = Hash128("a", 1);
  const Bits128 other = Hash128("c", 1);
  EXPECT_NE(one.high, other.high);
  EXPECT_NE(one.low, other.low);
}

TEST(ListHash, DependsOnEachItemAndItsOrder) {
  const auto key = [](std::string_view first, std::string_view second, uint64_t number) {
    ListHash list;
    list.AddText(first);
    list.AddText(second);
    list.AddNumber(number);
    return list.Key();
  };
  EXPECT_EQ(key("ab", "c", 1), key("ab", "c", 1));
  EXPECT_NE(key("ab", "c", 1), key("a", "bc", 1));
  EXPECT_NE(key("ab", "c", 1), key("c", "ab", 1));
  EXPECT_NE(key("ab", "c", 1), key("ab", "c", 2));
  EXPECT_NE(ListHash().Key(), key("", "", 0));
}

TEST(Hash, MixingDependsOnOrder) {
  EXPECT_NE(HashMix(HashMix(1, 2), 3), HashMix(HashMix(1, 3), 2));
}

}  // namespace
}  // namespace cairn
