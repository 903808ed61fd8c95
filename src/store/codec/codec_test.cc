#include "store/codec/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <random>
#include <string>

namespace cairn {
namespace {

using Random = std::mt19937_64;

Bytes Noise(size_t size, Random* random) {
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>((*random)());
  return bytes;
}

// Normally distributed floats, like the rows of a state, cut off after `size` bytes.
Bytes Floats(size_t size, Random* random) {
  std::normal_distribution<float> normal(0.0F, 0.05F);
  Bytes bytes((size + 3) / 4 * 4);
  for (size_t at = 0; at < bytes.size(); at += 4) {
    const float value = normal(*random);
    std::memcpy(bytes.data() + at, &value, 4);
  }
  bytes.resize(size);
  return bytes;
}

// The upper halves of such floats.
Bytes Halves(size_t size, Random* random) {
  const Bytes floats = Floats(2 * size, random);
  Bytes bytes(size);
  for (size_t at = 0; at < size; ++at) bytes[at] = floats[at / 2 * 4 + 2 + at % 2];
  return bytes;
}

Bytes Constant(size_t size, Random* random) {
  return Bytes(size, static_cast<uint8_t>((*random)()));
}

// A mix of all kinds of data, one after the other.
Bytes Mixed(size_t size, Random* random) {
  Bytes bytes;
  while (bytes.size() < size) {
    const size_t part = std::min<size_t>(size - bytes.size(), 1 + (*random)() % 300'000);
    const std::array<std::function<Bytes(size_t, Random*)>, 4> kinds = {Noise, Floats, Halves,
                                                                        Constant};
    const Bytes next = kinds[(*random)() % kinds.size()](part, random);
    bytes.insert(bytes.end(), next.begin(), next.end());
  }
  return bytes;
}

constexpr std::array<size_t, 16> kSizes = {0,
                                           1,
                                           2,
                                           3,
                                           5,
                                           8,
                                           31,
                                           100,
                                           4095,
                                           4096,
                                           65'537,
                                           kLosslessBlockBytes - 1,
                                           kLosslessBlockBytes,
                                           kLosslessBlockBytes + 1,
                                           2 * kLosslessBlockBytes + 3,
                                           3'000'001};

void ExpectsItBack(const Bytes& raw) {
  const Encoded encoded = Encode(Codec::kLossless, raw);
  if (encoded.codec == Codec::kRaw) {
    EXPECT_TRUE(encoded.bytes.empty());
  } else {
    EXPECT_EQ(encoded.codec, Codec::kLossless);
    EXPECT_LT(encoded.bytes.size(), raw.size()) << "it should have stayed raw";
  }
  const Bytes& stored = encoded.codec == Codec::kRaw ? raw : encoded.bytes;
  const auto decoded = Decode(encoded.codec, stored, raw.size());
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_TRUE(*decoded == raw);
  // Also if the frame is larger than the input.
  const auto framed = DecodeLossless(EncodeLossless(raw), raw.size());
  ASSERT_TRUE(framed.has_value()) << framed.error().message;
  EXPECT_TRUE(*framed == raw);
}

TEST(Codec, LosslessGivesEveryBitBackWhateverTheBytes) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (const size_t size : kSizes) {
    SCOPED_TRACE("size " + std::to_string(size));
    for (const auto& make : {Noise, Floats, Halves, Constant, Mixed}) {
      ExpectsItBack(make(size, &random));
    }
  }
}

TEST(Codec, LosslessGivesEveryBitBackOfManySmallObjects) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 500; ++i) {
    const size_t size = random() % 3000;
    SCOPED_TRACE("object " + std::to_string(i) + ", size " + std::to_string(size));
    ExpectsItBack(i % 2 == 0 ? Floats(size, &random) : Mixed(size, &random));
  }
}

TEST(Codec, LosslessMakesFloatsSmallerAndNoiseNoLarger) {
  Random random(1);
  const size_t size = 2 * kLosslessBlockBytes;
  for (const auto& make : {Floats, Halves}) {
    const Encoded encoded = Encode(Codec::kLossless, make(size, &random));
    EXPECT_EQ(encoded.codec, Codec::kLossless);
    EXPECT_LT(encoded.bytes.size(), size * 88 / 100);
  }
  EXPECT_LT(Encode(Codec::kLossless, Constant(size, &random)).bytes.size(), 1000u);
  EXPECT_EQ(Encode(Codec::kLossless, Noise(size, &random)).codec, Codec::kRaw);
  EXPECT_EQ(Encode(Codec::kRaw, Constant(size, &random)).codec, Codec::kRaw);
}

TEST(Codec, LosslessRefusesOtherSizesThanItsOwn) {
  Random random(2);
  const Bytes raw = Floats(kLosslessBlockBytes + 100, &random);
  const Bytes stored = EncodeLossless(raw);
  for (const size_t size : {size_t{0}, size_t{1}, raw.size() - 1, raw.size() + 1, 2 * raw.size(),
                            size_t{1} << 62, SIZE_MAX}) {
    const auto decoded = Decode(Codec::kLossless, stored, size);
    ASSERT_FALSE(decoded.has_value()) << size;
    EXPECT_EQ(decoded.error().code, ErrorCode::kCorrupt);
  }
}

TEST(Codec, LosslessRefusesWhatIsCutOffOrGoesOn) {
  Random random(3);
  const Bytes raw = Floats(5000, &random);
  const Bytes stored = EncodeLossless(raw);
  for (size_t size = 0; size < stored.size(); ++size) {
    EXPECT_FALSE(Decode(Codec::kLossless, ByteSpan(stored).first(size), raw.size())) << size;
  }
  Bytes longer = stored;
  longer.push_back(0);
  EXPECT_FALSE(Decode(Codec::kLossless, longer, raw.size()));
}

// Decoding may return other bytes, as an uncompressed plane has no checksum: the store detects
// that. It may return an error, and must do nothing else.
TEST(Codec, LosslessSurvivesEveryChangedByteAndAnyNoise) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const Bytes raw = Mixed(3000, &random);
  const Bytes stored = EncodeLossless(raw);
  for (size_t at = 0; at < stored.size(); ++at) {
    Bytes changed = stored;
    changed[at] = static_cast<uint8_t>(changed[at] ^ (1U << (random() % 8)));
    const auto decoded = Decode(Codec::kLossless, changed, raw.size());
    if (decoded) {
      EXPECT_EQ(decoded->size(), raw.size());
    }
  }
  for (int i = 0; i < 2000; ++i) {
    const Bytes noise = Noise(random() % 200, &random);
    const size_t size = random() % 400;
    const auto decoded = Decode(Codec::kLossless, noise, size);
    if (decoded) {
      EXPECT_EQ(decoded->size(), size);
    }
  }
}

TEST(Codec, RawIsTakenOnlyAtItsSize) {
  const Bytes raw = {1, 2, 3};
  EXPECT_EQ(Decode(Codec::kRaw, raw, 3).value(), raw);
  EXPECT_FALSE(Decode(Codec::kRaw, raw, 2));
  EXPECT_FALSE(Decode(Codec::kRaw, raw, 4));
}

TEST(Codec, RefusesACodecOfALaterVersion) {
  const auto decoded = Decode(static_cast<Codec>(77), Bytes{1, 2, 3}, 3);
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code, ErrorCode::kCorrupt);
}

TEST(Codec, HasANameThatParsesAndNamesAllWhenOneDoesNot) {
  for (const Codec codec : {Codec::kRaw, Codec::kLossless}) {
    EXPECT_EQ(ParseCodec(CodecName(codec)).value(), codec);
  }
  const auto parsed = ParseCodec("zip");
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(parsed.error().message, "there is no codec \"zip\"; there are raw, lossless");
}

}  // namespace
}  // namespace cairn
