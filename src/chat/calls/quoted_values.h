// Values in the notation of families whose quote is a special tag, converted to JSON text:
//
//   {city:<|"|>Rome<|"|>,days:[1,2]}   ->   {"city": "Rome", "days": [1, 2]}

#ifndef CAIRN_CHAT_CALLS_QUOTED_VALUES_H_
#define CAIRN_CHAT_CALLS_QUOTED_VALUES_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "chat/text/calls_scan.h"

namespace cairn {

// The longest name of a member that is read.
inline constexpr size_t kQuotedKeyBytesMax = 256;

// Skips a value. A number or word at the text's end may continue. The nesting limit is that for
// JSON from a client.
Scan TakeQuotedValue(std::string_view text, std::string_view quote, size_t* at, std::string* json);

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_QUOTED_VALUES_H_
