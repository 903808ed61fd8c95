// The lossless codec. See codec.h.
//
//   blocks, each of kLosslessBlockBytes of the input, the last of the rest:
//   | u8 width | width times: u32 length, so many bytes |
//
// A block is cut into words of `width` bytes (1, 2 or 4). Each word is turned left by one bit where
// it is wider than a byte, so that a float's exponent fills its top byte, and the words' bytes go
// to `width` planes, the lowest first; what is left at the end joins the last plane. With 4-byte
// words each byte of the last plane is kept less the mean, rounded down, of the 16 before it, those
// before the first being 0. A plane as long as it should be stands there as it is; a shorter one is
// a zstd frame of it. Numbers are little-endian.
//
// Pure functions; any thread.

#ifndef CAIRN_STORE_CODEC_CODEC_LOSSLESS_H_
#define CAIRN_STORE_CODEC_CODEC_LOSSLESS_H_

#include "base/bytes.h"
#include "base/result.h"

namespace cairn {

inline constexpr size_t kLosslessBlockBytes = size_t{1} << 20;

// May come out a little longer than `raw`.
Bytes EncodeLossless(ByteSpan raw);
// kCorrupt: see Decode in codec.h.
Result<Bytes> DecodeLossless(ByteSpan stored, size_t raw_bytes);

}  // namespace cairn

#endif  // CAIRN_STORE_CODEC_CODEC_LOSSLESS_H_
