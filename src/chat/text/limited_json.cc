#include "chat/text/limited_json.h"

#include <string>
#include <utility>

namespace cairn {
namespace {

// Counts the values of a Json until a limit is exceeded. The sentences are those of ParseJson.
class LimitCheck {
 public:
  explicit LimitCheck(const JsonLimits& limits) : limits_(limits) {}

  // Returns the limit that is exceeded, as a predicate; empty if there is none.
  std::string Exceeded(const Json& json, size_t depth = 0) {
    if (json.is_structured() && depth >= limits_.depth_max) {
      return "is nested more than " + std::to_string(limits_.depth_max) + " deep";
    }
    if (++values_ > limits_.values_max) {
      return "has more than " + std::to_string(limits_.values_max) + " values";
    }
    if (!json.is_structured()) return "";
    if (json.is_object() && json.size() > limits_.object_keys_max) {
      return "has an object with more than " + std::to_string(limits_.object_keys_max) + " keys";
    }
    for (const Json& value : json) {
      std::string exceeded = Exceeded(value, depth + 1);
      if (!exceeded.empty()) return exceeded;
    }
    return "";
  }

 private:
  const JsonLimits& limits_;
  size_t values_ = 0;
};

}  // namespace

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

Status CheckJsonLimits(const Json& json, std::string_view field, const JsonLimits& limits) {
  const std::string exceeded = LimitCheck(limits).Exceeded(json);
  if (exceeded.empty()) return {};
  return Fail(ErrorCode::kInvalidArgument, std::string(field) + " " + exceeded + ".");
}

}  // namespace cairn
