#include "sched/media/media_rows_format.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace cairn {
namespace {

constexpr Bits128 kKey{0x0123456789abcdef, 0xfedcba9876543210};
constexpr size_t kFrontBytes = 20;
constexpr size_t kPieceFrontBytes = 16;

std::shared_ptr<const EncodedPiece> Piece(size_t rows, size_t row_floats, bool mrope,
                                          bool non_causal) {
  EncodedPiece piece;
  piece.rows = rows;
  piece.positions = mrope ? 3 : rows;
  piece.non_causal = non_causal;
  for (uint32_t row = 0; mrope && row < rows; ++row) piece.row_positions.push_back({0, row, 7});
  for (size_t i = 0; i < rows * row_floats; ++i) {
    piece.embeddings.push_back(static_cast<float>(i) / 3.0F);
  }
  return std::make_shared<const EncodedPiece>(std::move(piece));
}

EncodedPieces Pieces() {
  return {Piece(5, 4, false, true), Piece(6, 4, true, false)};
}

void ExpectSame(const EncodedPiece& a, const EncodedPiece& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.positions, b.positions);
  EXPECT_EQ(a.non_causal, b.non_causal);
  EXPECT_EQ(a.row_positions, b.row_positions);
  EXPECT_EQ(a.embeddings, b.embeddings);
}

TEST(MediaRowsFormat, GivesThePiecesBack) {
  const EncodedPieces pieces = Pieces();
  const auto again = DecodeRows(kKey, EncodeRows(kKey, pieces));
  ASSERT_TRUE(again.has_value());
  ASSERT_EQ(again->size(), pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) ExpectSame(*(*again)[i], *pieces[i]);
}

TEST(MediaRowsFormat, KeepsTheBitsOfEveryNumber) {
  EncodedPiece piece;
  piece.rows = 1;
  piece.positions = 1;
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    float number = 0;
    std::memcpy(&number, &bits, sizeof(number));
    piece.embeddings.push_back(number);
  }
  const EncodedPieces pieces = {std::make_shared<const EncodedPiece>(piece)};
  const auto again = DecodeRows(kKey, EncodeRows(kKey, pieces));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(std::memcmp(again->front()->embeddings.data(), piece.embeddings.data(),
                        piece.embeddings.size() * sizeof(float)),
            0);
}

TEST(MediaRowsFormat, RefusesRowsOfAnotherMedium) {
  const Bytes bytes = EncodeRows(kKey, Pieces());
  EXPECT_FALSE(DecodeRows({kKey.high, kKey.low + 1}, bytes).has_value());
  EXPECT_FALSE(DecodeRows({kKey.high + 1, kKey.low}, bytes).has_value());
}

TEST(MediaRowsFormat, RefusesWhatIsShorterOrLonger) {
  const Bytes bytes = EncodeRows(kKey, Pieces());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeRows(kKey, ByteSpan(bytes).first(size)).has_value()) << size;
  }
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(DecodeRows(kKey, longer).has_value());
}

TEST(MediaRowsFormat, RefusesCountsBeyondTheBytesWithoutAllocatingThem) {
  for (size_t field = 0; field < 4; ++field) {
    if (field == 1) continue;  // any number of positions may be there
    Bytes bytes = EncodeRows(kKey, Pieces());
    const uint32_t huge = 0xFFFFFFFF;
    std::memcpy(bytes.data() + kFrontBytes + 4 * field, &huge, sizeof(huge));
    EXPECT_FALSE(DecodeRows(kKey, bytes).has_value()) << field;
  }
  Bytes bytes = EncodeRows(kKey, Pieces());
  const uint32_t none = 0;
  std::memcpy(bytes.data() + kFrontBytes, &none, sizeof(none));
  EXPECT_FALSE(DecodeRows(kKey, bytes).has_value()) << "no rows";
}

TEST(MediaRowsFormat, TakesNoChangedByteForMoreThanItIs) {
  const EncodedPieces pieces = Pieces();
  const Bytes bytes = EncodeRows(kKey, pieces);
  for (size_t at = 0; at < kFrontBytes + kPieceFrontBytes; ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes changed = bytes;
      changed[at] ^= static_cast<uint8_t>(1U << bit);
      const auto read = DecodeRows(kKey, changed);
      if (!read) continue;
      ASSERT_EQ(read->size(), pieces.size());
      for (const auto& piece : *read) {
        EXPECT_EQ(piece->embeddings.size() % piece->rows, 0U);
        if (!piece->row_positions.empty()) {
          EXPECT_EQ(piece->row_positions.size(), piece->rows);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cairn
