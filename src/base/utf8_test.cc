#include "base/utf8.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(Utf8, HoldsBackACharacterThatIsNotYetWhole) {
  const std::string euro = "\xE2\x82\xAC";
  EXPECT_EQ(CompleteUtf8Prefix("a" + euro), 4u);
  EXPECT_EQ(CompleteUtf8Prefix("a" + euro.substr(0, 2)), 1u);
  EXPECT_EQ(CompleteUtf8Prefix("a" + euro.substr(0, 1)), 1u);
  EXPECT_EQ(CompleteUtf8Prefix(""), 0u);
}

TEST(Utf8, DoesNotWaitForBytesThatCannotHelp) {
  EXPECT_EQ(CompleteUtf8Prefix("a\xFF"), 2u);
  EXPECT_EQ(CompleteUtf8Prefix("\x80\x80\x80\x80"), 4u);
  EXPECT_EQ(CompleteUtf8Prefix("\xE2\x28"), 2u);
}

TEST(Utf8, ReplacesWhatIsNoCharacter) {
  EXPECT_EQ(ToValidUtf8("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(ToValidUtf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(ToValidUtf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(ToValidUtf8("gr\xC3\xBC\xC3\x9F"), "gr\xC3\xBC\xC3\x9F");
}

TEST(Utf8, CountsCharactersAndNotBytes) {
  EXPECT_EQ(CountCharacters(""), 0u);
  EXPECT_EQ(CountCharacters("abc"), 3u);
  EXPECT_EQ(CountCharacters("Straße"), 6u);
}

TEST(Utf8, ACommonPrefixEndsNotInsideACharacter) {
  EXPECT_EQ(CommonCharacterBytes("abc", "abd"), 2u);
  EXPECT_EQ(CommonCharacterBytes("abc", "ab"), 2u);
  EXPECT_EQ(CommonCharacterBytes("a\xC3\x9F", "a\xC3\xA4"), 1u);
  EXPECT_EQ(CommonCharacterBytes("", "a"), 0u);
}

}  // namespace
}  // namespace cairn
