#include "store/pack_floats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace cairn {
namespace {

// Floats that share a scale: a power of two, and the width of a head in most models.
constexpr size_t kGroup = 128;
constexpr size_t kScaleBytes = sizeof(float);
constexpr float kHalfMax = 65504.0F;

static_assert(std::endian::native == std::endian::little, "floats are stored as they are");

size_t Groups(size_t floats) {
  return (floats + kGroup - 1) / kGroup;
}

// Fixed for good: what was turned by one table cannot be turned back by another.
const std::array<float, kGroup>& Signs() {
  static const std::array<float, kGroup> signs = [] {
    std::array<float, kGroup> drawn{};
    uint64_t state = 0x436169726E;
    for (float& sign : drawn) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      sign = (state >> 63) != 0 ? -1.0F : 1.0F;
    }
    return drawn;
  }();
  return signs;
}

// The Walsh-Hadamard transform, scaled so that it is its own inverse.
void Turn(std::span<float> group) {
  const size_t size = group.size();
  for (size_t half = 1; half < size; half *= 2) {
    for (size_t begin = 0; begin < size; begin += 2 * half) {
      for (size_t i = begin; i < begin + half; ++i) {
        const float a = group[i];
        const float b = group[i + half];
        group[i] = a + b;
        group[i + half] = a - b;
      }
    }
  }
  const float norm = 1.0F / std::sqrt(static_cast<float>(size));
  for (float& value : group) value *= norm;
}

void ApplySigns(std::span<float> group) {
  const auto& signs = Signs();
  for (size_t i = 0; i < group.size(); ++i) group[i] *= signs[i];
}

template <typename Int>
void PackGroup(std::span<const float> group, float* scale, uint8_t* packed) {
  constexpr auto kMost = static_cast<float>(std::numeric_limits<Int>::max());
  // Added to a float as small as these, it leaves no room for what stands behind the point.
  constexpr float kRounds = 0x1.8p23F;
  float largest = 0;
  for (const float value : group) largest = std::max(largest, std::abs(value));
  *scale = largest / kMost;
  // A scale too small to divide by is that of floats too small to tell from zero.
  const float inverse = *scale > std::numeric_limits<float>::min() ? 1.0F / *scale : 0.0F;
  for (size_t i = 0; i < group.size(); ++i) {
    const float steps = std::clamp(group[i] * inverse, -kMost, kMost);
    const auto code = static_cast<Int>((steps + kRounds) - kRounds);
    std::memcpy(packed + i * sizeof(Int), &code, sizeof(Int));
  }
}

template <typename Int>
void UnpackGroup(float scale, const uint8_t* packed, std::span<float> group) {
  for (size_t i = 0; i < group.size(); ++i) {
    Int code;
    std::memcpy(&code, packed + i * sizeof(Int), sizeof(Int));
    group[i] = scale * static_cast<float>(code);
  }
}

// All scales of the row stand before its first code.
template <typename Int, bool kTurns>
void PackScaled(std::span<const float> row, uint8_t* packed) {
  uint8_t* codes = packed + Groups(row.size()) * kScaleBytes;
  std::array<float, kGroup> turned{};
  for (size_t begin = 0; begin < row.size(); begin += kGroup) {
    std::span<const float> group = row.subspan(begin, std::min(kGroup, row.size() - begin));
    if (kTurns && std::has_single_bit(group.size())) {
      const std::span<float> copy = std::span(turned).first(group.size());
      std::copy(group.begin(), group.end(), copy.begin());
      ApplySigns(copy);
      Turn(copy);
      group = copy;
    }
    float scale = 0;
    PackGroup<Int>(group, &scale, codes + begin * sizeof(Int));
    std::memcpy(packed + begin / kGroup * kScaleBytes, &scale, kScaleBytes);
  }
}

template <typename Int, bool kTurns>
void UnpackScaled(const uint8_t* packed, std::span<float> row) {
  const uint8_t* codes = packed + Groups(row.size()) * kScaleBytes;
  for (size_t begin = 0; begin < row.size(); begin += kGroup) {
    const std::span<float> group = row.subspan(begin, std::min(kGroup, row.size() - begin));
    float scale = 0;
    std::memcpy(&scale, packed + begin / kGroup * kScaleBytes, kScaleBytes);
    UnpackGroup<Int>(scale, codes + begin * sizeof(Int), group);
    if (kTurns && std::has_single_bit(group.size())) {
      Turn(group);
      ApplySigns(group);
    }
  }
}

}  // namespace

uint16_t HalfOf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<uint16_t>(sign | 0x7E00U);   // not a number
  if (magnitude >= 0x477FF000U) return static_cast<uint16_t>(sign | 0x7C00U);  // rounds beyond
  if (magnitude < 0x38800000U) {
    // A half without a leading one. Adding 0.5 puts its last bit at the end of the float's
    // mantissa, where the addition rounds it.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000U));
  }
  const uint32_t odd = (magnitude >> 13) & 1U;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000U + 0xFFFU + odd) >> 13));
}

float FloatOf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1FU;
  const uint32_t mantissa = half & 0x3FFU;
  if (exponent == 0) {
    const float small = static_cast<float>(mantissa) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(small) | sign);
  }
  const uint32_t widened = exponent == 0x1F ? 0xFFU : exponent + 112;
  return std::bit_cast<float>(sign | (widened << 23) | (mantissa << 13));
}

bool PacksType(Codec codec, FloatType type) {
  return type == FloatType::kF32 || codec == Codec::kInt8;
}

size_t PackedRowBytes(Codec codec, size_t floats) {
  switch (codec) {
    case Codec::kFp16:
      return 2 * floats;
    case Codec::kInt8:
      return Groups(floats) * kScaleBytes + floats;
    case Codec::kRint16:
      return Groups(floats) * kScaleBytes + 2 * floats;
    case Codec::kRaw:
    case Codec::kLossless:
      break;
  }
  CHECK(false);
  return 0;
}

bool CanPackRow(Codec codec, std::span<const float> row) {
  // Room for the sums of the transform; no state comes near.
  const float most = codec == Codec::kFp16 ? kHalfMax : 1e30F;
  return std::all_of(row.begin(), row.end(),
                     [most](float value) { return std::abs(value) <= most; });
}

void PackRow(Codec codec, std::span<const float> row, uint8_t* packed) {
  if (codec == Codec::kInt8) return PackScaled<int8_t, false>(row, packed);
  if (codec == Codec::kRint16) return PackScaled<int16_t, true>(row, packed);
  CHECK(codec == Codec::kFp16);
  for (size_t i = 0; i < row.size(); ++i) {
    const uint16_t half = HalfOf(row[i]);
    std::memcpy(packed + 2 * i, &half, 2);
  }
}

void UnpackRow(Codec codec, const uint8_t* packed, std::span<float> row) {
  if (codec == Codec::kInt8) return UnpackScaled<int8_t, false>(packed, row);
  if (codec == Codec::kRint16) return UnpackScaled<int16_t, true>(packed, row);
  CHECK(codec == Codec::kFp16);
  for (size_t i = 0; i < row.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, packed + 2 * i, 2);
    row[i] = FloatOf(half);
  }
}

}  // namespace cairn
