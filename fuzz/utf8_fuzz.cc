// UTF-8: by another decoder's measure ToValidUtf8 returns valid text, and leaves valid text
// unchanged; and no cut that the functions choose is inside a character.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "fuzz/input.h"

namespace cairn {
namespace {

// Returns the bytes of the first character of `text` by decoding it; 0: invalid. Written from the
// definition, unlike base/utf8.cc, which follows the table of RFC 3629.
size_t DecodedBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC0 || lead >= 0xF8 || text.size() < bytes) return 0;
  uint32_t code = lead & (0x7FU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
    code = code << 6U | (byte(i) & 0x3FU);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return code < kLeast[bytes] || code > 0x10FFFF || surrogate ? 0 : bytes;
}

// Returns the number of characters, or -1 if the text is not valid.
int64_t ValidCharacters(std::string_view text) {
  int64_t count = 0;
  while (!text.empty()) {
    const size_t bytes = DecodedBytes(text);
    if (bytes == 0) return -1;
    text.remove_prefix(bytes);
    ++count;
  }
  return count;
}

void CheckText(std::string_view text) {
  const int64_t characters = ValidCharacters(text);
  const std::string valid = ToValidUtf8(text);
  CHECK(ValidCharacters(valid) >= 0);
  CHECK(ToValidUtf8(valid) == valid);
  CHECK((characters >= 0) == (valid == text));
  if (characters >= 0) CHECK(CountCharacters(text) == static_cast<size_t>(characters));

  const size_t complete = CompleteUtf8Prefix(text);
  CHECK(complete <= text.size() && text.size() - complete <= 3);
  if (characters >= 0) CHECK(complete == text.size());
  // The bytes held back may still become a character, so sending the rest cuts no character.
  if (complete < text.size()) CHECK(ValidCharacters(text.substr(complete)) < 0);
}

// The parts of a stream, each sent as far as it is complete, give the whole text.
void CheckPieces(std::string_view text, size_t piece_bytes) {
  std::string held;
  std::string sent;
  for (size_t at = 0; at < text.size(); at += piece_bytes) {
    held += text.substr(at, piece_bytes);
    const size_t complete = CompleteUtf8Prefix(held);
    sent += ToValidUtf8(std::string_view(held).substr(0, complete));
    held.erase(0, complete);
  }
  sent += ToValidUtf8(held);
  CHECK(sent == ToValidUtf8(text));
}

void CheckCommon(std::string_view a, std::string_view b) {
  const size_t common = CommonCharacterBytes(a, b);
  CHECK(common <= a.size() && common <= b.size());
  CHECK(a.substr(0, common) == b.substr(0, common));
  if (ValidCharacters(a) >= 0) CHECK(ValidCharacters(a.substr(0, common)) >= 0);
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cairn::fuzz::FuzzInput input(data, size);
  const size_t piece_bytes = 1 + input.Below(7);
  const size_t cut = input.Below(64);
  const std::string_view text = input.RestText();
  cairn::CheckText(text);
  cairn::CheckPieces(text, piece_bytes);
  cairn::CheckCommon(text, text.substr(0, std::min(cut, text.size())));
  cairn::CheckCommon(text.substr(0, std::min(cut, text.size())), text);
  return 0;
}
