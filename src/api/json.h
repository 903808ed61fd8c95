// JSON of requests and answers. FieldReader checks types, so that errors name the field and the
// expected value.

#ifndef CAIRN_API_JSON_H_
#define CAIRN_API_JSON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "base/json.h"

namespace cairn {

// Parses the body of a request, which must be an object.
ApiResult<Json> ParseBody(std::string_view body);

// Appends the JSON to `chunk` as an unnamed server-sent event: "data: {…}" and a blank line.
void AppendDataEvent(const Json& json, std::string* chunk);

// A number that no client needs to exceed: the limit of parameters without one of their own.
inline constexpr double kNumberMax = 1e6;

// Returns the place of a list's item as errors name it: "messages[3]".
std::string ItemPlace(const std::string& list, size_t index);

// Returns the text of a field that must be there. The error names "PLACE.NAME".
ApiResult<std::string> NeededString(const Json& object, const std::string& place,
                                    std::string_view name);

// FieldReader: reads the fields of one object, one call per field, and keeps the first error. An
// absent or null field leaves its target unchanged.
//
//   FieldReader fields(body, "");
//   fields.Number("temperature", 0, 100, &params.temperature);
//   if (fields.error()) return tl::unexpected(*fields.error());
class FieldReader {
 public:
  // `path` precedes the names in errors, such as "messages[3].". Both outlive the reader.
  FieldReader(const Json& object, std::string path) : object_(object), path_(std::move(path)) {}

  // Returns the value of `name`. Null if the field is absent or null.
  const Json* Find(std::string_view name) const;
  void String(std::string_view name, std::string* target);
  void Bool(std::string_view name, bool* target);
  void Integer(std::string_view name, int64_t min, int64_t max, int64_t* target);
  void Number(std::string_view name, double min, double max, float* target);
  void Fail(std::string_view name, const std::string& expected);
  // Keeps an error that is not about a value's form.
  void Fail(ApiError error);

  const std::optional<ApiError>& error() const { return error_; }

 private:
  const Json& object_;
  const std::string path_;
  std::optional<ApiError> error_;
};

}  // namespace cairn

#endif  // CAIRN_API_JSON_H_
