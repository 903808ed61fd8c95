// The arguments of an earlier call as a JSON object, whatever its client sent back. An answer that
// was cut inside a call comes back with the beginning of an object, and some clients write the
// arguments themselves.
//
//   {"path": "AAAA        ->  {"path": "AAAA"}
//   {"a": [1, tru         ->  {"a": [1, "tru"]}
//   ls -l, [1, 2]         ->  {"arguments": "ls -l"}, {"arguments": "[1, 2]"}

#ifndef CAIRN_CHAT_TEXT_CALL_ARGUMENTS_H_
#define CAIRN_CHAT_TEXT_CALL_ARGUMENTS_H_

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace cairn {

// Returns the object that `arguments` is. The beginning of an object is closed where it ends, so
// that its text is still a prefix where that is possible; any other text becomes the member
// "arguments". No arguments, or null, are an empty object. The result is within the limits of
// limited_json.h. Never fails; any thread.
Json ArgumentsObject(std::string_view arguments);

// Whether ArgumentsObject changes the text: it is neither an object, nor null, nor empty.
bool AreBrokenArguments(std::string_view arguments);

// Returns the beginning of a JSON object with all that is open closed: half an escape is dropped, a
// key without a value gets an empty text, and half a literal becomes a text. Nullopt if the text is
// not the beginning of an object, as far as brackets and strings tell.
std::optional<std::string> ClosedObject(std::string_view beginning);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEXT_CALL_ARGUMENTS_H_
