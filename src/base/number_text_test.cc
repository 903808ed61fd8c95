#include "base/number_text.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(NumberText, WritesACommaEveryThreeDigits) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1'000), "1,000");
  EXPECT_EQ(WithCommas(12'345'678), "12,345,678");
}

TEST(NumberText, WritesAHashAsSixteenDigits) {
  EXPECT_EQ(HexText(0), "0000000000000000");
  EXPECT_EQ(HexText(0x00AB'CDEF'0123'4567), "00abcdef01234567");
  EXPECT_EQ(HexText(UINT64_MAX), "ffffffffffffffff");
}

TEST(NumberText, ReadsDigitsAndNothingElse) {
  EXPECT_EQ(ParseNumber("17"), 17u);
  EXPECT_EQ(ParseNumber("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.5", "0x10", "18446744073709551616"}) {
    EXPECT_FALSE(ParseNumber(text)) << text;
  }
}

}  // namespace
}  // namespace cairn
