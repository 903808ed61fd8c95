#include "chat/parse/limited_json.h"

#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

// Walks the text without building anything and stops at the first limit.
class LimitCheck final : public nlohmann::json_sax<Json> {
 public:
  explicit LimitCheck(const JsonLimits& limits) : limits_(limits) {}

  const std::string& complaint() const { return complaint_; }

  bool null() override { return Value(); }
  bool boolean(bool) override { return Value(); }
  bool number_integer(number_integer_t) override { return Value(); }
  bool number_unsigned(number_unsigned_t) override { return Value(); }
  bool number_float(number_float_t, const string_t&) override { return Value(); }
  bool string(string_t&) override { return Value(); }
  bool binary(binary_t&) override { return Value(); }
  bool start_object(std::size_t) override { return Open(); }
  bool start_array(std::size_t) override { return Open(); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t&) override {
    if (++keys_.back() <= limits_.object_keys_max) return true;
    return Refuse("has an object with more than " + std::to_string(limits_.object_keys_max) +
                  " keys");
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Refuse("is not valid JSON: it goes wrong at byte " + std::to_string(position));
  }

 private:
  bool Refuse(std::string complaint) {
    complaint_ = std::move(complaint);
    return false;
  }
  bool Value() {
    if (++values_ <= limits_.values_max) return true;
    return Refuse("has more than " + std::to_string(limits_.values_max) + " values");
  }
  bool Open() {
    keys_.push_back(0);
    if (keys_.size() <= limits_.depth_max) return Value();
    return Refuse("is nested more than " + std::to_string(limits_.depth_max) + " deep");
  }
  bool Close() {
    keys_.pop_back();
    return true;
  }

  const JsonLimits limits_;
  std::vector<size_t> keys_;  // by open object; arrays stay at 0
  size_t values_ = 0;
  std::string complaint_;
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
  try {
    LimitCheck check(limits);
    if (!Json::sax_parse(text.begin(), text.end(), &check)) {
      return Fail(ErrorCode::kInvalidArgument, std::string(field) + " " + check.complaint() + ".");
    }
    return Json::parse(text.begin(), text.end());
  } catch (const std::bad_alloc&) {
    throw;  // not caused by the text
  } catch (const std::exception& error) {
    return Fail(ErrorCode::kInvalidArgument,
                std::string(field) + " is not valid JSON: " + error.what());
  }
}

}  // namespace cairn
