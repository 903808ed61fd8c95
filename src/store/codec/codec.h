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

// The lossless codec.
//
//   a sequence of blocks; each holds kLosslessBlockBytes of the input, the last one the remainder:
//   | u8 width | `width` planes: u32 length, then that many bytes |
//
// A block is cut into words of `width` bytes (1, 2 or 4). Words wider than one byte are rotated
// left by one bit, so that a float's exponent fills the top byte. Byte i of every word goes to
// plane i, the lowest byte first; bytes left over at the end of the block are appended to the last
// plane. With 4-byte words, each byte of the last plane is stored as its difference from the mean,
// rounded down, of the 16 bytes before it (bytes before the first count as 0). A plane whose stored
// length equals its decoded length is stored raw; a shorter one is a zstd frame. Numbers are
// little-endian.
//
// Pure functions; any thread.

inline constexpr size_t kLosslessBlockBytes = size_t{1} << 20;

// The result may be slightly longer than `raw`.
Bytes EncodeLossless(ByteSpan raw);
// Returns kCorrupt as Decode does.
Result<Bytes> DecodeLossless(ByteSpan stored, size_t raw_bytes);

}  // namespace cairn

#endif  // CAIRN_STORE_CODEC_CODEC_H_
