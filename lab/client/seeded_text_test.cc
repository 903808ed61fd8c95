#include "lab/client/seeded_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cairn {
namespace {

TEST(SeededText, IsTheSameForTheSameSeedAndName) {
  EXPECT_EQ(SeededText(7, "a").Prose(300), SeededText(7, "a").Prose(300));
  EXPECT_NE(SeededText(7, "a").Prose(20), SeededText(8, "a").Prose(20));
  EXPECT_NE(SeededText(7, "a").Prose(20), SeededText(7, "b").Prose(20));
  // The text is the same on every machine.
  EXPECT_EQ(SeededText(7, "a").Prose(48), "Co ravu plaldis louckstouck mitunoun zair nour .");
}

TEST(SeededText, IsAsLongAsItWasAskedForAndAscii) {
  SeededText text(1, "lengths");
  for (const size_t bytes : {0, 1, 2, 63, 64, 1000}) {
    for (const std::string& made : {text.Prose(bytes), text.Code(bytes)}) {
      EXPECT_EQ(made.size(), bytes);
      EXPECT_TRUE(std::all_of(made.begin(), made.end(), [](char c) {
        return c == '\n' || (c >= ' ' && c <= '~');
      })) << made;
    }
  }
}

TEST(SeededText, EndsInNothingThatATemplateStrips) {
  SeededText text(1, "ends");
  for (size_t bytes = 1; bytes < 200; ++bytes) {
    EXPECT_NE(text.Prose(bytes).find_last_not_of(" \n"), std::string::npos);
    EXPECT_EQ(text.Code(bytes).find_last_not_of(" \n"), bytes - 1);
  }
}

}  // namespace
}  // namespace cairn
