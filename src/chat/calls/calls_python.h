// Calls and values in Python syntax: [weather(city="Rome", days=2)].

#ifndef CAIRN_CHAT_CALLS_CALLS_PYTHON_H_
#define CAIRN_CHAT_CALLS_CALLS_PYTHON_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/calls/calls_syntax.h"
#include "chat/text/calls_scan.h"

namespace cairn {

// Skips a list of calls, including its brackets, and adds them to `calls`. Arguments must be named,
// and be literals: strings, numbers, True, False, None, lists or dicts; JSON's true, false and null
// are accepted too.
Scan TakePythonCalls(std::string_view text, size_t* at, std::vector<FoundCall>* calls);

// Returns the JSON text of a literal; nullopt if it is not one.
std::optional<std::string> JsonOfPython(std::string_view literal);

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_CALLS_PYTHON_H_
