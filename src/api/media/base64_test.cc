#include "api/media/base64.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/api/media_samples.h"

namespace cairn::base64_test {
namespace {

std::string Decoded(std::string_view base64) {
  const auto bytes = DecodeBase64(base64);
  EXPECT_TRUE(bytes.has_value()) << base64;
  return bytes ? std::string(bytes->begin(), bytes->end()) : "";
}

TEST(Base64, DecodesTheSamplesOfItsRfc) {
  EXPECT_EQ(Decoded(""), "");
  EXPECT_EQ(Decoded("Zg=="), "f");
  EXPECT_EQ(Decoded("Zm8="), "fo");
  EXPECT_EQ(Decoded("Zm9v"), "foo");
  EXPECT_EQ(Decoded("Zm9vYg=="), "foob");
  EXPECT_EQ(Decoded("Zm9vYmFy"), "foobar");
  EXPECT_EQ(Decoded("+/+/"), "\xFB\xFF\xBF");
}

TEST(Base64, EncodesTheSamplesOfItsRfc) {
  const auto encoded = [](std::string_view text) {
    return EncodeBase64(Bytes(text.begin(), text.end()));
  };
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("\xFB\xFF\xBF"), "+/+/");
}

TEST(Base64, DecodesEveryByteInLongTextsToo) {
  Bytes bytes;
  for (size_t i = 0; i < 5'000'001; ++i) bytes.push_back(static_cast<uint8_t>(i * 7 + i / 251));
  const std::string text = EncodeBase64(bytes);
  EXPECT_EQ(DecodedBytes(text), bytes.size());
  const auto decoded = DecodeBase64(text);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_TRUE(*decoded == bytes);
}

TEST(Base64, AWrongCharacterIsNamedByItsPlace) {
  for (const char* text :
       {"Zm9 ", "Zm9\n", "Zm9-", "Zm9_", "Zm9.", "Zm9%", "Zm9\x80", "Zm9v\r\n\r\n"}) {
    const auto decoded = DecodeBase64(text);
    ASSERT_FALSE(decoded.has_value()) << text;
    EXPECT_EQ(decoded.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(decoded.error().message.find("has no base64 at byte "), std::string::npos);
  }
  EXPECT_NE(DecodeBase64("Zm9v-m9v").error().message.find("at byte 4 "), std::string::npos);
  EXPECT_FALSE(DecodeBase64(std::string_view("Zm9\0", 4)).has_value());
}

TEST(Base64, PaddingMustBeThereAndOnlyAtTheEnd) {
  for (const char* text :
       {"Zg", "Zg=", "Zm8", "Z", "Z===", "=", "==", "===", "====", "Zg==Zg==", "Zg==\n", " Zg=="}) {
    EXPECT_FALSE(DecodeBase64(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace cairn::base64_test
