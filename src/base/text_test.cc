#include "base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <ranges>
#include <vector>

namespace cairn {
namespace {

TEST(JoinNames, PutsACommaBetweenTwoNames) {
  EXPECT_EQ(JoinNames(std::vector<std::string>{"lru", "none", "value"}), "lru, none, value");
  EXPECT_EQ(JoinNames(std::array<std::string_view, 1>{"lru"}), "lru");
  EXPECT_EQ(JoinNames(std::vector<std::string>{}), "");
}

TEST(JoinNames, TakesTheKeysOfATable) {
  const std::map<std::string, int> table = {{"f16", 1}, {"f32", 0}};
  EXPECT_EQ(JoinNames(std::views::keys(table)), "f16, f32");
}

TEST(IgnoreCase, OnlyAsciiLettersHaveACase) {
  EXPECT_TRUE(SameIgnoringCase("Content-Type", "content-tYPE"));
  EXPECT_TRUE(SameIgnoringCase("", ""));
  EXPECT_FALSE(SameIgnoringCase("chunked", "chunke"));
  EXPECT_FALSE(SameIgnoringCase("chunke", "chunked"));
  // '[' and '{' differ by the same bit as 'A' and 'a'; so do the bytes C4 and E4, Latin-1's
  // umlauts.
  EXPECT_FALSE(SameIgnoringCase("[", "{"));
  EXPECT_FALSE(SameIgnoringCase("@", "`"));
  EXPECT_FALSE(SameIgnoringCase("\xC4", "\xE4"));
}

TEST(IgnoreCase, FindsTheFirstValueOfAName) {
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"Accept", "a"}, {"X-Api-Key", "one"}, {"x-api-key", "two"}};
  EXPECT_EQ(FindIgnoringCase(headers, "x-api-key"), "one");
  EXPECT_EQ(FindIgnoringCase(headers, "x-api"), "");
}

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
