#include "sched/media/media_rows_format.h"

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace cairn {
namespace {

constexpr uint32_t kNonCausal = 1;
constexpr uint32_t kHasRowPositions = 2;

struct RowsFront {
  uint64_t key_high = 0;
  uint64_t key_low = 0;
};

struct PieceFront {
  uint32_t rows = 0;
  uint32_t positions = 0;
  uint32_t row_floats = 0;
  uint32_t flags = 0;
};

template <typename T>
void Append(std::span<const T> values, Bytes* to) {
  if (values.empty()) return;
  const size_t begin = to->size();
  to->resize(begin + values.size_bytes());
  std::memcpy(to->data() + begin, values.data(), values.size_bytes());
}

template <typename T>
void Append(const T& value, Bytes* to) {
  Append(std::span<const T>(&value, 1), to);
}

// Takes `count` values from the front of `left`. Returns false if there are fewer.
template <typename T>
bool TakeValues(uint64_t count, T* values, ByteSpan* left) {
  if (count > left->size() / sizeof(T)) return false;
  const size_t bytes = static_cast<size_t>(count) * sizeof(T);
  if (bytes > 0) std::memcpy(values, left->data(), bytes);
  *left = left->subspan(bytes);
  return true;
}

template <typename T>
bool TakeValues(uint64_t count, std::vector<T>* values, ByteSpan* left) {
  if (count > left->size() / sizeof(T)) return false;  // before anything is allocated
  values->resize(static_cast<size_t>(count));
  return TakeValues(count, values->data(), left);
}

std::optional<EncodedPiece> TakePiece(ByteSpan* left) {
  PieceFront front;
  if (!TakeValues(1, &front, left)) return std::nullopt;
  if (front.rows == 0 || (front.flags & ~(kNonCausal | kHasRowPositions)) != 0) return std::nullopt;
  EncodedPiece piece;
  piece.rows = front.rows;
  piece.positions = front.positions;
  piece.non_causal = (front.flags & kNonCausal) != 0;
  const uint64_t row_positions = (front.flags & kHasRowPositions) != 0 ? front.rows : 0;
  const uint64_t floats = uint64_t{front.rows} * front.row_floats;
  if (!TakeValues(row_positions, &piece.row_positions, left)) return std::nullopt;
  if (!TakeValues(floats, &piece.embeddings, left)) return std::nullopt;
  return piece;
}

}  // namespace

Bytes EncodeRows(const Bits128& key, const EncodedPieces& pieces) {
  Bytes bytes;
  Append(RowsFront{key.high, key.low}, &bytes);
  Append(static_cast<uint32_t>(pieces.size()), &bytes);
  for (const auto& piece : pieces) {
    PieceFront front;
    front.rows = static_cast<uint32_t>(piece->rows);
    front.positions = static_cast<uint32_t>(piece->positions);
    front.row_floats =
        piece->rows == 0 ? 0 : static_cast<uint32_t>(piece->embeddings.size() / piece->rows);
    front.flags = piece->non_causal ? kNonCausal : 0;
    if (!piece->row_positions.empty()) front.flags |= kHasRowPositions;
    Append(front, &bytes);
    Append(std::span(piece->row_positions), &bytes);
    Append(std::span(piece->embeddings), &bytes);
  }
  return bytes;
}

std::optional<EncodedPieces> DecodeRows(const Bits128& key, ByteSpan payload) {
  RowsFront front;
  uint32_t count = 0;
  if (!TakeValues(1, &front, &payload) || !TakeValues(1, &count, &payload)) return std::nullopt;
  if (front.key_high != key.high || front.key_low != key.low) return std::nullopt;
  EncodedPieces pieces;
  for (uint32_t i = 0; i < count; ++i) {
    auto piece = TakePiece(&payload);
    if (!piece) return std::nullopt;
    pieces.push_back(std::make_shared<const EncodedPiece>(*std::move(piece)));
  }
  if (!payload.empty()) return std::nullopt;
  return pieces;
}

}  // namespace cairn
