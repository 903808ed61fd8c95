#include "chat/parse/limited_json.h"

#include <string>
#include <utility>

namespace cairn {

Result<Json> ParseLimitedJson(std::string_view text, std::string_view field,
                              const JsonLimits& limits) {
  // The parser treats a zero byte as the end and ignores everything after it.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return Fail(ErrorCode::kInvalidArgument, std::string(field) + " is not valid JSON: byte " +
                                                 std::to_string(zero) +
                                                 " is zero, which JSON writes as \\u0000.");
  }
  Result<Json> json = ParseJson(text, limits);
  if (json) return json;
  return Fail(ErrorCode::kInvalidArgument, std::string(field) + " " + json.error().message + ".");
}

}  // namespace cairn
