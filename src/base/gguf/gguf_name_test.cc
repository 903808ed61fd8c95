#include "base/gguf/gguf_name.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(GgufName, HasAStemAndParts) {
  const auto split = ParseGgufName("d/m-Q4_K_M-00002-of-00010.gguf");
  EXPECT_EQ(split->stem, "d/m-Q4_K_M");
  EXPECT_EQ(split->part, 2);
  EXPECT_EQ(split->parts, 10);
  EXPECT_EQ(PartName(*split, 3), "d/m-Q4_K_M-00003-of-00010.gguf");
  EXPECT_EQ(PartName(*ParseGgufName("m-00001-of-00001.gguf"), 1), "m-00001-of-00001.gguf");
  EXPECT_EQ(PartName(*ParseGgufName("m.gguf"), 1), "m.gguf");
}

TEST(GgufName, NumbersThatAreNoPartsBelongToTheStem) {
  for (const char* stem : {"m-00003-of-00002", "m-00000-of-00002", "m-0000a-of-00002", "m"}) {
    const auto name = ParseGgufName(std::string(stem) + ".gguf");
    EXPECT_EQ(name->stem, stem);
    EXPECT_FALSE(name->numbered) << stem;
  }
  EXPECT_FALSE(ParseGgufName("m.bin").has_value());
}

}  // namespace
}  // namespace cairn
