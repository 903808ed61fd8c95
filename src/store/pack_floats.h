// How each lossy codec packs a row of floats; codec_lossy.h says how. A row's packed bytes depend
// on its length alone, so that a reader knows where everything stands.
//
// Pure functions; any thread.

#ifndef CAIRN_STORE_PACK_FLOATS_H_
#define CAIRN_STORE_PACK_FLOATS_H_

#include <cstdint>
#include <span>

#include "base/float_rows.h"
#include "store/object.h"

namespace cairn {

// IEEE half precision, rounded to the nearest, ties to even; beyond it infinity.
uint16_t HalfOf(float value);
float FloatOf(uint16_t half);

// Whether the codec packs floats of that type at all.
bool PacksType(Codec codec, FloatType type);
// What a row of `floats` is packed to. REQUIRES: `codec` is lossy.
size_t PackedRowBytes(Codec codec, size_t floats);
// Whether the codec can pack the row: all of it is finite, and within a half for fp16.
bool CanPackRow(Codec codec, std::span<const float> row);
// Writes PackedRowBytes(). REQUIRES: CanPackRow(codec, row).
void PackRow(Codec codec, std::span<const float> row, uint8_t* packed);
// Reads PackedRowBytes(), whatever they are.
void UnpackRow(Codec codec, const uint8_t* packed, std::span<float> row);

}  // namespace cairn

#endif  // CAIRN_STORE_PACK_FLOATS_H_
