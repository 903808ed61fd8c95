// Properties and cases of characters as Python's str knows them (Unicode 14, as Python 3.11). Pure
// functions.

#ifndef CAIRN_JINJA_VALUE_UNICODE_H_
#define CAIRN_JINJA_VALUE_UNICODE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace cairn::jinja {

bool IsSpace(uint32_t code);
bool IsAlpha(uint32_t code);
bool IsDecimal(uint32_t code);
bool IsDigit(uint32_t code);
bool IsNumeric(uint32_t code);
bool IsLower(uint32_t code);
bool IsUpper(uint32_t code);
bool IsTitle(uint32_t code);
bool IsPrintable(uint32_t code);
// Letters, digits and marks that may stand in a name.
bool BeginsName(uint32_t code);
bool ContinuesName(uint32_t code);

// Append one character in the other case; some become two or three.
void AppendLower(uint32_t code, std::string* text);
void AppendUpper(uint32_t code, std::string* text);
void AppendTitle(uint32_t code, std::string* text);
void AppendFolded(uint32_t code, std::string* text);

// With the decimal digits of all scripts as those of ASCII.
std::string WithAsciiDigits(std::string_view text);

// The text without white space at both ends.
std::string_view StrippedSpace(std::string_view text);

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_VALUE_UNICODE_H_
