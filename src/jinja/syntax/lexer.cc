#include "jinja/syntax/lexer.h"

#include <algorithm>
#include <utility>

#include "jinja/value/number.h"
#include "jinja/value/text.h"
#include "jinja/value/unicode.h"

namespace cairn::jinja {
namespace {

constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                           "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                           ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

bool IsDigitByte(char c) {
  return c >= '0' && c <= '9';
}

bool IsHexByte(char c) {
  return IsDigitByte(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

uint32_t HexValue(char c) {
  return static_cast<uint32_t>(IsDigitByte(c) ? c - '0' : (c | 0x20) - 'a' + 10);
}

// Reads the inside of a string literal.
class Unescaper {
 public:
  Unescaper(std::string_view text, uint32_t at) : text_(text), at_(at) {}

  std::string Run() {
    while (i_ < text_.size()) {
      const char c = text_[i_++];
      if (c == '\\' && i_ < text_.size()) {
        Escape(text_[i_++]);
      } else {
        out_ += c;
      }
    }
    return std::move(out_);
  }

 private:
  void Escape(char c) {
    constexpr std::string_view kSigns = "\\'\"abfnrtv";
    constexpr std::string_view kMeant = "\\'\"\a\b\f\n\r\t\v";
    const size_t sign = kSigns.find(c);
    if (sign != std::string_view::npos) {
      out_ += kMeant[sign];
    } else if (c == '\n') {
      // A line that goes on.
    } else if (c >= '0' && c <= '7') {
      Octal(c);
    } else if (c == 'x') {
      Hex(2);
    } else if (c == 'u') {
      Hex(4);
    } else if (c == 'U') {
      Hex(8);
    } else if (c == 'N') {
      throw SyntaxError{"names of characters are not supported", at_};
    } else {
      out_ += '\\';
      out_ += c;
    }
  }

  void Octal(char first) {
    uint32_t code = static_cast<uint32_t>(first - '0');
    for (int i = 0; i < 2 && i_ < text_.size() && text_[i_] >= '0' && text_[i_] <= '7'; ++i) {
      code = code * 8 + static_cast<uint32_t>(text_[i_++] - '0');
    }
    AppendCharacter(code, &out_);
  }

  void Hex(size_t digits) {
    uint32_t code = 0;
    for (size_t i = 0; i < digits; ++i) {
      if (i_ >= text_.size() || !IsHexByte(text_[i_])) {
        throw SyntaxError{"truncated escape in a string", at_};
      }
      code = code * 16 + HexValue(text_[i_++]);
    }
    if (code > 0x10FFFF) throw SyntaxError{"illegal Unicode character in a string", at_};
    AppendCharacter(code, &out_);
  }

  const std::string_view text_;
  const uint32_t at_;
  size_t i_ = 0;
  std::string out_;
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> Run() {
    while (at_ < source_.size()) Root();
    Add(Token::Type::kEnd, source_.size());
    return std::move(tokens_);
  }

 private:
  using Type = Token::Type;

  [[noreturn]] static void Throw(std::string message, size_t at) {
    throw SyntaxError{std::move(message), static_cast<uint32_t>(at)};
  }

  bool StartsWith(std::string_view text, size_t at) const {
    return source_.substr(std::min(at, source_.size()), text.size()) == text;
  }
  char ByteAt(size_t at) const { return at < source_.size() ? source_[at] : '\0'; }
  size_t SkipSpace(size_t at) const {
    while (at < source_.size()) {
      const Character character = CharacterAt(source_, at);
      if (!IsSpace(character.code)) break;
      at += character.bytes;
    }
    return at;
  }

  Token& Add(Type type, size_t at) {
    tokens_.push_back({.type = type, .at = static_cast<uint32_t>(at)});
    return tokens_.back();
  }

  void AddData(size_t begin, size_t end) {
    if (begin < end) Add(Type::kData, begin).text = source_.substr(begin, end - begin);
  }

  // --- Text between tags
  // --------------------------------------------------------------------------

  size_t FindTag(size_t from) const {
    for (size_t at = source_.find('{', from); at != std::string_view::npos;
         at = source_.find('{', at + 1)) {
      const char next = ByteAt(at + 1);
      if (next == '{' || next == '%' || next == '#') return at;
    }
    return source_.size();
  }

  // Where a text in front of a tag with this sign ends.
  size_t TextEnd(size_t begin, size_t tag, char sign, bool is_variable) const {
    const std::string_view text = source_.substr(begin, tag - begin);
    if (sign == '-') {
      // Only the end: the text may begin with white space that stays.
      const std::string padded = "x" + std::string(text);
      return begin + StrippedSpace(padded).size() - 1;
    }
    if (sign == '+' || is_variable) return tag;
    const size_t line = text.rfind('\n') + 1;
    const bool starts_line = begin == 0 || source_[begin - 1] == '\n';
    if (line == 0 && !starts_line) return tag;
    return StrippedSpace(text.substr(line)).empty() ? begin + line : tag;
  }

  void Root() {
    const size_t begin = at_;
    const size_t tag = FindTag(begin);
    if (tag == source_.size()) {
      AddData(begin, tag);
      at_ = tag;
      return;
    }
    const char kind = source_[tag + 1];
    char sign = ByteAt(tag + 2);
    if (sign != '-' && sign != '+') sign = 0;
    AddData(begin, TextEnd(begin, tag, sign, kind == '{'));
    at_ = tag + 2 + (sign != 0 ? 1 : 0);
    if (kind == '#') {
      Comment(tag);
    } else if (kind == '{') {
      Tag(tag, Type::kVariableBegin);
    } else if (const size_t raw = RawBegin(at_); raw != 0) {
      at_ = raw;
      Raw(tag);
    } else {
      Tag(tag, Type::kBlockBegin);
    }
  }

  void Comment(size_t tag) {
    const size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) Throw("Missing end of comment tag", tag);
    const char sign = end > at_ ? source_[end - 1] : '\0';
    at_ = AfterBlock(end + 2, sign);
  }

  // Behind the end of a block or comment with a sign in front of its end.
  size_t AfterBlock(size_t at, char sign) const {
    if (sign == '-') return SkipSpace(at);
    if (sign != '+' && ByteAt(at) == '\n') return at + 1;
    return at;
  }

  // Behind a {% raw %} whose inside begins at `at`; 0 if it is none.
  size_t RawBegin(size_t at) const {
    at = SkipSpace(at);
    if (!StartsWith("raw", at)) return 0;
    at = SkipSpace(at + 3);
    if (StartsWith("-%}", at)) return SkipSpace(at + 3);
    return StartsWith("%}", at) ? at + 2 : 0;
  }

  void Raw(size_t tag) {
    const size_t begin = at_;
    for (size_t at = source_.find("{%", begin); at != std::string_view::npos;
         at = source_.find("{%", at + 1)) {
      char sign = ByteAt(at + 2);
      if (sign != '-' && sign != '+') sign = 0;
      size_t end = SkipSpace(at + 2 + (sign != 0 ? 1 : 0));
      if (!StartsWith("endraw", end)) continue;
      end = SkipSpace(end + 6);
      const char end_sign = ByteAt(end);
      if (end_sign == '-' || end_sign == '+') ++end;
      if (!StartsWith("%}", end)) continue;
      AddData(begin, TextEnd(begin, at, sign, false));
      at_ = AfterBlock(end + 2, end_sign);
      return;
    }
    Throw("Missing end of raw directive", tag);
  }

  // --- Inside of tags
  // -----------------------------------------------------------------------------

  void Tag(size_t tag, Type type) {
    Add(type, tag);
    brackets_.clear();
    while (true) {
      if (brackets_.empty() && TagEnd(type)) return;
      if (at_ >= source_.size()) {
        // The parser says what was expected.
        return;
      }
      Inside();
    }
  }

  bool TagEnd(Type type) {
    const bool block = type == Type::kBlockBegin;
    const std::string_view end = block ? "%}" : "}}";
    const char first = ByteAt(at_);
    const bool marked = first == '-' || (block && first == '+');
    if (!StartsWith(end, at_ + (marked ? 1 : 0))) return false;
    Add(block ? Type::kBlockEnd : Type::kVariableEnd, at_);
    at_ += 2 + (marked ? 1 : 0);
    if (block) {
      at_ = AfterBlock(at_, marked ? first : '\0');
    } else if (marked) {
      at_ = SkipSpace(at_);
    }
    return true;
  }

  void Inside() {
    const size_t behind_space = SkipSpace(at_);
    if (behind_space != at_) {
      at_ = behind_space;
      return;
    }
    const char c = source_[at_];
    if (IsDigitByte(c)) return Number();
    if (c == '"' || c == '\'') return String(c);
    const Character character = CharacterAt(source_, at_);
    if (ContinuesName(character.code)) return Name();
    for (const std::string_view name : kOperators) {
      if (!StartsWith(name, at_)) continue;
      Balance(name);
      Add(Type::kOperator, at_).text = name;
      at_ += name.size();
      return;
    }
    Throw("unexpected char '" + std::string(source_.substr(at_, character.bytes)) + "'", at_);
  }

  void Balance(std::string_view name) {
    constexpr std::string_view kOpening = "{([";
    constexpr std::string_view kClosing = "})]";
    if (name.size() != 1) return;
    if (const size_t opening = kOpening.find(name[0]); opening != std::string_view::npos) {
      brackets_.push_back(kClosing[opening]);
    } else if (kClosing.find(name[0]) != std::string_view::npos) {
      const std::string unexpected = "unexpected '" + std::string(name) + "'";
      if (brackets_.empty()) Throw(unexpected, at_);
      if (brackets_.back() != name[0]) {
        Throw(unexpected + ", expected '" + brackets_.back() + "'", at_);
      }
      brackets_.pop_back();
    }
  }

  void Name() {
    const size_t begin = at_;
    while (at_ < source_.size()) {
      const Character character = CharacterAt(source_, at_);
      if (!ContinuesName(character.code)) break;
      at_ += character.bytes;
    }
    if (!BeginsName(CharacterAt(source_, begin).code)) {
      Throw("Invalid character in identifier", begin);
    }
    Add(Type::kName, begin).text = source_.substr(begin, at_ - begin);
  }

  void String(char quote) {
    const size_t begin = at_;
    size_t end = begin + 1;
    bool escapes = false;
    while (end < source_.size() && source_[end] != quote) {
      escapes = escapes || source_[end] == '\\';
      end += source_[end] == '\\' ? 2 : 1;
    }
    if (end >= source_.size()) Throw(std::string("unexpected char '") + quote + "'", begin);
    const std::string_view inside = source_.substr(begin + 1, end - begin - 1);
    Token& token = Add(Type::kString, begin);
    token.text = escapes ? Unescaper(inside, static_cast<uint32_t>(begin)).Run() : inside;
    token.changed = escapes;
    at_ = end + 1;
  }

  // Digits of a base with single underscores between them.
  size_t Digits(size_t at, bool (*is_digit)(char)) const {
    while (is_digit(ByteAt(at)) || (ByteAt(at) == '_' && is_digit(ByteAt(at + 1)))) ++at;
    return at;
  }

  static bool IsBinary(char c) { return c == '0' || c == '1'; }
  static bool IsOctal(char c) { return c >= '0' && c <= '7'; }
  static bool IsZero(char c) { return c == '0'; }

  void Number() {
    const size_t begin = at_;
    if (const size_t end = FloatEnd(begin); end != 0 && ByteAt(begin - 1) != '.') {
      std::string digits(source_.substr(begin, end - begin));
      std::erase(digits, '_');
      Add(Type::kFloat, begin).floating = ParseFloat(digits).value_or(0);
      at_ = end;
      return;
    }
    size_t end = begin;
    const char mark = static_cast<char>(ByteAt(begin + 1) | 0x20);
    bool (*const based)(char) = mark == 'x'   ? IsHexByte
                                : mark == 'o' ? IsOctal
                                : mark == 'b' ? IsBinary
                                              : nullptr;
    if (source_[begin] == '0' && based != nullptr) {
      end = Digits(begin + 2, based);
      if (end == begin + 2) end = begin;
    }
    if (end == begin) end = Digits(begin, source_[begin] == '0' ? IsZero : IsDigitByte);
    std::optional<Int> value;
    try {
      value = ParseInt(source_.substr(begin, end - begin), 0);
    } catch (const Failure& failure) {
      Throw(failure.message(), begin);
    }
    Add(Type::kInteger, begin).integer = value.value_or(0);
    at_ = end;
  }

  // 0 if there is no float.
  size_t FloatEnd(size_t at) const {
    size_t end = Digits(at, IsDigitByte);
    bool is_float = false;
    if (ByteAt(end) == '.' && IsDigitByte(ByteAt(end + 1))) {
      end = Digits(end + 1, IsDigitByte);
      is_float = true;
    }
    if ((ByteAt(end) | 0x20) == 'e') {
      const size_t sign = ByteAt(end + 1) == '+' || ByteAt(end + 1) == '-' ? 1 : 0;
      if (IsDigitByte(ByteAt(end + 1 + sign))) {
        end = Digits(end + 1 + sign, IsDigitByte);
        is_float = true;
      }
    }
    return is_float ? end : 0;
  }

  const std::string_view source_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
  std::string brackets_;  // that must close, innermost last
};

}  // namespace

std::string NormalizedSource(std::string_view source) {
  std::string normalized;
  normalized.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      normalized += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      normalized += source[i];
    }
  }
  if (normalized.ends_with('\n')) normalized.pop_back();
  return normalized;
}

std::vector<Token> Tokenize(std::string_view source) {
  return Lexer(source).Run();
}

}  // namespace cairn::jinja
