#include "tree/token_ids.h"

#include <gtest/gtest.h>

#include <set>

namespace cairn {
namespace {

constexpr Bits128 kKey = {7, 9};

// OpenSSL's SIPHASH of 16 bytes, of the key 00 01 … 0f and the message 00 01 … 13.
TEST(TokenIds, SipHashIsTheOneThatOthersCompute) {
  const Bits128 key = {0x0f0e0d0c0b0a0908, 0x0706050403020100};
  const Bits128 hash = SipHashOf(key, key, 0x13121110);
  EXPECT_EQ(hash.low, 0x7390223f83fc259eU);
  EXPECT_EQ(hash.high, 0xeb3938e8a544933eU);
}

TEST(TokenIds, TokensAreTheirOwnIdsWithoutASecret) {
  const TokenIds plain;
  EXPECT_FALSE(plain.pseudonymous());
  const Tokens prompt = {0, 7, 151'652, -5};
  EXPECT_EQ(plain.Of(prompt), (std::vector<uint32_t>{0, 7, 151'652, 4'294'967'291}));
}

TEST(TokenIds, PseudonymsAgreeAsFarAsTheTokensDo) {
  const TokenIds ids(kKey);
  const std::vector<uint32_t> a = ids.Of(Tokens{1, 2, 3, 4, 5});
  const std::vector<uint32_t> b = ids.Of(Tokens{1, 2, 9, 4, 5});
  ASSERT_EQ(a.size(), 5u);
  EXPECT_EQ(a[0], b[0]);
  EXPECT_EQ(a[1], b[1]);
  for (size_t i = 2; i < a.size(); ++i) EXPECT_NE(a[i], b[i]) << "the same token elsewhere";
}

TEST(TokenIds, ASequenceInPartsHasTheIdsOfTheWhole) {
  const TokenIds ids(kKey);
  const Tokens prompt = {5, 4, 3, 2, 1, 0};
  std::vector<uint32_t> parts;
  const TokenIds::State middle = ids.Append({}, TokenSpan(prompt).first(2), &parts);
  ids.Append(middle, TokenSpan(prompt).subspan(2), &parts);
  EXPECT_EQ(parts, ids.Of(prompt));
}

TEST(TokenIds, OneTokenRepeatedHasManyPseudonyms) {
  const std::vector<uint32_t> ids = TokenIds(kKey).Of(Tokens(1000, 7));
  EXPECT_GT(std::set<uint32_t>(ids.begin(), ids.end()).size(), 990u);
}

TEST(TokenIds, AnotherKeyMakesOtherPseudonyms) {
  const Tokens prompt = {1, 2, 3};
  EXPECT_NE(TokenIds(kKey).Of(prompt), TokenIds(Bits128{8, 9}).Of(prompt));
  EXPECT_EQ(TokenIds(kKey).Of(prompt), TokenIds(kKey).Of(prompt));
}

}  // namespace
}  // namespace cairn
