#include "store/codec/codec.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <string>

namespace cairn {
namespace {

struct Named {
  Codec codec;
  std::string_view name;
};
constexpr std::array<Named, 2> kCodecs = {{{Codec::kRaw, "raw"}, {Codec::kLossless, "lossless"}}};

// Floats hardly repeat: zstd gains from the frequencies of the bytes, and its fastest level does
// that as well as its slowest. Short repeats are chance and cost more than they save, so only long
// ones count: rows of tokens that occur twice.
constexpr int kZstdLevel = 1;
constexpr int kRepeatBytesMin = 7;
constexpr size_t kWidthMax = 4;
constexpr std::array<size_t, 3> kWidths = {1, 2, kWidthMax};
// Size of the sample of a block from which its width is chosen.
constexpr size_t kSampleBytes = size_t{64} << 10;
// The smallest block: its width, and one plane of one byte.
constexpr size_t kStoredBlockBytesMin = 6;

using Plane = Bytes;
using Planes = std::array<Plane, kWidthMax>;

size_t PlaneBytes(size_t block_bytes, size_t width, size_t plane) {
  return block_bytes / width + (plane + 1 == width ? block_bytes % width : 0);
}

template <typename Word>
void SplitWords(const uint8_t* in, size_t words, Planes* planes) {
  constexpr size_t kBytes = sizeof(Word);
  std::array<uint8_t*, kBytes> out{};
  for (size_t plane = 0; plane < kBytes; ++plane) out[plane] = (*planes)[plane].data();
  for (size_t i = 0; i < words; ++i) {
    Word word;
    std::memcpy(&word, in + i * kBytes, kBytes);
    word = std::rotl(word, 1);
    for (size_t plane = 0; plane < kBytes; ++plane) {
      out[plane][i] = static_cast<uint8_t>(word >> (8 * plane));
    }
  }
}

template <typename Word>
void JoinWords(const Planes& planes, size_t words, uint8_t* out) {
  constexpr size_t kBytes = sizeof(Word);
  std::array<const uint8_t*, kBytes> in{};
  for (size_t plane = 0; plane < kBytes; ++plane) in[plane] = planes[plane].data();
  for (size_t i = 0; i < words; ++i) {
    Word word = 0;
    for (size_t plane = 0; plane < kBytes; ++plane) {
      word = static_cast<Word>(word | (static_cast<Word>(in[plane][i]) << (8 * plane)));
    }
    word = std::rotr(word, 1);
    std::memcpy(out + i * kBytes, &word, kBytes);
  }
}

// Predicts the exponent at `at` as the mean of those before it, given their sum, as the floats of a
// row have similar magnitudes. Exponents before the first count as zero.
constexpr size_t kExponentsBefore = 16;
uint8_t Expected(uint32_t sum) {
  return static_cast<uint8_t>(sum / kExponentsBefore);
}

// From the end, so that the preceding bytes are still the original ones.
void SubtractExpected(std::span<uint8_t> exponents) {
  const size_t size = exponents.size();
  uint32_t sum = 0;
  for (size_t i = size - std::min(size, kExponentsBefore); i < size; ++i) sum += exponents[i];
  for (size_t i = size; i-- > 0;) {
    sum -= exponents[i];
    if (i >= kExponentsBefore) sum += exponents[i - kExponentsBefore];
    exponents[i] = static_cast<uint8_t>(exponents[i] - Expected(sum));
  }
}

void AddExpected(std::span<uint8_t> exponents) {
  uint32_t sum = 0;
  for (size_t i = 0; i < exponents.size(); ++i) {
    exponents[i] = static_cast<uint8_t>(exponents[i] + Expected(sum));
    sum += exponents[i];
    if (i >= kExponentsBefore) sum -= exponents[i - kExponentsBefore];
  }
}

void Split(ByteSpan block, size_t width, Planes* planes) {
  for (size_t plane = 0; plane < width; ++plane) {
    (*planes)[plane].resize(PlaneBytes(block.size(), width, plane));
  }
  const size_t words = block.size() / width;
  if (width == 4) {
    SplitWords<uint32_t>(block.data(), words, planes);
    SubtractExpected(std::span(planes->back()).first(words));
  }
  if (width == 2) SplitWords<uint16_t>(block.data(), words, planes);
  if (width == 1 && words > 0) std::memcpy((*planes)[0].data(), block.data(), words);
  const ByteSpan rest = block.subspan(words * width);
  if (!rest.empty()) std::memcpy((*planes)[width - 1].data() + words, rest.data(), rest.size());
}

// Modifies the bytes in the planes.
void Join(Planes* planes, size_t width, std::span<uint8_t> block) {
  const size_t words = block.size() / width;
  if (width == 4) {
    AddExpected(std::span(planes->back()).first(words));
    JoinWords<uint32_t>(*planes, words, block.data());
  }
  if (width == 2) JoinWords<uint16_t>(*planes, words, block.data());
  if (width == 1 && words > 0) std::memcpy(block.data(), planes->front().data(), words);
  const std::span<uint8_t> rest = block.subspan(words * width);
  if (!rest.empty()) std::memcpy(rest.data(), (*planes)[width - 1].data() + words, rest.size());
}

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

void AppendU32(uint32_t value, Bytes* out) {
  for (int byte = 0; byte < 4; ++byte) out->push_back(static_cast<uint8_t>(value >> (8 * byte)));
}

uint32_t ReadU32(const uint8_t* in) {
  uint32_t value = 0;
  for (int byte = 0; byte < 4; ++byte) value |= static_cast<uint32_t>(in[byte]) << (8 * byte);
  return value;
}

// Writes the plane's frame to `*frame` and returns its size; returns the plane's size if the frame
// is no smaller. An error of zstd means that the frame does not fit or memory ran out.
size_t Compress(ZSTD_CCtx* context, const Plane& plane, Bytes* frame) {
  if (context == nullptr || plane.size() < 2) return plane.size();
  frame->resize(plane.size() - 1);
  const size_t size =
      ZSTD_compress2(context, frame->data(), frame->size(), plane.data(), plane.size());
  return ZSTD_isError(size) == 0 ? size : plane.size();
}

// Tries the widths on a sample of the block: 2-byte floats, 4-byte floats, or neither.
size_t BestWidth(ZSTD_CCtx* context, ByteSpan block, Planes* planes, Bytes* frame) {
  const size_t size = std::min(block.size(), kSampleBytes);
  const size_t begin = (block.size() - size) / 2 / kWidthMax * kWidthMax;
  size_t best = 1;
  size_t best_bytes = SIZE_MAX;
  for (const size_t width : kWidths) {
    Split(block.subspan(begin, size), width, planes);
    size_t bytes = 0;
    for (size_t plane = 0; plane < width; ++plane) {
      bytes += 4 + Compress(context, (*planes)[plane], frame);
    }
    if (bytes >= best_bytes) continue;
    best = width;
    best_bytes = bytes;
  }
  return best;
}

void AppendPlane(ZSTD_CCtx* context, const Plane& plane, Bytes* frame, Bytes* out) {
  const size_t size = Compress(context, plane, frame);
  const Plane& kept = size < plane.size() ? *frame : plane;
  AppendU32(static_cast<uint32_t>(size), out);
  out->insert(out->end(), kept.begin(), kept.begin() + static_cast<ptrdiff_t>(size));
}

// Takes a plane of `plane_bytes` from the front of `*stored`.
bool TakePlane(ZSTD_DCtx* context, size_t plane_bytes, ByteSpan* stored, Plane* plane) {
  if (stored->size() < 4) return false;
  const size_t size = ReadU32(stored->data());
  *stored = stored->subspan(4);
  if (size > plane_bytes || size > stored->size()) return false;
  const ByteSpan kept = stored->first(size);
  *stored = stored->subspan(size);
  plane->resize(plane_bytes);
  if (size == plane_bytes) {
    std::copy(kept.begin(), kept.end(), plane->begin());
    return true;
  }
  return ZSTD_decompressDCtx(context, plane->data(), plane_bytes, kept.data(), size) == plane_bytes;
}

bool TakeBlock(ZSTD_DCtx* context, std::span<uint8_t> block, ByteSpan* stored, Planes* planes) {
  if (stored->empty()) return false;
  const size_t width = stored->front();
  *stored = stored->subspan(1);
  if (std::find(kWidths.begin(), kWidths.end(), width) == kWidths.end()) return false;
  for (size_t plane = 0; plane < width; ++plane) {
    const size_t plane_bytes = PlaneBytes(block.size(), width, plane);
    if (!TakePlane(context, plane_bytes, stored, &(*planes)[plane])) return false;
  }
  Join(planes, width, block);
  return true;
}

}  // namespace

Result<Codec> ParseCodec(std::string_view name) {
  std::string names;
  for (const Named& named : kCodecs) {
    if (named.name == name) return named.codec;
    names += (names.empty() ? "" : ", ") + std::string(named.name);
  }
  return Fail(ErrorCode::kInvalidArgument,
              "there is no codec \"" + std::string(name) + "\"; there are " + names);
}

std::string_view CodecName(Codec codec) {
  for (const Named& named : kCodecs) {
    if (named.codec == codec) return named.name;
  }
  return "unknown";
}

Encoded Encode(Codec codec, ByteSpan raw) {
  if (codec == Codec::kRaw) return {};
  Encoded encoded = {codec, EncodeLossless(raw)};
  if (encoded.bytes.size() >= raw.size()) return {};
  return encoded;
}

Result<Bytes> Decode(Codec codec, ByteSpan stored, size_t raw_bytes) {
  switch (codec) {
    case Codec::kRaw:
      if (stored.size() == raw_bytes) return Bytes(stored.begin(), stored.end());
      return Fail(ErrorCode::kCorrupt, "the stored bytes are not as many as they should be");
    case Codec::kLossless:
      return DecodeLossless(stored, raw_bytes);
  }
  return Fail(ErrorCode::kCorrupt, "the codec is none that this version knows");
}

Bytes EncodeLossless(ByteSpan raw) {
  const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  if (context != nullptr) {
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kZstdLevel);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_minMatch, kRepeatBytesMin);
  }
  Planes planes;
  Bytes frame;
  Bytes out;
  out.reserve(raw.size() + raw.size() / 64 + kStoredBlockBytesMin);
  while (!raw.empty()) {
    const ByteSpan block = raw.first(std::min(raw.size(), kLosslessBlockBytes));
    raw = raw.subspan(block.size());
    const size_t width = BestWidth(context.get(), block, &planes, &frame);
    Split(block, width, &planes);
    out.push_back(static_cast<uint8_t>(width));
    for (size_t plane = 0; plane < width; ++plane) {
      AppendPlane(context.get(), planes[plane], &frame, &out);
    }
  }
  return out;
}

Result<Bytes> DecodeLossless(ByteSpan stored, size_t raw_bytes) {
  const auto corrupt = [] {
    return Fail(ErrorCode::kCorrupt, "the stored bytes are not of the lossless codec");
  };
  const size_t blocks =
      raw_bytes / kLosslessBlockBytes + (raw_bytes % kLosslessBlockBytes > 0 ? 1 : 0);
  if (blocks > stored.size() / kStoredBlockBytesMin) return corrupt();
  const std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context(ZSTD_createDCtx());
  if (context == nullptr) return Fail(ErrorCode::kInternal, "zstd has no memory to decode with");
  Planes planes;
  Bytes raw(raw_bytes);
  for (std::span<uint8_t> left(raw); !left.empty();) {
    const std::span<uint8_t> block = left.first(std::min(left.size(), kLosslessBlockBytes));
    left = left.subspan(block.size());
    if (!TakeBlock(context.get(), block, &stored, &planes)) return corrupt();
  }
  if (!stored.empty()) return corrupt();
  return raw;
}

}  // namespace cairn
