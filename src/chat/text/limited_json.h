// JSON from a client that a template will walk. It is parsed only after a check that it is small
// enough for the parser and for a recursive template.

#ifndef CAIRN_CHAT_TEXT_LIMITED_JSON_H_
#define CAIRN_CHAT_TEXT_LIMITED_JSON_H_

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace cairn {

// `field` names the text in errors, as the client knows it ("tools"). Returns kInvalidArgument if
// it is not JSON or exceeds a limit. Any thread.
Result<Json> ParseLimitedJson(std::string_view text, std::string_view field,
                              const JsonLimits& limits = {});

// Returns the error that ParseLimitedJson would give for the text of `json`, for a value that came
// as a part of a larger one or was assembled. Any thread.
Status CheckJsonLimits(const Json& json, std::string_view field, const JsonLimits& limits = {});

}  // namespace cairn

#endif  // CAIRN_CHAT_TEXT_LIMITED_JSON_H_
