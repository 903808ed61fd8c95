#include "store/codec.h"

#include <array>
#include <string>

#include "store/codec_lossless.h"
#include "store/codec_lossy.h"

namespace cairn {
namespace {

struct Named {
  Codec codec;
  std::string_view name;
};
constexpr std::array<Named, 5> kCodecs = {{{Codec::kRaw, "raw"},
                                           {Codec::kLossless, "lossless"},
                                           {Codec::kFp16, "fp16"},
                                           {Codec::kInt8, "int8"},
                                           {Codec::kRint16, "rint16"}}};

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

bool IsLossy(Codec codec) {
  return codec != Codec::kRaw && codec != Codec::kLossless;
}

Encoded Encode(Codec codec, ByteSpan raw, std::span<const FloatRows> rows) {
  Encoded encoded = {codec, {}};
  if (codec == Codec::kRaw) return encoded;
  if (IsLossy(codec)) encoded.bytes = EncodeLossy(codec, raw, rows);
  if (encoded.bytes.empty()) encoded = {Codec::kLossless, EncodeLossless(raw)};
  if (encoded.bytes.size() >= raw.size()) return {Codec::kRaw, {}};
  return encoded;
}

Result<Bytes> Decode(Codec codec, ByteSpan stored, size_t raw_bytes) {
  switch (codec) {
    case Codec::kRaw:
      if (stored.size() == raw_bytes) return Bytes(stored.begin(), stored.end());
      return Fail(ErrorCode::kCorrupt, "the stored bytes are not as many as they should be");
    case Codec::kLossless:
      return DecodeLossless(stored, raw_bytes);
    case Codec::kFp16:
    case Codec::kInt8:
    case Codec::kRint16:
      return DecodeLossy(codec, stored, raw_bytes);
  }
  return Fail(ErrorCode::kCorrupt, "the codec is none that this version knows");
}

}  // namespace cairn
