// JSON from a client that a template will walk. It is parsed only after a check that it is small
// enough for the parser and for a recursive template.

#ifndef CAIRN_CHAT_PARSE_LIMITED_JSON_H_
#define CAIRN_CHAT_PARSE_LIMITED_JSON_H_

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace cairn {

// Templates recurse over a tool's schema, so depth costs stack; objects keep their order in a list,
// so the cost of keys grows quadratically.
struct JsonLimits {
  size_t depth_max = 64;
  size_t object_keys_max = 1024;
  size_t values_max = 200'000;
};

// `field` names the text in errors, as the client knows it ("tools"). Returns kInvalidArgument if
// it is not JSON or exceeds a limit. Any thread.
Result<nlohmann::ordered_json> ParseLimitedJson(std::string_view text, std::string_view field,
                                                const JsonLimits& limits = {});

}  // namespace cairn

#endif  // CAIRN_CHAT_PARSE_LIMITED_JSON_H_
