#include "base/ignore_case.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

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

}  // namespace
}  // namespace cairn
