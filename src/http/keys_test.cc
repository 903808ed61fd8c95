#include "http/keys.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn {
namespace {

TEST(Keys, EqualBytesAreEqual) {
  EXPECT_TRUE(ConstantTimeEquals("", ""));
  EXPECT_TRUE(ConstantTimeEquals("sk-abc", "sk-abc"));
  EXPECT_TRUE(ConstantTimeEquals(std::string("a\0b", 3), std::string("a\0b", 3)));
  EXPECT_TRUE(ConstantTimeEquals("\xff\x80", "\xff\x80"));
}

TEST(Keys, OneDifferentBitAnywhereIsDifferent) {
  const std::string key = "sk-0123456789";
  for (size_t i = 0; i < key.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = key;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      EXPECT_FALSE(ConstantTimeEquals(key, other)) << "byte " << i << ", bit " << bit;
    }
  }
}

TEST(Keys, AnotherLengthIsDifferent) {
  EXPECT_FALSE(ConstantTimeEquals("sk-abc", "sk-ab"));
  EXPECT_FALSE(ConstantTimeEquals("sk-abc", "sk-abcd"));
  EXPECT_FALSE(ConstantTimeEquals("sk-abc", ""));
  EXPECT_FALSE(ConstantTimeEquals(std::string("a\0", 2), "a"));
}

TEST(Keys, MatchGivesTheIndexOfTheFirstEqualKey) {
  const std::vector<std::string> keys = {"one", "two", "two"};
  EXPECT_EQ(MatchKey(keys, "one"), 0);
  EXPECT_EQ(MatchKey(keys, "two"), 1);
  EXPECT_EQ(MatchKey(keys, "three"), -1);
  EXPECT_EQ(MatchKey(keys, ""), -1);
  EXPECT_EQ(MatchKey({}, "one"), -1);
}

TEST(Keys, BearerTokenIsWhatFollowsTheScheme) {
  EXPECT_EQ(BearerToken("Bearer sk-1"), "sk-1");
  EXPECT_EQ(BearerToken("bearer   sk-1"), "sk-1");
  EXPECT_EQ(BearerToken("Basic sk-1"), "");
  EXPECT_EQ(BearerToken("Bearer"), "");
  EXPECT_EQ(BearerToken(""), "");
}

}  // namespace
}  // namespace cairn
