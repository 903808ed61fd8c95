// Calls that are written as JSON: {"name": …, "arguments": {…}}, or a list of those. What most
// families have in common.

#ifndef CAIRN_CHAT_CALLS_CALLS_JSON_H_
#define CAIRN_CHAT_CALLS_CALLS_JSON_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/calls/calls_scan.h"
#include "chat/calls/calls_syntax.h"

namespace cairn {

// Steps over the object or list that begins at `at`. It looks at brackets and strings only: what
// it finds is whole, but need not be JSON.
Scan SkipJson(std::string_view text, size_t* at);

// Steps over white space and an object or list of calls, and adds them to `calls`.
Scan TakeJsonCalls(std::string_view text, size_t* at, std::vector<FoundCall>* calls);

// Whether it is the text of an object within the limits for what others wrote.
bool IsJsonObject(std::string_view text);

// A JSON string with that content. Bytes that are no characters become U+FFFD.
std::string JsonString(std::string_view content);

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_CALLS_JSON_H_
