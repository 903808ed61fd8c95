// UTF-8 at token boundaries: a token may end in the middle of a character, while JSON text may not.

#ifndef CAIRN_BASE_UTF8_H_
#define CAIRN_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cairn {

// Returns the length of the longest prefix of `text` that does not end inside a character that more
// bytes could still complete. Bytes that can never become a character count as complete.
size_t CompleteUtf8Prefix(std::string_view text);

// Whether `byte` continues a character that an earlier byte began.
inline bool IsContinuationByte(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// Returns the number of characters that begin in `text`.
size_t CountCharacters(std::string_view text);

// Returns the length of the longest common prefix that does not end inside a character of `a`.
size_t CommonCharacterBytes(std::string_view a, std::string_view b);

// Appends a character as UTF-8. REQUIRES: it is at most U+10FFFF and no half of a surrogate pair.
void AppendUtf8(uint32_t character, std::string* text);

// Returns `text` with every byte that belongs to no valid character replaced by U+FFFD.
std::string ToValidUtf8(std::string_view text);

}  // namespace cairn

#endif  // CAIRN_BASE_UTF8_H_
