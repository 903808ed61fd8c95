// The lossy codecs. What they may touch is packed, row after row; it and all other bytes, which
// stay as they are, go into a frame of the lossless codec:
//
//   | u32 count | count times: u64 offset, u64 bytes, u32 row_bytes, u32 type | frame |
//   in the frame: all bytes outside the rows, in order; then each rows' packed floats
//
// fp16       f32 rows: every float rounded to an IEEE half.
// int8       f32 and f16 rows, in groups of up to 128 floats of a row: every group's scale (f32),
// then
//            every float as an i8 of its group's scale. The largest of a group becomes 127.
// rint16     f32 rows, groups and scales likewise: a group is turned by signs and a Walsh-Hadamard
//            transform, which spreads what sticks out, and kept as i16. A group whose length is no
//            power of two is not turned.
//
// Rows in which a float is not finite, or in fp16's case beyond a half, stay as they are, as do
// rows that would come out no smaller. Numbers are little-endian.
//
// Pure functions; any thread.

#ifndef CAIRN_STORE_CODEC_LOSSY_H_
#define CAIRN_STORE_CODEC_LOSSY_H_

#include <span>

#include "base/bytes.h"
#include "base/float_rows.h"
#include "base/result.h"
#include "store/object.h"

namespace cairn {

// Empty: nothing in `rows` is for this codec.
// REQUIRES: `codec` is lossy; `rows` as Encode in codec.h.
Bytes EncodeLossy(Codec codec, ByteSpan raw, std::span<const FloatRows> rows);
// kCorrupt: see Decode in codec.h.
Result<Bytes> DecodeLossy(Codec codec, ByteSpan stored, size_t raw_bytes);

}  // namespace cairn

#endif  // CAIRN_STORE_CODEC_LOSSY_H_
