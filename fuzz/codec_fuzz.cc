// Codecs return every byte; bytes that no codec encoded are refused, or decode to the requested
// size.

#include <array>

#include "base/check.h"
#include "fuzz/made_object.h"

namespace cairn {
namespace {

constexpr size_t kRawBytesMax = 100'000;

void CheckDecode(fuzz::FuzzInput* input) {
  const auto codec = static_cast<Codec>(1 + input->Below(2));
  const size_t raw_bytes = input->Number(4) % kRawBytesMax;
  const ByteSpan stored = input->Rest();
  const auto raw = Decode(codec, stored, raw_bytes);
  if (raw) CHECK(raw->size() == raw_bytes);
}

void CheckBothWays(fuzz::FuzzInput* input) {
  const auto codec = static_cast<Codec>(1 + input->Below(2));
  const size_t repeats = 1 + input->Below(20);
  const ByteSpan rest = input->Rest();
  Bytes raw;
  for (size_t i = 0; i < repeats; ++i) raw.insert(raw.end(), rest.begin(), rest.end());
  const Encoded encoded = Encode(codec, raw);
  const auto decoded =
      Decode(encoded.codec, encoded.codec == Codec::kRaw ? raw : encoded.bytes, raw.size());
  CHECK(decoded.has_value());
  CHECK(*decoded == raw);
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
