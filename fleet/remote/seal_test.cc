#include "fleet/remote/seal.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn {
namespace {

constexpr std::string_view kPath = "v1/f/n/00/1";
constexpr size_t kFront = 96;

RemoteKeys Keys(const std::string& text) {
  auto keys = RemoteKeys::Parse(text);
  EXPECT_TRUE(keys) << keys.error().message;
  return *keys;
}

const std::string kOld = "0123456789abcdef0123456789abcdef";
const std::string kNew = "fedcba9876543210fedcba9876543210";

Bytes FileOf(size_t bytes) {
  Bytes file(bytes);
  for (size_t i = 0; i < bytes; ++i) file[i] = static_cast<uint8_t>(i * 31 + i / 251);
  return file;
}

TEST(Seal, OpensWhatItSealed) {
  const RemoteKeys keys = Keys(kOld);
  for (const size_t bytes : {kFront, kFront + 1, size_t{5000}, kFront + kSealFrameBytes,
                             kFront + kSealFrameBytes + 1, 2 * kSealFrameBytes + 17}) {
    const Bytes sealed = Seal(keys, kPath, FileOf(bytes), kFront);
    EXPECT_EQ(sealed.size(), SealedBytes(bytes, kFront));
    const auto opened = Unseal(keys, kPath, sealed);
    ASSERT_TRUE(opened) << bytes << ": " << opened.error().message;
    EXPECT_EQ(*opened, FileOf(bytes)) << bytes;
  }
}

TEST(Seal, HidesTheContentAndNeverRepeats) {
  const RemoteKeys keys = Keys(kOld);
  const Bytes file = FileOf(5000);
  const Bytes one = Seal(keys, kPath, file, kFront);
  const Bytes two = Seal(keys, kPath, file, kFront);
  size_t same = 0;
  for (size_t i = kSealHeaderBytes; i < one.size(); ++i) same += one[i] == two[i] ? 1 : 0;
  EXPECT_LT(same, one.size() / 64);
}

TEST(Seal, EveryFlippedBitIsCorrupt) {
  const RemoteKeys keys = Keys(kOld);
  const Bytes sealed = Seal(keys, kPath, FileOf(300), kFront);
  for (size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    Bytes flipped = sealed;
    flipped[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
    EXPECT_FALSE(Unseal(keys, kPath, flipped)) << bit;
    const size_t front_end = kSealHeaderBytes + kFront + 16;
    if (bit / 8 < front_end) {
      EXPECT_FALSE(UnsealFront(keys, kPath, flipped)) << bit;
    }
  }
}

TEST(Seal, EveryTruncationAndExtensionIsCorrupt) {
  const RemoteKeys keys = Keys(kOld);
  const Bytes sealed = Seal(keys, kPath, FileOf(300), kFront);
  for (size_t bytes = 0; bytes < sealed.size(); ++bytes) {
    EXPECT_FALSE(Unseal(keys, kPath, Bytes(sealed.begin(), sealed.begin() + bytes))) << bytes;
  }
  Bytes longer = sealed;
  longer.push_back(0);
  EXPECT_FALSE(Unseal(keys, kPath, longer));
}

TEST(Seal, SwappedFramesAndOtherPathsAreCorrupt) {
  const RemoteKeys keys = Keys(kOld);
  Bytes sealed = Seal(keys, kPath, FileOf(kFront + 3 * kSealFrameBytes), kFront);
  EXPECT_FALSE(Unseal(keys, "v1/f/n/00/2", sealed));
  const auto first = sealed.begin() + kSealHeaderBytes + kFront + 16;
  const auto frame = static_cast<std::ptrdiff_t>(kSealFrameBytes + 16);
  std::swap_ranges(first, first + frame, first + frame);
  EXPECT_FALSE(Unseal(keys, kPath, sealed));
}

TEST(Seal, KeysRotateWithTwoInTheFile) {
  const Bytes file = FileOf(5000);
  const Bytes by_old = Seal(Keys(kOld), kPath, file, kFront);
  const Bytes by_new = Seal(Keys(kNew + "\n" + kOld), kPath, file, kFront);
  EXPECT_TRUE(Unseal(Keys(kNew + "\n" + kOld), kPath, by_old));
  EXPECT_TRUE(Unseal(Keys(kOld + "\n" + kNew), kPath, by_new));
  EXPECT_FALSE(Unseal(Keys(kOld), kPath, by_new));
  EXPECT_FALSE(Unseal(Keys(kNew), kPath, by_old));
}

TEST(Seal, FrontIsOpenedAlone) {
  const RemoteKeys keys = Keys(kOld);
  const Bytes file = FileOf(kFront + kSealFrameBytes);
  const Bytes sealed = Seal(keys, kPath, file, kFront);
  const ByteSpan begin = ByteSpan(sealed).first(SealedBytes(kFront, kFront));
  const auto front = UnsealFront(keys, kPath, begin);
  ASSERT_TRUE(front) << front.error().message;
  EXPECT_EQ(*front, Bytes(file.begin(), file.begin() + kFront));
  EXPECT_FALSE(UnsealFront(keys, kPath, begin.first(begin.size() - 1)));
}

TEST(Seal, PlainObjectsAreRefusedByServersThatSeal) {
  EXPECT_FALSE(Unseal(Keys(kOld), kPath, FileOf(5000)));
  EXPECT_EQ(*Unseal(RemoteKeys::Plain(), kPath, FileOf(50)), FileOf(50));
}

TEST(RemoteKeys, RefusesFilesThatAreNone) {
  for (const std::string text : {"", "# comment\n\n", "short", "0123456789abcdef0123456789abcde"}) {
    const auto keys = RemoteKeys::Parse(text);
    ASSERT_FALSE(keys) << text;
    EXPECT_EQ(keys.error().message.find("0123456789"), std::string::npos);
  }
  EXPECT_FALSE(RemoteKeys::Parse(kOld + "\n" + kNew + "\n" + kOld));
  EXPECT_EQ(Keys("# first\n" + kNew + "\r\n\n" + kOld).keys().size(), 2U);
}

}  // namespace
}  // namespace cairn
