#include "store/codec_lossy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "store/codec.h"
#include "store/pack_floats.h"

namespace cairn {
namespace {

using Random = std::mt19937_64;
constexpr std::array<Codec, 3> kLossy = {Codec::kFp16, Codec::kInt8, Codec::kRint16};

// Bytes of which some are rows of floats, and which.
struct Object {
  Bytes bytes;
  std::vector<FloatRows> rows;
};

void AppendNoise(size_t size, Random* random, Bytes* bytes) {
  for (size_t i = 0; i < size; ++i) bytes->push_back(static_cast<uint8_t>((*random)()));
}

void AppendRows(FloatType type, size_t floats, size_t count, Random* random, Object* object) {
  std::normal_distribution<float> normal(0.0F, 0.5F);
  const size_t row_bytes = floats * FloatBytes(type);
  object->rows.push_back({object->bytes.size(), row_bytes * count, row_bytes, type});
  for (size_t i = 0; i < floats * count; ++i) {
    const float value = normal(*random);
    const uint16_t half = HalfOf(value);
    const size_t end = object->bytes.size();
    object->bytes.resize(end + FloatBytes(type));
    if (type == FloatType::kF32) std::memcpy(object->bytes.data() + end, &value, 4);
    if (type == FloatType::kF16) std::memcpy(object->bytes.data() + end, &half, 2);
  }
}

Object Drawn(Random* random) {
  Object object;
  AppendNoise((*random)() % 50, random, &object.bytes);
  const size_t parts = 1 + (*random)() % 5;
  for (size_t part = 0; part < parts; ++part) {
    const FloatType type = (*random)() % 2 == 0 ? FloatType::kF32 : FloatType::kF16;
    AppendRows(type, 1 + (*random)() % 400, 1 + (*random)() % 20, random, &object);
    AppendNoise((*random)() % 50, random, &object.bytes);
  }
  return object;
}

float FloatAt(const Bytes& bytes, size_t at, FloatType type) {
  if (type == FloatType::kF32) {
    float value;
    std::memcpy(&value, bytes.data() + at, 4);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, bytes.data() + at, 2);
  return FloatOf(half);
}

// Floats may have moved by no more than `share` of the largest there is; other bytes not at all.
void ExpectNear(const Object& object, const Bytes& back, double share) {
  ASSERT_EQ(back.size(), object.bytes.size());
  std::vector<bool> may_move(back.size());
  for (const FloatRows& rows : object.rows) {
    for (size_t at = rows.offset; at < rows.offset + rows.bytes; at += FloatBytes(rows.type)) {
      std::fill_n(may_move.begin() + static_cast<ptrdiff_t>(at), FloatBytes(rows.type), true);
      EXPECT_NEAR(FloatAt(back, at, rows.type), FloatAt(object.bytes, at, rows.type), 4 * share);
    }
  }
  for (size_t at = 0; at < back.size(); ++at) {
    if (!may_move[at]) {
      ASSERT_EQ(back[at], object.bytes[at]) << "byte " << at;
    }
  }
}

TEST(LossyCodec, KeepsAllThatIsNoRowToTheByte) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE("object " + std::to_string(i));
    const Object object = Drawn(&random);
    for (const Codec codec : kLossy) {
      const Bytes stored = EncodeLossy(codec, object.bytes, object.rows);
      if (stored.empty()) continue;  // no row for this codec
      const auto back = DecodeLossy(codec, stored, object.bytes.size());
      ASSERT_TRUE(back.has_value()) << back.error().message;
      ExpectNear(object, *back, codec == Codec::kInt8 ? 0.005 : 0.001);
    }
  }
}

TEST(LossyCodec, HalvesAndQuartersWhatItMayTouch) {
  Random random(1);
  Object object;
  AppendNoise(100, &random, &object.bytes);
  AppendRows(FloatType::kF32, 4096, 64, &random, &object);
  const double raw = static_cast<double>(object.bytes.size());
  const auto share = [&](Codec codec) {
    const Encoded encoded = Encode(codec, object.bytes, object.rows);
    EXPECT_EQ(encoded.codec, codec);
    return static_cast<double>(encoded.bytes.size()) / raw;
  };
  EXPECT_LT(share(Codec::kFp16), 0.47);
  EXPECT_LT(share(Codec::kInt8), 0.27);
  EXPECT_LT(share(Codec::kRint16), 0.52);
}

TEST(LossyCodec, IsLosslessWhereThereIsNothingToTouch) {
  Random random(2);
  Object object;
  AppendRows(FloatType::kF16, 256, 256, &random, &object);
  EXPECT_EQ(Encode(Codec::kInt8, object.bytes, object.rows).codec, Codec::kInt8);
  for (const Codec codec : {Codec::kFp16, Codec::kRint16}) {
    const Encoded encoded = Encode(codec, object.bytes, object.rows);
    EXPECT_EQ(encoded.codec, Codec::kLossless);
    EXPECT_EQ(Decode(encoded.codec, encoded.bytes, object.bytes.size()).value(), object.bytes);
  }
  for (const Codec codec : kLossy) {
    EXPECT_EQ(Encode(codec, object.bytes).codec, Codec::kLossless);
  }
}

TEST(LossyCodec, LeavesRowsAloneThatAreNotFinite) {
  Random random(3);
  Object object;
  AppendRows(FloatType::kF32, 128, 8, &random, &object);
  AppendRows(FloatType::kF32, 128, 8, &random, &object);
  const float infinite = INFINITY;
  std::memcpy(object.bytes.data() + 400, &infinite, 4);
  for (const Codec codec : kLossy) {
    const Bytes stored = EncodeLossy(codec, object.bytes, object.rows);
    const auto back = DecodeLossy(codec, stored, object.bytes.size());
    ASSERT_TRUE(back.has_value()) << back.error().message;
    const auto first = static_cast<ptrdiff_t>(object.rows[0].bytes);
    EXPECT_TRUE(std::equal(back->begin(), back->begin() + first, object.bytes.begin()));
    EXPECT_NE(*back, object.bytes);
    EXPECT_TRUE(EncodeLossy(codec, object.bytes, {object.rows.data(), 1}).empty());
  }
}

TEST(LossyCodec, RefusesWhatIsCutOffGoesOnOrIsOfAnotherSize) {
  Random random(4);
  const Object object = [&] {
    Object made;
    AppendNoise(20, &random, &made.bytes);
    AppendRows(FloatType::kF32, 96, 3, &random, &made);
    return made;
  }();
  for (const Codec codec : kLossy) {
    const Bytes stored = EncodeLossy(codec, object.bytes, object.rows);
    for (size_t size = 0; size < stored.size(); ++size) {
      const auto back = DecodeLossy(codec, ByteSpan(stored).first(size), object.bytes.size());
      ASSERT_FALSE(back.has_value()) << size;
      EXPECT_EQ(back.error().code, ErrorCode::kCorrupt);
    }
    Bytes longer = stored;
    longer.push_back(0);
    EXPECT_FALSE(DecodeLossy(codec, longer, object.bytes.size()));
    for (const size_t size :
         {size_t{0}, object.bytes.size() - 1, object.bytes.size() + 1, size_t{1} << 62, SIZE_MAX}) {
      EXPECT_FALSE(DecodeLossy(codec, stored, size)) << size;
    }
  }
}

TEST(LossyCodec, SurvivesEveryChangedByteAndAnyNoise) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const Object object = Drawn(&random);
  for (const Codec codec : kLossy) {
    const Bytes stored = EncodeLossy(codec, object.bytes, object.rows);
    for (int i = 0; i < 2000 && !stored.empty(); ++i) {
      Bytes changed = stored;
      const size_t at = i < 200 ? i % stored.size() : random() % stored.size();
      changed[at] = static_cast<uint8_t>(random());
      const auto back = DecodeLossy(codec, changed, object.bytes.size());
      if (back) {
        EXPECT_EQ(back->size(), object.bytes.size());
      }
    }
    for (int i = 0; i < 2000; ++i) {
      Bytes noise = {1, 0, 0, 0};
      AppendNoise(random() % 100, &random, &noise);
      const auto back = DecodeLossy(codec, noise, 200);
      if (back) {
        EXPECT_EQ(back->size(), 200u);
      }
    }
  }
}

}  // namespace
}  // namespace cairn
