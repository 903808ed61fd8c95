#include "jinja/value/unicode.h"

#include <algorithm>
#include <iterator>

#include "jinja/value/text.h"
#include "jinja/value/unicode_tables.h"

namespace cairn::jinja {
namespace {

constexpr uint32_t kAscii = 128;

template <size_t kSize>
bool IsInRanges(const uint32_t (&ranges)[kSize], uint32_t code) {
  const uint32_t* const after =
      std::upper_bound(std::begin(ranges), std::end(ranges), (code << 11U) | 2047U);
  if (after == std::begin(ranges)) return false;
  const uint32_t range = *(after - 1);
  return code - (range >> 11U) <= (range & 2047U);
}

template <size_t kSize>
uint32_t Mapped(const CaseRange (&ranges)[kSize], uint32_t code) {
  const CaseRange* const after = std::upper_bound(
      std::begin(ranges), std::end(ranges), code,
      [](uint32_t wanted, const CaseRange& range) { return wanted < range.first; });
  if (after == std::begin(ranges)) return code;
  const CaseRange& range = *(after - 1);
  if (code > range.last) return code;
  if ((code - range.first) % static_cast<uint32_t>(range.step) != 0) return code;
  return static_cast<uint32_t>(static_cast<int32_t>(code) + range.delta);
}

const SpecialCase* UpperSpecial(uint32_t code) {
  for (const SpecialCase& special : kToUpperSpecial) {
    if (special.code == code) return &special;
  }
  return nullptr;
}

bool IsBetween(uint32_t code, char first, char last) {
  return code >= static_cast<uint32_t>(first) && code <= static_cast<uint32_t>(last);
}

uint32_t LowerOf(uint32_t code) {
  if (code < kAscii) return IsBetween(code, 'A', 'Z') ? code + 32 : code;
  return Mapped(kToLower, code);
}

uint32_t UpperOf(uint32_t code) {
  if (code < kAscii) return IsBetween(code, 'a', 'z') ? code - 32 : code;
  return Mapped(kToUpper, code);
}

}  // namespace

bool IsSpace(uint32_t code) {
  if (code < kAscii) return (code >= 9 && code <= 13) || (code >= 28 && code <= 32);
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
         code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool IsAlpha(uint32_t code) {
  if (code < kAscii) return IsBetween(code, 'a', 'z') || IsBetween(code, 'A', 'Z');
  return IsInRanges(kAlphaRanges, code);
}

bool IsDecimal(uint32_t code) {
  if (code < kAscii) return IsBetween(code, '0', '9');
  return IsInRanges(kDecimalRanges, code);
}

bool IsDigit(uint32_t code) {
  if (code < kAscii) return IsBetween(code, '0', '9');
  return IsInRanges(kDigitRanges, code);
}

bool IsNumeric(uint32_t code) {
  if (code < kAscii) return IsBetween(code, '0', '9');
  return IsInRanges(kNumericRanges, code);
}

bool IsPrintable(uint32_t code) {
  if (code < kAscii) return code >= 32 && code < 127;
  return IsInRanges(kPrintableRanges, code);
}

bool IsTitle(uint32_t code) {
  if (code == 0x1C5 || code == 0x1C8 || code == 0x1CB || code == 0x1F2) return true;
  // Greek letters with an iota beneath.
  return (code >= 0x1F88 && code <= 0x1FAF && (code & 8U) != 0) || code == 0x1FBC ||
         code == 0x1FCC || code == 0x1FFC;
}

bool IsLower(uint32_t code) {
  if (IsTitle(code)) return false;
  return UpperOf(code) != code || UpperSpecial(code) != nullptr || code == 0xAA || code == 0xBA ||
         IsInRanges(kLowerAloneRanges, code);
}

bool IsUpper(uint32_t code) {
  if (IsTitle(code)) return false;
  return LowerOf(code) != code || code == 0x130 || IsInRanges(kUpperAloneRanges, code);
}

bool BeginsName(uint32_t code) {
  return code == '_' || IsAlpha(code);
}

bool ContinuesName(uint32_t code) {
  return BeginsName(code) || IsDecimal(code);
}

void AppendLower(uint32_t code, std::string* text) {
  if (code == 0x130) {
    AppendCharacter('i', text);
    AppendCharacter(0x307, text);
  } else {
    AppendCharacter(LowerOf(code), text);
  }
}

void AppendUpper(uint32_t code, std::string* text) {
  const SpecialCase* const special = code < kAscii ? nullptr : UpperSpecial(code);
  if (special == nullptr) return AppendCharacter(UpperOf(code), text);
  for (const uint32_t other : special->others) {
    if (other != 0) AppendCharacter(other, text);
  }
}

void AppendTitle(uint32_t code, std::string* text) {
  if ((code >= 0x1C4 && code <= 0x1CC) || (code >= 0x1F1 && code <= 0x1F3)) {
    const uint32_t first = code >= 0x1F1 ? 0x1F1 : 0x1C4;
    return AppendCharacter(first + (code - first) / 3 * 3 + 1, text);
  }
  const bool georgian = (code >= 0x10D0 && code <= 0x10FA) || (code >= 0x10FD && code <= 0x10FF);
  if (georgian) return AppendCharacter(code, text);
  const SpecialCase* const special = code < kAscii ? nullptr : UpperSpecial(code);
  if (special == nullptr) return AppendCharacter(UpperOf(code), text);
  AppendCharacter(special->others[0], text);
  for (const uint32_t other : {special->others[1], special->others[2]}) {
    if (other != 0) AppendLower(other, text);
  }
}

void AppendFolded(uint32_t code, std::string* text) {
  if (code == 0x131) return AppendCharacter(code, text);  // the i without a dot
  if (code == 0x1E9E) {                                   // the capital sharp s
    text->append("ss");
    return;
  }
  // Cherokee had capital letters alone at first, so these are what is compared.
  if ((code >= 0x13A0 && code <= 0x13FD) || (code >= 0xAB70 && code <= 0xABBF)) {
    return AppendCharacter(UpperOf(code), text);
  }
  const SpecialCase* const special = code < kAscii ? nullptr : UpperSpecial(code);
  if (special == nullptr) return AppendLower(UpperOf(code), text);
  for (const uint32_t other : special->others) {
    if (other != 0) AppendLower(other, text);
  }
}

std::string WithAsciiDigits(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    if (character.code < kAscii || !IsDecimal(character.code)) {
      out += text.substr(at, character.bytes);
    } else {
      // Digits stand in tens, from zero to nine, and tens may follow each other.
      uint32_t first = character.code;
      while (IsDecimal(first - 1)) --first;
      out += static_cast<char>('0' + (character.code - first) % 10);
    }
    at += character.bytes;
  }
  return out;
}

std::string_view StrippedSpace(std::string_view text) {
  size_t begin = 0;
  while (begin < text.size()) {
    const Character character = CharacterAt(text, begin);
    if (!IsSpace(character.code)) break;
    begin += character.bytes;
  }
  size_t end = text.size();
  while (end > begin) {
    const size_t at = CharacterBefore(text, end);
    if (!IsSpace(CharacterAt(text, at).code)) break;
    end = at;
  }
  return text.substr(begin, end - begin);
}

}  // namespace cairn::jinja
