#include "chat/text/json_mender.h"

#include <array>
#include <cctype>
#include <utility>

#include "base/json.h"
#include "chat/text/calls_scan.h"
#include "chat/text/limited_json.h"

namespace cairn {
namespace {

// A double's shortest text is far shorter; more digits add no information.
constexpr size_t kNumberBytesMax = 400;
constexpr size_t kBareKeyBytesMax = 256;
constexpr std::string_view kLostHalf = "\\ufffd";

struct JsonLiteral {
  std::string_view written;
  std::string_view json;
};
constexpr std::array<JsonLiteral, 6> kLiterals = {{{"true", "true"},
                                                   {"false", "false"},
                                                   {"null", "null"},
                                                   {"True", "true"},
                                                   {"False", "false"},
                                                   {"None", "null"}}};

bool IsJsonSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool IsJsonDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsWordByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) != 0 || c == '_' || c == '$';
}

// Whether the text can become a JSON number.
bool BeginsNumber(std::string_view text) {
  size_t at = text.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const size_t begin = at;
    while (at < text.size() && IsJsonDigit(text[at])) ++at;
    return at > begin;
  };
  const size_t first = at;
  if (!digits()) return at == text.size();
  if (text[first] == '0' && at > first + 1) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!digits()) return at == text.size();
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    digits();
  }
  return at == text.size();
}

}  // namespace

JsonMender::Status JsonMender::Push(char c, std::string* json) {
  member_ = Member::kNone;
  json_ = json;
  ++unwritten_bytes_;
  return Take(c);
}

JsonMender::Status JsonMender::Take(char c) {
  switch (state_) {
    case State::kString:
      return TakeInString(c);
    case State::kEscape:
      return TakeEscape(c);
    case State::kHex:
      return TakeHex(c);
    case State::kNumber:
      return TakeInNumber(c);
    case State::kLiteral:
      return TakeInLiteral(c);
    case State::kBareKey:
      return TakeInBareKey(c);
    case State::kQuote:
      return TakeInQuote(c);
    case State::kQuotedString:
      return TakeInQuotedString(c);
    default:
      return TakeBetween(c);
  }
}

// Takes a byte outside of strings, numbers and words.
JsonMender::Status JsonMender::TakeBetween(char c) {
  if (state_ == State::kStart) return c == '{' ? Open(c) : Status::kInvalid;
  if (IsJsonSpace(c)) return TakeSpace(c);
  switch (state_) {
    case State::kFirstKey:
    case State::kKey:
      return c == '}' ? Close(c) : BeginKey(c);
    case State::kColon:
      if (c != ':' && c != '=') return Status::kInvalid;
      mended_ = mended_ || c == '=';
      Write(quote_.empty() ? ":" : ": ");
      state_ = State::kValue;
      return Status::kMore;
    case State::kFirstItem:
    case State::kItem:
      return c == ']' ? Close(c) : BeginValue(c);
    case State::kValue:
      return BeginValue(c);
    default:
      return TakeBehindValue(c);
  }
}

JsonMender::Status JsonMender::TakeSpace(char c) {
  if (!comma_.empty()) {
    if (quote_.empty()) comma_ += c;
  } else if (quote_.empty()) {
    Write({&c, 1});
  } else {
    unwritten_bytes_ = 0;  // it is never written
  }
  return Status::kMore;
}

JsonMender::Status JsonMender::BeginKey(char c) {
  if (++open_.back().keys > JsonLimits().object_keys_max) return Status::kInvalid;
  is_key_ = true;
  if (c == '"' || c == '\'' || (!quote_.empty() && c == quote_[0])) return BeginString(c);
  if (!MayBeInBareKey(c) || (quote_.empty() && IsJsonDigit(c))) return Status::kInvalid;
  WriteComma(false);
  TellMember(Member::kKeyBegin);
  mended_ = mended_ || quote_.empty();
  Write("\"");
  WriteInString(c);
  key_bytes_ = 1;
  space_.clear();
  state_ = State::kBareKey;
  return Status::kMore;
}

JsonMender::Status JsonMender::BeginValue(char c) {
  if (++values_ > JsonLimits().values_max) return Status::kInvalid;
  is_key_ = false;
  if (c == '"' || c == '\'' || (!quote_.empty() && c == quote_[0])) return BeginString(c);
  if (c == '{' || c == '[') return Open(c);
  if (c == '-' || IsJsonDigit(c)) {
    WriteComma(false);
    TellMember(Member::kValueBegin);
    Write({&c, 1});
    token_ = c;
    state_ = State::kNumber;
    return Status::kMore;
  }
  for (const JsonLiteral& literal : kLiterals) {
    if (c != literal.written[0]) continue;
    WriteComma(false);
    unwritten_bytes_ = 1;
    TellMember(Member::kValueBegin);
    token_ = literal.written.substr(1);
    word_ = literal.json;
    mended_ = mended_ || literal.written != literal.json;
    state_ = State::kLiteral;
    return Status::kMore;
  }
  return Status::kInvalid;
}

JsonMender::Status JsonMender::BeginString(char c) {
  WriteComma(false);
  unwritten_bytes_ = 1;
  TellMember(is_key_ ? Member::kKeyBegin : Member::kValueBegin);
  if (!quote_.empty() && c == quote_[0]) {
    token_ = c;
    state_ = State::kQuote;
    return token_ == quote_ ? TakeInQuote('\0') : Status::kMore;
  }
  mended_ = mended_ || c == '\'' || !quote_.empty();
  delimiter_ = c;
  Write("\"");
  state_ = State::kString;
  return Status::kMore;
}

JsonMender::Status JsonMender::Open(char c) {
  if (open_.size() == JsonLimits().depth_max) return Status::kInvalid;
  WriteComma(false);
  if (!open_.empty()) TellMember(Member::kValueBegin);
  Write({&c, 1});
  open_.push_back({c});
  state_ = c == '{' ? State::kFirstKey : State::kFirstItem;
  return Status::kMore;
}

JsonMender::Status JsonMender::Close(char c) {
  if (open_.back().bracket != (c == '}' ? '{' : '[')) return Status::kInvalid;
  WriteComma(true);
  Write({&c, 1});
  open_.pop_back();
  if (open_.empty()) return Status::kEnd;
  TellMember(Member::kValueEnd);
  state_ = State::kBehindValue;
  return Status::kMore;
}

JsonMender::Status JsonMender::TakeBehindValue(char c) {
  if (c == '}' || c == ']') return Close(c);
  if (c != ',') return Status::kInvalid;
  comma_ = quote_.empty() ? "," : ", ";
  state_ = open_.back().bracket == '{' ? State::kKey : State::kItem;
  return Status::kMore;
}

JsonMender::Status JsonMender::TakeInString(char c) {
  if (c == '\\') {
    token_ = c;
    state_ = State::kEscape;
    return Status::kMore;
  }
  LoseHalf();
  if (c == delimiter_) {
    EndString();
    return Status::kMore;
  }
  mended_ = mended_ || static_cast<unsigned char>(c) < 0x20;
  WriteInString(c);
  return Status::kMore;
}

void JsonMender::EndString() {
  Write("\"");
  state_ = is_key_ ? State::kColon : State::kBehindValue;
  TellMember(is_key_ ? Member::kKeyEnd : Member::kValueEnd);
}

// A backslash that escapes nothing is part of the string, as in Python: models write "\d".
JsonMender::Status JsonMender::TakeEscape(char c) {
  if (c == 'u') {
    token_ += c;
    state_ = State::kHex;
    return Status::kMore;
  }
  LoseHalf();
  state_ = State::kString;
  if (std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) {
    Write(std::string{'\\', c});
    return Status::kMore;
  }
  // An escape of another language has more than one meaning.
  if (c == 'x' || c == 'U' || IsJsonDigit(c)) return Status::kInvalid;
  mended_ = true;
  if (c != '\'') Write("\\\\");
  WriteInString(c);
  return Status::kMore;
}

JsonMender::Status JsonMender::TakeHex(char c) {
  if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return Status::kInvalid;
  token_ += c;
  if (token_.size() < kLostHalf.size()) return Status::kMore;
  state_ = State::kString;
  const auto digit = [&](size_t at) {
    return std::tolower(static_cast<unsigned char>(token_[at]));
  };
  const bool surrogate = digit(2) == 'd' && digit(3) >= '8';
  const bool low = surrogate && digit(3) >= 'c';
  if (low && !half_.empty()) {
    Write(std::exchange(half_, {}) + token_);
    return Status::kMore;
  }
  LoseHalf();
  if (surrogate && !low) {
    half_ = token_;
    return Status::kMore;
  }
  mended_ = mended_ || low;
  Write(low ? kLostHalf : std::string_view(token_));
  return Status::kMore;
}

// Half of a surrogate pair is no character.
void JsonMender::LoseHalf() {
  if (half_.empty()) return;
  half_.clear();
  mended_ = true;
  const size_t unwritten = unwritten_bytes_;
  Write(kLostHalf);
  unwritten_bytes_ = unwritten > kLostHalf.size() ? unwritten - kLostHalf.size() : 0;
}

JsonMender::Status JsonMender::TakeInNumber(char c) {
  if (IsJsonDigit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-') {
    token_ += c;
    if (token_.size() > kNumberBytesMax || !BeginsNumber(token_)) return Status::kInvalid;
    Write({&c, 1});
    return Status::kMore;
  }
  if (Json::parse(token_, nullptr, false).is_discarded()) return Status::kInvalid;
  state_ = State::kBehindValue;
  return Take(c);
}

JsonMender::Status JsonMender::TakeInLiteral(char c) {
  if (token_[0] != c) return Status::kInvalid;
  token_.erase(0, 1);
  if (!token_.empty()) return Status::kMore;
  Write(word_);
  state_ = State::kBehindValue;
  return Status::kMore;
}

bool JsonMender::MayBeInBareKey(char c) const {
  if (IsWordByte(c) || c == '-' || c == '.') return true;
  if (quote_.empty()) return false;
  return static_cast<unsigned char>(c) >= 0x20 &&
         std::string_view(",:={}[]\"'<>").find(c) == std::string_view::npos;
}

JsonMender::Status JsonMender::TakeInBareKey(char c) {
  if (c == ':' || c == '=') {
    EndString();
    return Take(c);
  }
  if (IsJsonSpace(c)) {
    space_ += c;
    return space_.size() > kBareKeyBytesMax ? Status::kInvalid : Status::kMore;
  }
  key_bytes_ += space_.size() + 1;
  const bool fits = space_.empty() || (!quote_.empty() && space_.find('\n') == std::string::npos);
  if (!MayBeInBareKey(c) || !fits || key_bytes_ > kBareKeyBytesMax) return Status::kInvalid;
  for (const char space : std::exchange(space_, {})) WriteInString(space);
  WriteInString(c);
  return Status::kMore;
}

JsonMender::Status JsonMender::TakeInQuote(char c) {
  if (token_ != quote_) token_ += c;
  if (!quote_.starts_with(token_)) return Status::kInvalid;
  if (token_ != quote_) return Status::kMore;
  token_.clear();
  Write("\"");
  state_ = State::kQuotedString;
  return Status::kMore;
}

JsonMender::Status JsonMender::TakeInQuotedString(char c) {
  token_ += c;
  while (!quote_.starts_with(token_)) {
    WriteInString(token_[0]);
    token_.erase(0, 1);
  }
  unwritten_bytes_ = token_.size();
  if (token_ == quote_) EndString();
  return Status::kMore;
}

void JsonMender::Write(std::string_view text) {
  json_->append(text);
  unwritten_bytes_ = 0;
}

// Writes a byte of a string's text.
void JsonMender::WriteInString(char c) {
  constexpr std::string_view kNamed = "\"\\\b\f\n\r\t";
  constexpr std::string_view kNames = "\"\\bfnrt";
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  if (const size_t named = kNamed.find(c); named != std::string_view::npos) {
    Write(std::string{'\\', kNames[named]});
  } else if (byte < 0x20) {
    Write(std::string{'\\', 'u', '0', '0', kDigits[byte / 16U], kDigits[byte % 16U]});
  } else {
    Write({&c, 1});
  }
}

// Writes the comma before a value, or leaves it out before a bracket.
void JsonMender::WriteComma(bool trailing) {
  if (comma_.empty()) return;
  mended_ = mended_ || trailing;
  if (trailing) comma_ = quote_.empty() ? comma_.substr(1) : "";
  Write(std::exchange(comma_, {}));
}

void JsonMender::TellMember(Member member) {
  if (open_.size() != 1) return;
  member_ = member;
  const bool begins = member == Member::kKeyBegin || member == Member::kValueBegin;
  (begins ? token_begin_ : token_end_) = json_->size();
}

std::optional<std::string> MendJsonObject(std::string_view text, bool* mended) {
  JsonMender mender;
  std::string json;
  for (size_t at = SkipWhiteSpace(text, 0); at < text.size(); ++at) {
    const JsonMender::Status status = mender.Push(text[at], &json);
    if (status == JsonMender::Status::kMore) continue;
    const bool whole = status == JsonMender::Status::kEnd &&
                       SkipWhiteSpace(text, at + 1) == text.size() &&
                       ParseLimitedJson(json, "an object").has_value();
    if (!whole) return std::nullopt;
    *mended = *mended || mender.mended();
    return json;
  }
  return std::nullopt;
}

}  // namespace cairn
