#include "chat/parse/json_scanner.h"

#include <string_view>

#include "base/json.h"
#include "chat/parse/limited_json.h"

namespace cairn {
namespace {

// A double's shortest text is far shorter; more digits add no information.
constexpr size_t kNumberBytesMax = 400;

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// Whether the text can become a JSON number.
bool BeginsNumber(std::string_view text) {
  size_t at = text.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const size_t begin = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
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

JsonScanner::Status JsonScanner::Push(char c) {
  member_ = Member::kNone;
  return Take(c);
}

JsonScanner::Status JsonScanner::Take(char c) {
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
    default:
      break;
  }
  if (state_ == State::kStart) return c == '{' ? Open(c) : Status::kInvalid;
  if (IsSpace(c)) return Status::kMore;
  switch (state_) {
    case State::kFirstKey:
      if (c == '}') return Close(c);
      [[fallthrough]];
    case State::kKey:
      if (c != '"') return Status::kInvalid;
      TellMember(Member::kKeyBegin);
      is_key_ = true;
      state_ = State::kString;
      return Status::kMore;
    case State::kColon:
      state_ = State::kValue;
      return c == ':' ? Status::kMore : Status::kInvalid;
    case State::kFirstItem:
      if (c == ']') return Close(c);
      return BeginValue(c);
    case State::kValue:
      return BeginValue(c);
    default:
      return TakeBehindValue(c);
  }
}

JsonScanner::Status JsonScanner::Open(char c) {
  if (open_.size() == JsonLimits().depth_max) return Status::kInvalid;
  open_.push_back(c);
  state_ = c == '{' ? State::kFirstKey : State::kFirstItem;
  return Status::kMore;
}

JsonScanner::Status JsonScanner::Close(char c) {
  if (open_.back() != (c == '}' ? '{' : '[')) return Status::kInvalid;
  open_.pop_back();
  if (open_.empty()) return Status::kEnd;
  TellMember(Member::kValueEnd);
  state_ = State::kBehindValue;
  return Status::kMore;
}

JsonScanner::Status JsonScanner::BeginValue(char c) {
  if (++values_ > JsonLimits().values_max) return Status::kInvalid;
  TellMember(Member::kValueBegin);
  if (c == '{' || c == '[') return Open(c);
  if (c == '"') {
    is_key_ = false;
    state_ = State::kString;
    return Status::kMore;
  }
  if (c == '-' || IsDigit(c)) {
    token_ = c;
    state_ = State::kNumber;
    return Status::kMore;
  }
  for (const std::string_view literal : {"true", "false", "null"}) {
    if (c != literal[0]) continue;
    token_ = literal.substr(1);
    state_ = State::kLiteral;
    return Status::kMore;
  }
  return Status::kInvalid;
}

JsonScanner::Status JsonScanner::TakeInString(char c) {
  if (after_high_ && c != '\\') return Status::kInvalid;
  if (c == '\\') {
    state_ = State::kEscape;
  } else if (c == '"') {
    state_ = is_key_ ? State::kColon : State::kBehindValue;
    TellMember(is_key_ ? Member::kKeyEnd : Member::kValueEnd);
  } else if (static_cast<unsigned char>(c) < 0x20) {
    return Status::kInvalid;
  }
  return Status::kMore;
}

JsonScanner::Status JsonScanner::TakeEscape(char c) {
  if (c == 'u') {
    state_ = State::kHex;
    hex_ = 0;
    hex_digits_ = 0;
    return Status::kMore;
  }
  state_ = State::kString;
  const bool known = std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
  return known && !after_high_ ? Status::kMore : Status::kInvalid;
}

JsonScanner::Status JsonScanner::TakeHex(char c) {
  const size_t digit = std::string_view("0123456789abcdef").find(c >= 'A' && c <= 'F' ? c + 32 : c);
  if (digit == std::string_view::npos) return Status::kInvalid;
  hex_ = hex_ * 16 + static_cast<uint32_t>(digit);
  if (++hex_digits_ < 4) return Status::kMore;
  state_ = State::kString;
  const bool high = hex_ >= 0xD800 && hex_ < 0xDC00;
  const bool low = hex_ >= 0xDC00 && hex_ < 0xE000;
  if (low != after_high_) return Status::kInvalid;
  after_high_ = high;
  return Status::kMore;
}

JsonScanner::Status JsonScanner::TakeInNumber(char c) {
  if (IsDigit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-') {
    token_ += c;
    const bool fits = token_.size() <= kNumberBytesMax && BeginsNumber(token_);
    return fits ? Status::kMore : Status::kInvalid;
  }
  if (Json::parse(token_, nullptr, false).is_discarded()) return Status::kInvalid;
  state_ = State::kBehindValue;
  return Take(c);
}

JsonScanner::Status JsonScanner::TakeInLiteral(char c) {
  if (token_.empty() || token_[0] != c) return Status::kInvalid;
  token_.erase(0, 1);
  if (token_.empty()) state_ = State::kBehindValue;
  return Status::kMore;
}

JsonScanner::Status JsonScanner::TakeBehindValue(char c) {
  if (c == '}' || c == ']') return Close(c);
  if (c != ',') return Status::kInvalid;
  state_ = open_.back() == '{' ? State::kKey : State::kValue;
  return Status::kMore;
}

}  // namespace cairn
