// Codecs: how an object's bytes are written to disk. Both give every bit back. docs/codecs.md says
// what they cost, and specifies the bytes.
//
// Pure functions; any thread.

#ifndef CAIRN_STORE_CODEC_CODEC_H_
#define CAIRN_STORE_CODEC_CODEC_H_

#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "store/object.h"

namespace cairn {

// kInvalidArgument names the codecs.
Result<Codec> ParseCodec(std::string_view name);
std::string_view CodecName(Codec codec);

struct Encoded {
  // The one used: raw where the codec asked for would have made it no smaller.
  Codec codec = Codec::kRaw;
  Bytes bytes;  // empty with kRaw: the input's own are to be written
};
Encoded Encode(Codec codec, ByteSpan raw);
// kCorrupt: the bytes are not what the codec writes, or do not come to `raw_bytes`.
Result<Bytes> Decode(Codec codec, ByteSpan stored, size_t raw_bytes);

}  // namespace cairn

#endif  // CAIRN_STORE_CODEC_CODEC_H_
