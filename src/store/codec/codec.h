// Codecs: how the payload of an object is encoded on disk. Both codecs are lossless. docs/codecs.md
// gives their costs and specifies the bytes.
//
// Pure functions; any thread.

#ifndef CAIRN_STORE_CODEC_CODEC_H_
#define CAIRN_STORE_CODEC_CODEC_H_

#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "store/object.h"

namespace cairn {

// Returns kInvalidArgument with the list of codecs if `name` is not one of them.
Result<Codec> ParseCodec(std::string_view name);
std::string_view CodecName(Codec codec);

struct Encoded {
  // The codec used: kRaw if the requested one would not have made the payload smaller.
  Codec codec = Codec::kRaw;
  Bytes bytes;  // empty with kRaw: write the input itself
};
Encoded Encode(Codec codec, ByteSpan raw);
// Returns kCorrupt if the codec cannot have written `stored`, or if it does not decode to
// `raw_bytes` bytes.
Result<Bytes> Decode(Codec codec, ByteSpan stored, size_t raw_bytes);

}  // namespace cairn

#endif  // CAIRN_STORE_CODEC_CODEC_H_
