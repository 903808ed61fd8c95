// JSON values from texts and as texts: nlohmann's parser and its numbers' digits.

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unordered_set>

#include "base/json.h"

namespace cairn {
namespace {

// Returns the code unit that the escape at `at` (\uXXXX) stands for, and 0 if there is none.
uint32_t EscapedUnit(std::string_view text, size_t at) {
  if (text.substr(at, 2) != "\\u") return 0;
  const std::string_view digits = text.substr(at + 2, 4);
  uint32_t unit = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
  const bool whole = error == std::errc() && digits.size() == 4 && end == digits.data() + 4;
  return whole ? unit : 0;
}

// Returns the position of the first escape from `at` on that is half of a surrogate pair without
// the other half; npos if there is none.
size_t FindLoneHalf(std::string_view text, size_t at) {
  for (at = text.find('\\', at); at < text.size(); at = text.find('\\', at)) {
    const uint32_t unit = EscapedUnit(text, at);
    if (unit >= 0xDC00 && unit < 0xE000) return at;
    if (unit >= 0xD800 && unit < 0xDC00) {
      const uint32_t next = EscapedUnit(text, at + 6);
      if (next < 0xDC00 || next >= 0xE000) return at;
      at += 12;
    } else {
      at += 2;  // a backslash behind a backslash begins no escape
    }
  }
  return std::string_view::npos;
}

}  // namespace

// Builds a value from the parser's events, and stops at the first limit.
class JsonBuilder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  explicit JsonBuilder(const JsonLimits* limits) : limits_(limits) {}

  // Half of a surrogate pair is what is left of a character that a client cut in two. The parser
  // refuses it; here it becomes U+FFFD, which takes as many bytes, so that places stay right.
  bool Run(std::string_view text) {
    size_t lone = FindLoneHalf(text, 0);
    if (lone == std::string_view::npos) return Parse(text);
    std::string mended(text);
    for (; lone != std::string_view::npos; lone = FindLoneHalf(text, lone + 6)) {
      mended.replace(lone, 6, "\\ufffd");
    }
    return Parse(mended);
  }
  Json TakeResult() { return std::move(root_); }
  const std::string& complaint() const { return complaint_; }
  const std::string& parser_complaint() const { return parser_complaint_; }

  // --- Of the parser
  // ------------------------------------------------------------------------------

  bool null() { return Add(Json()); }
  bool boolean(bool value) { return Add(Json(value)); }
  bool number_integer(number_integer_t value) { return Add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) { return Add(Json(value)); }
  bool number_float(number_float_t value, const string_t&) { return Add(Json(value)); }
  bool string(string_t& value) { return Add(Json(std::move(value))); }
  bool binary(binary_t&) { return Add(Json()); }
  bool start_object(std::size_t) { return Open(Json::object()); }
  bool start_array(std::size_t) { return Open(Json::array()); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }

  bool key(string_t& name) {
    if (limits_ != nullptr && ++open_.back().keys > limits_->object_keys_max) {
      return Refuse("has an object with more than " + std::to_string(limits_->object_keys_max) +
                    " keys");
    }
    Json& object = *open_.back().value;
    const auto known = MayHold(name) ? object.find(name) : object.end();
    if (known != object.end()) {
      member_ = &*known;
    } else {
      object.value_.object->push_back({std::move(name), Json()});
      member_ = &object.value_.object->back().value;
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) {
    parser_complaint_ = error.what();
    return Refuse("is not valid JSON: it goes wrong at byte " + std::to_string(position));
  }

 private:
  struct Opened {
    Json* value;
    size_t keys = 0;
    // Hashes of the names, where there are many: a search among all would take time by their
    // square.
    std::unordered_set<size_t> names = {};
  };

  // Whether the open object has a member of this name, or one that looks alike. Notes the name.
  bool MayHold(const std::string& name) {
    constexpr size_t kFewKeys = 16;
    Opened& open = open_.back();
    const Json::Object& members = *open.value->value_.object;
    if (members.size() < kFewKeys) return true;
    if (open.names.empty()) {
      for (const JsonMember& member : members)
        open.names.insert(std::hash<std::string>()(member.key));
    }
    return !open.names.insert(std::hash<std::string>()(name)).second;
  }

  bool Parse(std::string_view text) {
    return nlohmann::json::sax_parse(text.begin(), text.end(), this);
  }

  bool Refuse(std::string complaint) {
    complaint_ = std::move(complaint);
    return false;
  }

  // Where it now stands; null: there are too many.
  Json* Place(Json value) {
    if (limits_ != nullptr && ++values_ > limits_->values_max) {
      Refuse("has more than " + std::to_string(limits_->values_max) + " values");
      return nullptr;
    }
    Json* place = member_;
    if (open_.empty()) {
      place = &root_;
    } else if (open_.back().value->is_array()) {
      auto& items = *open_.back().value->value_.array;
      items.push_back(std::move(value));
      return &items.back();
    }
    *place = std::move(value);
    return place;
  }

  bool Add(Json value) { return Place(std::move(value)) != nullptr; }

  bool Open(Json value) {
    if (limits_ != nullptr && open_.size() >= limits_->depth_max) {
      return Refuse("is nested more than " + std::to_string(limits_->depth_max) + " deep");
    }
    Json* const place = Place(std::move(value));
    if (place == nullptr) return false;
    open_.push_back({place});
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  const JsonLimits* const limits_;
  Json root_;
  std::vector<Opened> open_;
  Json* member_ = nullptr;  // that the next value belongs to
  size_t values_ = 0;
  std::string complaint_;
  std::string parser_complaint_;
};

namespace {

// The bytes of the character that begins at `at` and takes more than one; 0: none does.
size_t CharacterBytes(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const auto goes_on = [&](size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0xC2 || first > 0xF4) return 0;
  if (first < 0xE0) return goes_on(1) ? 2 : 0;
  // No longer than needed, no surrogate, nothing beyond U+10FFFF.
  unsigned least = 0x80;
  unsigned most = 0xBF;
  if (first == 0xE0) least = 0xA0;
  if (first == 0xED) most = 0x9F;
  if (first == 0xF0) least = 0x90;
  if (first == 0xF4) most = 0x8F;
  if (byte(1) < least || byte(1) > most || !goes_on(2)) return 0;
  if (first < 0xF0) return 3;
  return goes_on(3) ? 4 : 0;
}

void AppendEscaped(char c, std::string* out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr std::string_view kNamed = "\"\\\b\f\n\r\t";
  constexpr std::string_view kNames = "\"\\bfnrt";
  *out += '\\';
  if (const size_t named = kNamed.find(c); named != std::string_view::npos) {
    *out += kNames[named];
    return;
  }
  *out += "u00";
  *out += kDigits[static_cast<unsigned char>(c) / 16U];
  *out += kDigits[static_cast<unsigned char>(c) % 16U];
}

class JsonPrinter {
 public:
  JsonPrinter(int indent, char indent_char, bool ensure_ascii, Json::error_handler_t handler)
      : indent_(indent),
        indent_char_(indent_char),
        ensure_ascii_(ensure_ascii),
        handler_(handler) {}

  std::string Run(const Json& json) {
    Print(json, 1);
    return std::move(out_);
  }

 private:
  void Print(const Json& json, size_t level) {
    if (json.is_object()) {
      PrintObject(json, level);
    } else if (json.is_array()) {
      PrintArray(json, level);
    } else if (json.is_string()) {
      PrintText(json.text());
    } else if (json.is_number()) {
      PrintNumber(json);
    } else if (json.is_boolean()) {
      out_ += json.get<bool>() ? "true" : "false";
    } else {
      out_ += json.is_null() ? "null" : "<discarded>";
    }
  }

  void PrintObject(const Json& json, size_t level) {
    out_ += '{';
    for (auto member = json.begin(); member != json.end(); ++member) {
      if (member != json.begin()) out_ += ',';
      NewLine(level);
      PrintText(member.key());
      out_ += indent_ >= 0 ? ": " : ":";
      Print(*member, level + 1);
    }
    if (!json.empty()) NewLine(level - 1);
    out_ += '}';
  }

  void PrintArray(const Json& json, size_t level) {
    out_ += '[';
    for (auto item = json.begin(); item != json.end(); ++item) {
      if (item != json.begin()) out_ += ',';
      NewLine(level);
      Print(*item, level + 1);
    }
    if (!json.empty()) NewLine(level - 1);
    out_ += ']';
  }

  void NewLine(size_t level) {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(level * static_cast<size_t>(indent_), indent_char_);
  }

  void PrintNumber(const Json& json) {
    std::array<char, 64> digits{};
    char* const begin = digits.data();
    char* end = begin;
    if (json.is_number_unsigned()) {
      end = std::to_chars(begin, begin + digits.size(), json.get<uint64_t>()).ptr;
    } else if (json.is_number_integer()) {
      end = std::to_chars(begin, begin + digits.size(), json.get<int64_t>()).ptr;
    } else if (std::isfinite(json.get<double>())) {
      end = nlohmann::detail::to_chars(begin, begin + digits.size(), json.get<double>());
    } else {
      out_ += "null";
    }
    out_.append(begin, end);
  }

  void PrintText(const std::string& text) {
    const size_t before = out_.size();
    out_ += '"';
    size_t run = 0;  // where the bytes begin that are still to be copied
    for (size_t i = 0; i < text.size();) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\') {
        ++i;
      } else if (byte < 0x20 || byte == '"' || byte == '\\') {
        out_.append(text, run, i - run);
        AppendEscaped(text[i], &out_);
        run = ++i;
      } else {
        const size_t bytes = ensure_ascii_ ? 0 : byte == 0x7F ? 1 : CharacterBytes(text, i);
        if (bytes == 0) {
          out_.resize(before);
          return PrintOddText(text);
        }
        i += bytes;
      }
    }
    out_.append(text, run, text.size() - run);
    out_ += '"';
  }

  // A text with bytes that are no UTF-8, or whose characters are to be escapes.
  void PrintOddText(const std::string& text) {
    using Handler = nlohmann::json::error_handler_t;
    const bool strict = handler_ == Json::error_handler_t::strict;
    try {
      out_ += nlohmann::json(text).dump(-1, ' ', ensure_ascii_,
                                        strict ? Handler::strict : Handler::replace);
    } catch (const nlohmann::json::exception& error) {
      throw JsonError(error.what());
    }
  }

  const int indent_;
  const char indent_char_;
  const bool ensure_ascii_;
  const Json::error_handler_t handler_;
  std::string out_;
};

}  // namespace

Json Json::parse(std::string_view text, std::nullptr_t, bool allow_exceptions) {
  JsonBuilder builder(nullptr);
  if (builder.Run(text)) return builder.TakeResult();
  if (allow_exceptions) throw JsonError(builder.parser_complaint());
  Json discarded;
  discarded.kind_ = Kind::kDiscarded;
  return discarded;
}

std::string Json::dump(int indent, char indent_char, bool ensure_ascii,
                       error_handler_t handler) const {
  return JsonPrinter(indent, indent_char, ensure_ascii, handler).Run(*this);
}

Result<Json> ParseJson(std::string_view text, const JsonLimits& limits) {
  JsonBuilder builder(&limits);
  if (builder.Run(text)) return builder.TakeResult();
  return Fail(ErrorCode::kInvalidArgument, builder.complaint());
}

}  // namespace cairn
