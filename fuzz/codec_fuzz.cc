// Codecs: lossless ones give every byte back, lossy ones every byte that is in no row of floats;
// and bytes that nobody encoded are refused, or come to the size that was asked for.

#include <array>

#include "base/check.h"
#include "fuzz/made_object.h"

namespace cairn {
namespace {

constexpr size_t kRawBytesMax = 100'000;

void CheckDecode(fuzz::FuzzInput* input) {
  const auto codec = static_cast<Codec>(1 + input->Below(5));
  const size_t raw_bytes = input->Number(4) % kRawBytesMax;
  const ByteSpan stored = input->Rest();
  const auto raw = Decode(codec, stored, raw_bytes);
  if (raw) CHECK(raw->size() == raw_bytes);
}

void CheckBothWays(fuzz::FuzzInput* input) {
  const auto codec = static_cast<Codec>(1 + input->Below(5));
  const size_t repeats = 1 + input->Below(20);
  std::vector<FloatRows> rows = fuzz::MakeRows(input, input->size() * repeats);
  const ByteSpan rest = input->Rest();
  Bytes raw;
  for (size_t i = 0; i < repeats; ++i) raw.insert(raw.end(), rest.begin(), rest.end());
  std::erase_if(rows, [&](const FloatRows& row) { return row.offset + row.bytes > raw.size(); });
  const Encoded encoded = Encode(codec, raw, rows);
  const auto decoded =
      Decode(encoded.codec, encoded.codec == Codec::kRaw ? raw : encoded.bytes, raw.size());
  CHECK(decoded.has_value());
  CHECK(decoded->size() == raw.size());
  size_t at = 0;
  const auto check_to = [&](size_t end) {
    for (; at < end; ++at) CHECK((*decoded)[at] == raw[at]);
  };
  for (const FloatRows& row : rows) {
    if (!IsLossy(encoded.codec)) break;
    check_to(row.offset);
    at = row.offset + row.bytes;
  }
  check_to(raw.size());
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cairn::fuzz::FuzzInput input(data, size);
  if (input.Flag()) {
    cairn::CheckDecode(&input);
  } else {
    cairn::CheckBothWays(&input);
  }
  return 0;
}
