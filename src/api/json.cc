#include "api/json.h"

#include <cmath>
#include <utility>

#include "chat/text/limited_json.h"

namespace cairn {
namespace {

std::string LimitText(double number) {
  const bool whole = std::floor(number) == number && std::abs(number) < 1e15;
  return whole ? std::to_string(static_cast<int64_t>(number)) : std::to_string(number);
}

}  // namespace

ApiResult<Json> ParseBody(std::string_view body) {
  JsonLimits limits;
  limits.values_max = 1'000'000;
  auto json = ParseLimitedJson(body, "the request body", limits);
  if (!json) return tl::unexpected(ToApiError(json.error()));
  if (!json->is_object()) {
    ApiError error;
    error.status = 400;
    error.type = ErrorType(400);
    error.message = "the request body must be a JSON object";
    return tl::unexpected(error);
  }
  return std::move(*json);
}

std::string ItemPlace(const std::string& list, size_t index) {
  return list + "[" + std::to_string(index) + "]";
}

ApiResult<std::string> NeededString(const Json& object, const std::string& place,
                                    std::string_view name) {
  if (object.is_object()) {
    const auto found = object.find(name);
    if (found != object.end() && found->is_string()) return found->text();
  }
  return tl::unexpected(FieldError(place + "." + std::string(name), "a string"));
}

void AppendDataEvent(const Json& json, std::string* chunk) {
  *chunk += "data: " + ToText(json) + "\n\n";
}

const Json* FieldReader::Find(std::string_view name) const {
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void FieldReader::String(std::string_view name, std::string* target) {
  const Json* value = Find(name);
  if (value == nullptr) return;
  if (!value->is_string()) return Fail(name, "a string");
  *target = value->get<std::string>();
}

void FieldReader::Bool(std::string_view name, bool* target) {
  const Json* value = Find(name);
  if (value == nullptr) return;
  if (!value->is_boolean()) return Fail(name, "true or false");
  *target = value->get<bool>();
}

void FieldReader::Integer(std::string_view name, int64_t min, int64_t max, int64_t* target) {
  const Json* value = Find(name);
  if (value == nullptr) return;
  const double number = value->is_number() ? value->get<double>() : NAN;
  // Some clients write whole numbers as 1.0.
  const bool fits = std::floor(number) == number && number >= static_cast<double>(min) &&
                    number <= static_cast<double>(max);
  if (!fits) {
    return Fail(name, "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  }
  *target = value->is_number_float() ? static_cast<int64_t>(number) : value->get<int64_t>();
}

void FieldReader::Number(std::string_view name, double min, double max, float* target) {
  const Json* value = Find(name);
  if (value == nullptr) return;
  const double number = value->is_number() ? value->get<double>() : NAN;
  if (!(number >= min && number <= max)) {
    return Fail(name, "a number from " + LimitText(min) + " to " + LimitText(max));
  }
  *target = static_cast<float>(number);
}

void FieldReader::Fail(std::string_view name, const std::string& expected) {
  Fail(FieldError(path_ + std::string(name), expected));
}

void FieldReader::Fail(ApiError error) {
  if (!error_) error_ = std::move(error);
}

}  // namespace cairn
