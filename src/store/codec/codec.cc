#include "store/codec/codec.h"

#include <array>
#include <string>

#include "store/codec/codec_lossless.h"

namespace cairn {
namespace {

struct Named {
  Codec codec;
  std::string_view name;
};
constexpr std::array<Named, 2> kCodecs = {{{Codec::kRaw, "raw"}, {Codec::kLossless, "lossless"}}};

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

}  // namespace cairn
