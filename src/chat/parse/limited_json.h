// JSON that a client wrote and a template will walk: parsed only as far as it is small enough that
// neither the parser nor a recursive template can be made to run away with it.

#ifndef CAIRN_CHAT_PARSE_LIMITED_JSON_H_
#define CAIRN_CHAT_PARSE_LIMITED_JSON_H_

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace cairn {

// `field` names the text in errors, as the client knows it ("tools"). Any thread.
// kInvalidArgument: not JSON, or beyond a limit.
Result<Json> ParseLimitedJson(std::string_view text, std::string_view field,
                              const JsonLimits& limits = {});

}  // namespace cairn

#endif  // CAIRN_CHAT_PARSE_LIMITED_JSON_H_
