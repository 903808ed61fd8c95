#include "base/utf8.h"

#include <algorithm>

namespace cairn {
namespace {

// Returns the number of bytes of a character that starts with `lead`, or 0 if no character starts
// with it (RFC 3629, section 4).
size_t CharacterLength(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

// Whether `second` may follow `lead`: the ranges that exclude overlong forms, surrogates and
// code points past U+10FFFF.
bool SecondByteFits(unsigned char lead, unsigned char second) {
  switch (lead) {
    case 0xE0:
      return second >= 0xA0 && second <= 0xBF;
    case 0xED:
      return second >= 0x80 && second <= 0x9F;
    case 0xF0:
      return second >= 0x90 && second <= 0xBF;
    case 0xF4:
      return second >= 0x80 && second <= 0x8F;
    default:
      return second >= 0x80 && second <= 0xBF;
  }
}

struct Character {
  size_t bytes;  // number of bytes that belong together, at least 1
  enum { kValid, kInvalid, kUnfinished } kind;
};

Character ReadCharacter(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = CharacterLength(lead);
  if (length == 0) return {1, Character::kInvalid};
  for (size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {i, Character::kUnfinished};
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool fits = i == 1 ? SecondByteFits(lead, byte) : (byte >= 0x80 && byte <= 0xBF);
    if (!fits) return {i, Character::kInvalid};
  }
  return {length, Character::kValid};
}

}  // namespace

size_t CompleteUtf8Prefix(std::string_view text) {
  // A character has at most four bytes, so only the last three can begin an unfinished one.
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const std::string_view tail = text.substr(text.size() - back);
    if (CharacterLength(static_cast<unsigned char>(tail[0])) == 0) continue;
    const Character last = ReadCharacter(tail);
    return last.kind == Character::kUnfinished ? text.size() - back : text.size();
  }
  return text.size();
}

size_t CountCharacters(std::string_view text) {
  return text.size() -
         static_cast<size_t>(std::count_if(text.begin(), text.end(), IsContinuationByte));
}

size_t CommonCharacterBytes(std::string_view a, std::string_view b) {
  const auto diverged = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  auto size = static_cast<size_t>(diverged.first - a.begin());
  // A continuation byte right after the cut means that the cut is inside a character.
  while (size > 0 && size < a.size() && IsContinuationByte(a[size])) --size;
  return size;
}

void AppendUtf8(uint32_t character, std::string* text) {
  const auto add = [&](uint32_t byte) { *text += static_cast<char>(byte); };
  if (character < 0x80) return add(character);
  if (character < 0x800) {
    add(0xC0 | character >> 6);
  } else if (character < 0x10000) {
    add(0xE0 | character >> 12);
    add(0x80 | (character >> 6 & 0x3F));
  } else {
    add(0xF0 | character >> 18);
    add(0x80 | (character >> 12 & 0x3F));
    add(0x80 | (character >> 6 & 0x3F));
  }
  add(0x80 | (character & 0x3F));
}

std::string ToValidUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const Character next = ReadCharacter(text);
    if (next.kind == Character::kValid) {
      valid.append(text.substr(0, next.bytes));
    } else {
      valid.append("\xEF\xBF\xBD");
    }
    text.remove_prefix(next.bytes);
  }
  return valid;
}

}  // namespace cairn
