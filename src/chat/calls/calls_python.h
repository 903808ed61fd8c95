// Calls and values that are written as Python writes them: [weather(city="Rome", days=2)].

#ifndef CAIRN_CHAT_CALLS_CALLS_PYTHON_H_
#define CAIRN_CHAT_CALLS_CALLS_PYTHON_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/calls/calls_scan.h"
#include "chat/calls/calls_syntax.h"

namespace cairn {

// Steps over a list of calls, its brackets included, and adds them to `calls`. Arguments must be
// named, and literals: strings, numbers, True, False, None, lists, dicts; what JSON calls true,
// false and null is taken too.
Scan TakePythonCalls(std::string_view text, size_t* at, std::vector<FoundCall>* calls);

// The JSON text of a literal; nothing when it is none.
std::optional<std::string> JsonOfPython(std::string_view literal);

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_CALLS_PYTHON_H_
