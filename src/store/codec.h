// Codecs: how an object's bytes are written to disk. Raw and lossless give every bit back; the
// others are lossy, opt-in, and meant for states whose rows are floats. docs/codecs.md says what
// each costs and what it does to answers, and specifies the bytes.
//
// Pure functions; any thread.

#ifndef CAIRN_STORE_CODEC_H_
#define CAIRN_STORE_CODEC_H_

#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/float_rows.h"
#include "base/result.h"
#include "store/object.h"

namespace cairn {

// kInvalidArgument names the codecs.
Result<Codec> ParseCodec(std::string_view name);
std::string_view CodecName(Codec codec);
// Whether what comes back may differ from what was written.
bool IsLossy(Codec codec);

struct Encoded {
  // What was used: raw where the codec asked for would have made it no smaller, and lossless where
  // it is lossy and there is nothing that it may touch.
  Codec codec = Codec::kRaw;
  Bytes bytes;  // empty with kRaw: the input's own are to be written
};
// `rows`: the parts of `raw` that a lossy codec may change, in order and apart from each other. All
// other bytes come back as they were, whatever the codec.
// REQUIRES: every row lies within `raw`.
Encoded Encode(Codec codec, ByteSpan raw, std::span<const FloatRows> rows = {});
// kCorrupt: the bytes are not what the codec writes, or do not come to `raw_bytes`.
Result<Bytes> Decode(Codec codec, ByteSpan stored, size_t raw_bytes);

}  // namespace cairn

#endif  // CAIRN_STORE_CODEC_H_
