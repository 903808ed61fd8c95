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

TEST(Keys, MatchGivesTheNumberOfTheKeyThatWasShown) {
  const auto keys = *ApiKeys::Make({"one", "two", "two"});
  EXPECT_EQ(keys->size(), 2u);
  EXPECT_EQ(keys->Match("one"), 1u);
  EXPECT_EQ(keys->Match("two"), 2u);
  EXPECT_EQ(keys->Match("three"), 0u);
  EXPECT_EQ(keys->Match(""), 0u);
  EXPECT_EQ(ApiKeys().Match("one"), 0u);
}

TEST(Keys, ANumberIsNeverGivenToAnotherKey) {
  const auto keys = *ApiKeys::Make({"one", "two"});
  ASSERT_TRUE(keys->Replace({"three", "two"}));
  EXPECT_EQ(keys->Match("one"), 0u) << "it was taken away";
  EXPECT_EQ(keys->Match("two"), 2u) << "it stands elsewhere and is the same";
  EXPECT_EQ(keys->Match("three"), 3u);
  ASSERT_TRUE(keys->Replace({"four", "one"}));
  EXPECT_EQ(keys->Match("one"), 1u) << "what came back finds what was its own";
  EXPECT_EQ(keys->Match("four"), 4u);
  EXPECT_EQ(keys->Match("two"), 0u);
}

TEST(Keys, ASavedNameHangsOnTheKeyAlone) {
  const auto one_way = (*ApiKeys::Make({"one", "two"}))->known();
  const auto other_way = (*ApiKeys::Make({"two", "zero", "one"}))->known();
  EXPECT_EQ(one_way[0].saved_name, other_way[2].saved_name);
  EXPECT_EQ(one_way[1].saved_name, other_way[0].saved_name);
  EXPECT_NE(one_way[0].saved_name, one_way[1].saved_name);
}

TEST(Keys, KnowingAKeyLetsNobodyIn) {
  ApiKeys keys;
  ASSERT_TRUE(keys.Know(ApiKeys::Texts{{"one"}}));
  EXPECT_EQ(keys.Match("one"), 0u);
  EXPECT_TRUE(keys.empty());
  EXPECT_EQ(keys.known().size(), 1u);
}

TEST(Keys, WhatIsRefusedChangesNothingAndIsNotTold) {
  const auto keys = *ApiKeys::Make({"one", "5%41"});
  for (const char* bad : {"", "se cret", "se\ncret", "s\xc3\xa9", "secret%u0041", "5A"}) {
    const Status replaced = keys->Replace({"two", bad});
    ASSERT_FALSE(replaced) << bad;
    EXPECT_EQ(replaced.error().message.find("cret"), std::string::npos);
    EXPECT_EQ(keys->Match("one"), 1u);
    EXPECT_EQ(keys->Match("two"), 0u);
  }
}

TEST(Keys, BearerTokenIsWhatFollowsTheScheme) {
  EXPECT_EQ(BearerToken("Bearer sk-1"), "sk-1");
  EXPECT_EQ(BearerToken("bearer   sk-1"), "sk-1");
  EXPECT_EQ(BearerToken("Basic sk-1"), "");
  EXPECT_EQ(BearerToken("Bearer"), "");
  EXPECT_EQ(BearerToken(""), "");
}

TEST(Keys, EachHasItsOwnShareOfRequestsAtWork) {
  KeyLoad load;
  const auto first = load.Enter(1, 2);
  auto second = load.Enter(1, 2);
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(load.Enter(1, 2), nullptr);
  EXPECT_NE(load.Enter(2, 2), nullptr);
  EXPECT_NE(load.Enter(1, 0), nullptr) << "no limit";
  second.reset();
  EXPECT_NE(load.Enter(1, 2), nullptr);
}

TEST(Keys, TheOnlyKeyIsKnownAsSuch) {
  const auto keys = *ApiKeys::Make({"one"});
  EXPECT_TRUE(keys->IsAdminOrOnly(1));
  EXPECT_FALSE(keys->IsAdmin(1));
  EXPECT_FALSE(keys->IsAdminOrOnly(0));
  EXPECT_FALSE(keys->IsAdminOrOnly(2));
  ASSERT_TRUE(keys->Replace(ApiKeys::Texts{{"one"}, {"two"}}));
  EXPECT_FALSE(keys->IsAdminOrOnly(1));
  EXPECT_TRUE(keys->IsAdminOrOnly(2));
  ASSERT_TRUE(keys->Replace(std::vector<std::string>{"three"}));
  EXPECT_FALSE(keys->IsAdminOrOnly(1)) << "it is no longer accepted";
}

TEST(Keys, AdminKeysAreKeysAndKeepTheirRankUntilTheyAreReplaced) {
  const auto keys = *ApiKeys::Make(ApiKeys::Texts{{"one", "both"}, {"two", "both"}});
  EXPECT_EQ(keys->size(), 3u);
  EXPECT_TRUE(keys->has_admin());
  EXPECT_FALSE(keys->IsAdmin(0));
  EXPECT_FALSE(keys->IsAdmin(keys->Match("one")));
  EXPECT_TRUE(keys->IsAdmin(keys->Match("two")));
  EXPECT_TRUE(keys->IsAdmin(keys->Match("both")));
  EXPECT_FALSE(keys->IsAdmin(99));
  const ApiKeys::Number two = keys->Match("two");
  ASSERT_TRUE(keys->Replace(ApiKeys::Texts{{"two"}, {}}));
  EXPECT_EQ(keys->Match("two"), two);
  EXPECT_FALSE(keys->IsAdmin(two));
  EXPECT_FALSE(keys->has_admin());
}

TEST(Keys, TheKeyThatTheProgramItselfSendsIsAcceptedNow) {
  const auto keys = *ApiKeys::Make(std::vector<std::string>{"old", "stays"});
  EXPECT_EQ(keys->AnyText(), "old");
  ASSERT_TRUE(keys->Replace(std::vector<std::string>{"stays"}));
  EXPECT_EQ(keys->AnyText(), "stays");
  ASSERT_TRUE(keys->Replace(ApiKeys::Texts{{"stays"}, {"admin"}}));
  EXPECT_EQ(keys->AnyText(), "admin");
  EXPECT_EQ(ApiKeys().AnyText(), "");
}

}  // namespace
}  // namespace cairn
