// JSON that a client wrote and a template will walk: parsed only after it has been shown to be
// small enough that neither the parser nor a recursive template can be made to run away with it.

#ifndef CAIRN_CHAT_PARSE_LIMITED_JSON_H_
#define CAIRN_CHAT_PARSE_LIMITED_JSON_H_

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace cairn {

// Templates recurse over a tool's schema, so depth costs stack; objects keep their order in a
// list, so keys cost time by their square.
struct JsonLimits {
  size_t depth_max = 64;
  size_t object_keys_max = 1024;
  size_t values_max = 200'000;
};

// `field` names the text in errors, as the client knows it ("tools"). Any thread.
// kInvalidArgument: not JSON, or beyond a limit.
Result<nlohmann::ordered_json> ParseLimitedJson(std::string_view text, std::string_view field,
                                                const JsonLimits& limits = {});

}  // namespace cairn

#endif  // CAIRN_CHAT_PARSE_LIMITED_JSON_H_
