#include "cache/objects/object_table.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(SavedNames, AreFoundByNamespaceAndByName) {
  SavedNames names = {{7, 100}, {2, 900}, {5, 50}};
  names.Add(3, 10);
  EXPECT_EQ(names.size(), 4u);
  EXPECT_EQ(names.NameOf(2), 900u);
  EXPECT_EQ(names.NameOf(3), 10u);
  EXPECT_EQ(names.NameOf(4), std::nullopt);
  EXPECT_EQ(names.NameSpaceNamed(10), 3u);
  EXPECT_EQ(names.NameSpaceNamed(100), 7u);
  EXPECT_EQ(names.NameSpaceNamed(7), std::nullopt);
  EXPECT_EQ(SavedNames().NameOf(0), std::nullopt);
}

TEST(SavedNames, TheFirstOfTwoCounts) {
  const SavedNames names = {{1, 10}, {1, 20}, {2, 10}};
  EXPECT_EQ(names.NameOf(1), 10u);
  EXPECT_EQ(names.NameSpaceNamed(10), 1u);
}

}  // namespace
}  // namespace cairn
