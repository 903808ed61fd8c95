#include "store/codec_lossy.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "store/codec_lossless.h"
#include "store/pack_floats.h"

namespace cairn {
namespace {

constexpr size_t kCountBytes = 4;
constexpr size_t kRowsBytes = 24;

template <typename Int>
void Append(Int value, Bytes* out) {
  for (size_t byte = 0; byte < sizeof(Int); ++byte) {
    out->push_back(static_cast<uint8_t>(value >> (8 * byte)));
  }
}

template <typename Int>
Int Take(ByteSpan* in) {
  Int value = 0;
  for (size_t byte = 0; byte < sizeof(Int); ++byte) {
    value |= static_cast<Int>((*in)[byte]) << (8 * byte);
  }
  *in = in->subspan(sizeof(Int));
  return value;
}

size_t RowFloats(const FloatRows& rows) {
  return rows.row_bytes / FloatBytes(rows.type);
}

size_t PackedBytes(Codec codec, const FloatRows& rows) {
  return rows.bytes / rows.row_bytes * PackedRowBytes(codec, RowFloats(rows));
}

// Whether `rows` lie in [begin, end) and are whole; what both sides ask.
bool AreWithin(const FloatRows& rows, size_t begin, size_t end) {
  if (rows.type != FloatType::kF32 && rows.type != FloatType::kF16) return false;
  if (rows.row_bytes == 0 || rows.row_bytes % FloatBytes(rows.type) != 0) return false;
  return rows.offset >= begin && rows.offset <= end && rows.bytes <= end - rows.offset &&
         rows.bytes % rows.row_bytes == 0;
}

bool ComeOutSmaller(Codec codec, const FloatRows& rows) {
  return PacksType(codec, rows.type) && PackedRowBytes(codec, RowFloats(rows)) < rows.row_bytes;
}

void ReadRow(ByteSpan bytes, FloatType type, std::span<float> row) {
  if (type == FloatType::kF32) {
    std::memcpy(row.data(), bytes.data(), bytes.size());
    return;
  }
  for (size_t i = 0; i < row.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, bytes.data() + 2 * i, 2);
    row[i] = FloatOf(half);
  }
}

// A half's neighbours are far apart: what was rounded to one beyond the largest is put back to it.
void WriteRow(std::span<const float> row, FloatType type, std::span<uint8_t> bytes) {
  if (type == FloatType::kF32) {
    std::memcpy(bytes.data(), row.data(), bytes.size());
    return;
  }
  for (size_t i = 0; i < row.size(); ++i) {
    const uint16_t half = HalfOf(std::clamp(row[i], -65504.0F, 65504.0F));
    std::memcpy(bytes.data() + 2 * i, &half, 2);
  }
}

bool CanPack(Codec codec, ByteSpan raw, const FloatRows& rows, std::vector<float>* row) {
  row->resize(RowFloats(rows));
  for (size_t at = 0; at < rows.bytes; at += rows.row_bytes) {
    ReadRow(raw.subspan(rows.offset + at, rows.row_bytes), rows.type, *row);
    if (!CanPackRow(codec, *row)) return false;
  }
  return true;
}

void AppendPacked(Codec codec, ByteSpan raw, const FloatRows& rows, std::vector<float>* row,
                  Bytes* out) {
  row->resize(RowFloats(rows));
  const size_t packed_bytes = PackedRowBytes(codec, row->size());
  size_t end = out->size();
  out->resize(end + PackedBytes(codec, rows));
  for (size_t at = 0; at < rows.bytes; at += rows.row_bytes) {
    ReadRow(raw.subspan(rows.offset + at, rows.row_bytes), rows.type, *row);
    PackRow(codec, *row, out->data() + end);
    end += packed_bytes;
  }
}

// The list at the front of `*stored`, checked; empty when it is none.
std::vector<FloatRows> TakeList(Codec codec, size_t raw_bytes, ByteSpan* stored) {
  if (stored->size() < kCountBytes) return {};
  const auto count = Take<uint32_t>(stored);
  if (count > stored->size() / kRowsBytes) return {};
  std::vector<FloatRows> list(count);
  size_t begin = 0;
  for (FloatRows& rows : list) {
    rows.offset = Take<uint64_t>(stored);
    rows.bytes = Take<uint64_t>(stored);
    rows.row_bytes = Take<uint32_t>(stored);
    const auto type = Take<uint32_t>(stored);
    rows.type = type == 1 ? FloatType::kF32 : FloatType::kF16;
    if (type != 1 && type != 2) return {};
    if (!AreWithin(rows, begin, raw_bytes) || !ComeOutSmaller(codec, rows)) return {};
    begin = rows.offset + rows.bytes;
  }
  return list;
}

}  // namespace

Bytes EncodeLossy(Codec codec, ByteSpan raw, std::span<const FloatRows> rows) {
  std::vector<float> row;
  std::vector<FloatRows> list;
  size_t begin = 0;
  for (const FloatRows& each : rows) {
    CHECK(AreWithin(each, begin, raw.size()));
    begin = each.offset + each.bytes;
    if (each.bytes == 0 || each.row_bytes > UINT32_MAX || !ComeOutSmaller(codec, each)) continue;
    if (CanPack(codec, raw, each, &row)) list.push_back(each);
  }
  if (list.empty()) return {};
  Bytes out;
  Append(static_cast<uint32_t>(list.size()), &out);
  Bytes framed;
  size_t end = 0;
  for (const FloatRows& each : list) {
    Append(static_cast<uint64_t>(each.offset), &out);
    Append(static_cast<uint64_t>(each.bytes), &out);
    Append(static_cast<uint32_t>(each.row_bytes), &out);
    Append(static_cast<uint32_t>(each.type), &out);
    const ByteSpan between = raw.subspan(end, each.offset - end);
    framed.insert(framed.end(), between.begin(), between.end());
    end = each.offset + each.bytes;
  }
  framed.insert(framed.end(), raw.begin() + static_cast<ptrdiff_t>(end), raw.end());
  for (const FloatRows& each : list) AppendPacked(codec, raw, each, &row, &framed);
  const Bytes frame = EncodeLossless(framed);
  out.insert(out.end(), frame.begin(), frame.end());
  return out;
}

Result<Bytes> DecodeLossy(Codec codec, ByteSpan stored, size_t raw_bytes) {
  const std::vector<FloatRows> list = TakeList(codec, raw_bytes, &stored);
  if (list.empty()) {
    return Fail(ErrorCode::kCorrupt, "the stored bytes do not begin as those of a lossy codec");
  }
  size_t framed_bytes = raw_bytes;
  for (const FloatRows& rows : list) framed_bytes -= rows.bytes - PackedBytes(codec, rows);
  auto framed = DecodeLossless(stored, framed_bytes);
  if (!framed) return tl::unexpected(framed.error());
  Bytes raw(raw_bytes);
  ByteSpan rest(*framed);
  const auto copy = [&](size_t begin, size_t end) {
    if (begin < end) std::memcpy(raw.data() + begin, rest.data(), end - begin);
    rest = rest.subspan(end - begin);
  };
  size_t end = 0;
  for (const FloatRows& rows : list) {
    copy(end, rows.offset);
    end = rows.offset + rows.bytes;
  }
  copy(end, raw_bytes);
  std::vector<float> row;
  for (const FloatRows& rows : list) {
    row.resize(RowFloats(rows));
    const size_t packed_bytes = PackedRowBytes(codec, row.size());
    for (size_t at = 0; at < rows.bytes; at += rows.row_bytes) {
      UnpackRow(codec, rest.data(), row);
      rest = rest.subspan(packed_bytes);
      WriteRow(row, rows.type, std::span(raw).subspan(rows.offset + at, rows.row_bytes));
    }
  }
  return raw;
}

}  // namespace cairn
