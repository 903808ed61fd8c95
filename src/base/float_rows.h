// FloatRows: where in an object's bytes rows of floats stand. Codecs that lose something touch
// nothing else; whoever knows the layout of the bytes finds the rows (engine/state_rows.h).

#ifndef CAIRN_BASE_FLOAT_ROWS_H_
#define CAIRN_BASE_FLOAT_ROWS_H_

#include <cstddef>
#include <cstdint>

namespace cairn {

// Part of what is written to disk: never change a value, never use one again.
enum class FloatType : uint8_t { kF32 = 1, kF16 = 2 };

inline size_t FloatBytes(FloatType type) {
  return type == FloatType::kF32 ? 4 : 2;
}

// Rows of one length, one after the other.
struct FloatRows {
  size_t offset = 0;
  size_t bytes = 0;      // of all rows: a multiple of `row_bytes`
  size_t row_bytes = 0;  // a multiple of FloatBytes(type)
  FloatType type = FloatType::kF32;

  friend bool operator==(const FloatRows&, const FloatRows&) = default;
};

}  // namespace cairn

#endif  // CAIRN_BASE_FLOAT_ROWS_H_
