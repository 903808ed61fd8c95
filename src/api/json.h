// JSON as the API reads and writes it: fields with a type and a name, so that a mistake is told
// with the field's name and what it takes.

#ifndef CAIRN_API_JSON_H_
#define CAIRN_API_JSON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "base/json.h"

namespace cairn {

// The body of a request; it must be an object.
ApiResult<Json> ParseBody(std::string_view body);

// As text; bytes that are no UTF-8 become U+FFFD instead of an exception.
std::string ToText(const Json& json);

// Appends it to `chunk` as an event of a stream that has no named ones: "data: {…}", a blank line.
void AppendDataEvent(const Json& json, std::string* chunk);

// Reads the fields of one object, one call each, and remembers the first mistake. A field that is
// absent or null leaves its target as it was.
//
//   FieldReader fields(body, "");
//   fields.Number("temperature", 0, 100, &params.temperature);
//   if (fields.error()) return tl::unexpected(*fields.error());
class FieldReader {
 public:
  // `path` stands before the names in errors: "messages[3]." Both outlive the reader.
  FieldReader(const Json& object, std::string path) : object_(object), path_(std::move(path)) {}

  // The value of `name`, or null when it is absent or null.
  const Json* Find(std::string_view name) const;
  void String(std::string_view name, std::string* target);
  void Bool(std::string_view name, bool* target);
  void Integer(std::string_view name, int64_t min, int64_t max, int64_t* target);
  void Number(std::string_view name, double min, double max, float* target);
  void Fail(std::string_view name, const std::string& expected);

  const std::optional<ApiError>& error() const { return error_; }

 private:
  const Json& object_;
  const std::string path_;
  std::optional<ApiError> error_;
};

}  // namespace cairn

#endif  // CAIRN_API_JSON_H_
