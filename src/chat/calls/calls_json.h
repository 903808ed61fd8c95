// Calls written as JSON: {"name": …, "arguments": {…}}, or a list of those. Most families use this
// form.

#ifndef CAIRN_CHAT_CALLS_CALLS_JSON_H_
#define CAIRN_CHAT_CALLS_CALLS_JSON_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/calls/calls_syntax.h"
#include "chat/text/calls_scan.h"

namespace cairn {

// Skips the object or list that begins at `at`. Only brackets and strings are checked: the text
// found is complete, but may not be valid JSON.
Scan SkipJson(std::string_view text, size_t* at);

// Skips white space and an object or list of calls, and adds them to `calls`.
Scan TakeJsonCalls(std::string_view text, size_t* at, std::vector<FoundCall>* calls);

// Returns the call that an object is: with a name under "name", and arguments under "arguments" or
// "parameters", an object or the text of one. nullopt if it is none. REQUIRES: `json` is the text
// of an object, without white space around it.
std::optional<FoundCall> CallOfObject(std::string_view json);

// Whether the text is a JSON object within the limits for untrusted input.
bool IsJsonObject(std::string_view text);

// Returns a JSON string with that content. Bytes that are not valid UTF-8 become U+FFFD.
std::string JsonString(std::string_view content);

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_CALLS_JSON_H_
