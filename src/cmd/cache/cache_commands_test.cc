#include "cmd/cache/cache_commands.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

TEST(CacheText, WordsBytesInTheLargestUnitThatIsNotBelowOne) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1024), "1.0 KiB");
  EXPECT_EQ(BytesText(uint64_t{1024} * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(BytesText(uint64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(BytesText(uint64_t{5000} << 40), "5000.0 TiB");
}

TEST(CacheText, WordsAgesByWhatMatters) {
  const auto age = [](int64_t seconds) { return AgeText(0, seconds * kSecondNs); };
  EXPECT_EQ(age(0), "now");
  EXPECT_EQ(age(-5000), "now");
  EXPECT_EQ(age(5), "5 s");
  EXPECT_EQ(age(600), "10 min");
  EXPECT_EQ(age(3 * 3600 + 100), "3 h");
  EXPECT_EQ(age(8 * 24 * 3600), "8 d");
}

TEST(CacheText, NamesOneOfAThingInTheSingular) {
  EXPECT_EQ(CountText(1, "object"), "1 object");
  EXPECT_EQ(CountText(0, "object"), "0 objects");
}

TEST(CacheText, DrawsTablesWithoutBlanksAtTheEnd) {
  EXPECT_EQ(TableText({{"A", "LONG", "C"}, {"äöü", "x", ""}}), "A    LONG  C\näöü  x\n");
}

TEST(CacheText, NamesClassesOfSnapshotsOnly) {
  ObjectHeader header;
  header.checkpoint_class = 4;
  EXPECT_EQ(ClassText(header), "end");
  header.checkpoint_class = 200;
  EXPECT_EQ(ClassText(header), "unknown");
  header.kind = ObjectKind::kSegment;
  EXPECT_EQ(ClassText(header), "-");
}

TEST(CacheText, SaysWhatAModelCallsItself) {
  FolderContents contents;
  contents.identities["a"] = "model=12\ndescription=qwen35 4B Q8_0\nx=y\n";
  contents.identities["b"] = "model=fake\n";
  EXPECT_EQ(ModelText(contents, "a"), "qwen35 4B Q8_0");
  EXPECT_EQ(ModelText(contents, "b"), "fake");
  EXPECT_EQ(ModelText(contents, "c"), "");
}

}  // namespace
}  // namespace cairn
