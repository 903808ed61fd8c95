#include "base/memory/kept_by_key.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace cairn {
namespace {

using Kept = KeptByKey<std::string>;

// What a value of no bytes takes.
size_t EntryBytes() {
  Kept kept(SIZE_MAX);
  kept.Keep("a", "", 0);
  return kept.bytes();
}

TEST(KeptByKey, FindsWhatWasKept) {
  Kept kept(1'000'000);
  EXPECT_EQ(kept.Find("a"), nullptr);
  EXPECT_EQ(*kept.Keep("a", "1", 1), "1");
  EXPECT_EQ(*kept.Find("a"), "1");
  EXPECT_EQ(kept.Find("b"), nullptr);
}

TEST(KeptByKey, ANewValueTakesThePlaceOfTheLast) {
  Kept kept(1'000'000);
  const auto first = kept.Keep("a", "1", 1000);
  const size_t bytes = kept.bytes();
  kept.Keep("a", "2", 1000);
  EXPECT_EQ(*kept.Find("a"), "2");
  EXPECT_EQ(kept.bytes(), bytes);
  EXPECT_EQ(*first, "1");  // whoever holds it keeps it
}

TEST(KeptByKey, TheLeastRecentlyUsedGoesFirst) {
  Kept kept(3 * EntryBytes());
  for (const char* key : {"a", "b", "c"}) kept.Keep(key, key, 0);
  EXPECT_NE(kept.Find("a"), nullptr);
  kept.Keep("d", "d", 0);
  EXPECT_EQ(kept.Find("b"), nullptr);
  for (const char* key : {"a", "c", "d"}) EXPECT_NE(kept.Find(key), nullptr) << key;
  EXPECT_LE(kept.bytes(), 3 * EntryBytes());
}

TEST(KeptByKey, AValueThatIsTooLargeIsReturnedAndNotKept) {
  Kept kept(EntryBytes() + 10);
  kept.Keep("a", "1", 0);
  EXPECT_EQ(*kept.Keep("a", "2", 11), "2");
  // The last one no longer holds.
  EXPECT_EQ(kept.Find("a"), nullptr);
  EXPECT_EQ(kept.bytes(), 0u);
}

}  // namespace
}  // namespace cairn
