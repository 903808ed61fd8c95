#include "chat/template/template_expression.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/utf8.h"

namespace cairn {
namespace {

enum class TokenKind { kSpace, kName, kNumber, kText, kOperator };

struct Token {
  TokenKind kind;
  std::string text;
};

bool IsOneOf(std::string_view text, const std::vector<std::string_view>& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool IsKeyword(std::string_view name) {
  static const std::vector<std::string_view> keywords = {
      "and", "or", "not", "in", "is", "if", "elif", "else", "for", "set", "recursive"};
  return IsOneOf(name, keywords);
}

// Methods that the engine lacks, or some of whose arguments it lacks, or whose time it squares.
bool IsMissingMethod(std::string_view name) {
  static const std::vector<std::string_view> methods = {
      "split", "rsplit", "splitlines",   "join",         "format",
      "find",  "values", "removeprefix", "removesuffix", "replace"};
  return IsOneOf(name, methods);
}

bool IsSpace(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}
bool IsDigit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool IsNameByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// A text in quotes with \xHH and \uHHHH, which the engine does not know, replaced.
std::string WithoutCodes(std::string_view quoted) {
  std::string out;
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\' || i + 1 >= quoted.size()) {
      out += quoted[i];
      continue;
    }
    const size_t digits = quoted[i + 1] == 'x' ? 2 : quoted[i + 1] == 'u' ? 4 : 0;
    const std::string hex(quoted.substr(std::min(i + 2, quoted.size()), digits));
    const bool valid =
        digits > 0 && hex.size() == digits && std::all_of(hex.begin(), hex.end(), [](char c) {
          return std::isxdigit(static_cast<unsigned char>(c)) != 0;
        });
    if (!valid) {
      out += quoted.substr(i, 2);
      ++i;
      continue;
    }
    auto code = static_cast<uint32_t>(std::stoul(hex, nullptr, 16));
    if (code == '\\' || code == static_cast<unsigned char>(quoted.front())) out += '\\';
    // Half of a surrogate pair is no character.
    if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;
    AppendUtf8(code, &out);
    i += 1 + digits;
  }
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view code) : code_(code) {}

  std::vector<Token> Run() {
    while (at_ < code_.size()) tokens_.push_back(Next());
    return std::move(tokens_);
  }

 private:
  Token Next() {
    const char c = code_[at_];
    if (IsSpace(c)) return Take(TokenKind::kSpace, IsSpace);
    if (IsDigit(c)) return Take(TokenKind::kNumber, IsDigit);
    if (IsNameByte(c)) return Take(TokenKind::kName, IsNameByte);
    if (c == '"' || c == '\'') return Quoted(c);
    static const std::vector<std::string_view> pairs = {"==", "!=", "<=", ">=", "//", "**"};
    const size_t size = IsOneOf(code_.substr(at_, 2), pairs) ? 2 : 1;
    at_ += size;
    return {TokenKind::kOperator, std::string(code_.substr(at_ - size, size))};
  }

  Token Take(TokenKind kind, bool (*belongs)(char)) {
    const size_t begin = at_;
    while (at_ < code_.size() && belongs(code_[at_])) ++at_;
    return {kind, std::string(code_.substr(begin, at_ - begin))};
  }

  Token Quoted(char quote) {
    const size_t begin = at_++;
    while (at_ < code_.size() && code_[at_] != quote) at_ += code_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, code_.size());
    return {TokenKind::kText, std::string(code_.substr(begin, at_ - begin))};
  }

  const std::string_view code_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

// Writes the tokens of one tag anew, operand by operand: a name, text, number or bracket with all
// attributes, subscripts and calls behind it.
class Rewriter {
 public:
  explicit Rewriter(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::string Run() {
    std::string out = Sequence();
    while (at_ < tokens_.size()) {  // a bracket that closes nothing
      out += tokens_[at_++].text;
      out += Sequence();
    }
    return out;
  }

 private:
  bool Is(size_t at, std::string_view text) const {
    return at < tokens_.size() && tokens_[at].kind == TokenKind::kOperator &&
           tokens_[at].text == text;
  }
  bool Closes(size_t at) const { return Is(at, ")") || Is(at, "]") || Is(at, "}"); }
  bool Opens(size_t at) const { return Is(at, "(") || Is(at, "[") || Is(at, "{"); }

  size_t Behind(size_t at) const {  // the next token that is no space
    while (at < tokens_.size() && tokens_[at].kind == TokenKind::kSpace) ++at;
    return at;
  }

  // The token behind the operand; the end of the tag counts as a bracket's.
  std::string_view After() const {
    const size_t next = Behind(at_);
    if (next >= tokens_.size()) return ")";
    return tokens_[next].text;
  }

  // Everything up to the bracket that closes the one around it.
  std::string Sequence() {
    std::string out;
    std::string before = "(";  // the last token that was no space and no operand
    condition_ = false;
    while (at_ < tokens_.size() && !Closes(at_)) {
      const Token& token = tokens_[at_];
      if (token.kind == TokenKind::kSpace) {
        out += token.text;
        ++at_;
      } else if (token.kind == TokenKind::kName && token.text == "is") {
        out += Test();
        before = ")";
      } else if ((token.kind == TokenKind::kName && IsKeyword(token.text)) ||
                 (token.kind == TokenKind::kOperator && !Opens(at_))) {
        out += token.text;
        before = token.text;
        if (before == "if" || before == "elif") condition_ = true;
        if (before == "else" || before == ",") condition_ = false;
        ++at_;
      } else {
        const std::string operand = Operand(before == "|");
        const std::string_view wrapper = IsCondition(before) ? kTruthFunction
                                         : IsJoined(before)  ? kTextFunction
                                                             : std::string_view();
        const bool touches = !out.empty() && IsNameByte(out.back());  // not(x)
        if (wrapper.empty()) {
          out += operand;
        } else {
          out += (touches ? " " : "") + std::string(wrapper) + "(" + operand + ")";
        }
        before = ")";
      }
    }
    return out;
  }

  // "is", perhaps "not", and the name behind it. The engine knows no undefined.
  std::string Test() {
    const size_t begin = at_;
    at_ = Behind(at_ + 1);
    const bool negated = at_ < tokens_.size() && tokens_[at_].text == "not";
    if (negated) at_ = Behind(at_ + 1);
    if (at_ < tokens_.size() && tokens_[at_].text == "undefined") {
      ++at_;
      return negated ? "is defined" : "is not defined";
    }
    if (at_ < tokens_.size() && tokens_[at_].kind == TokenKind::kName) ++at_;
    std::string out;
    for (size_t i = begin; i < at_; ++i) out += tokens_[i].text;
    return out;
  }

  // Whether the operand between `before` and at_ counts as true or false, and nothing else.
  bool IsCondition(std::string_view before) const {
    const std::string_view after = After();
    static const std::vector<std::string_view> heads = {"if", "elif", "not", "and", "or"};
    static const std::vector<std::string_view> begins = {"(", ",", "=", ":", "[", "{", "else"};
    static const std::vector<std::string_view> ends = {"and", "or", "else", "if",
                                                       ")",   ",",  "]",    "}"};
    // The last of several alternatives is a value, unless they are all asked whether they are true.
    if (before == "or" && !condition_ && !IsOneOf(after, {"and", "or"})) return false;
    if (IsOneOf(before, heads)) return IsOneOf(after, ends);
    return IsOneOf(before, begins) && IsOneOf(after, {"and", "or"});
  }

  // Whether the operand between `before` and at_ is a side of ~, which turns it into a text. The
  // engine writes six decimals of any number.
  bool IsJoined(std::string_view before) const {
    const std::string_view after = After();
    static const std::vector<std::string_view> tighter = {"|", "*", "/", "//", "%", "**"};
    return (before == "~" && !IsOneOf(after, tighter)) ||
           (after == "~" && !IsOneOf(before, tighter));
  }

  std::string Brackets() {
    const bool condition = condition_;
    std::string out = tokens_[at_++].text;
    out += Sequence();
    if (at_ < tokens_.size()) out += tokens_[at_++].text;
    condition_ = condition;
    return out;
  }

  std::string Operand(bool is_filter) {
    std::string out;
    bool is_call = false;  // of a function, whose result the engine looks into only in brackets
    if (Opens(at_)) {
      out = Brackets();
    } else {
      const Token& token = tokens_[at_];
      out = token.kind == TokenKind::kText ? WithoutCodes(token.text) : token.text;
      ++at_;
      if (token.kind == TokenKind::kNumber) return out + Fraction();
    }
    for (;;) {
      if (Is(at_, "(")) {
        is_call = is_call || (!is_filter && !method_);
        method_ = false;
        out += Brackets();
      } else if (Is(at_, "[")) {
        const std::string subscript = Brackets();
        if (IsIndex(subscript)) {
          out = Item(out, subscript.substr(1, subscript.size() - 2));
        } else {
          out = (is_call ? "(" + out + ")" : out) + subscript;
        }
        is_call = IsIndex(subscript);
      } else if (Is(at_, ".") && at_ + 1 < tokens_.size() &&
                 (tokens_[at_ + 1].kind == TokenKind::kName ||
                  tokens_[at_ + 1].kind == TokenKind::kNumber)) {
        is_call = Attribute(is_call, &out);
      } else {
        return out;
      }
    }
  }

  std::string Fraction() {
    if (!Is(at_, ".") || at_ + 1 >= tokens_.size() || tokens_[at_ + 1].kind != TokenKind::kNumber) {
      return "";
    }
    at_ += 2;
    return "." + tokens_[at_ - 1].text;
  }

  // A number in brackets, which the engine takes only where there is a list that has it.
  static bool IsIndex(std::string_view subscript) {
    if (subscript.size() < 3 || !subscript.ends_with(']')) return false;
    const size_t begin = subscript[1] == '-' ? 2 : 1;
    return begin + 1 < subscript.size() &&
           std::all_of(subscript.begin() + static_cast<std::ptrdiff_t>(begin), subscript.end() - 1,
                       IsDigit);
  }

  static std::string Item(const std::string& object, std::string_view index) {
    return std::string(kItemFunction) + "(" + object + ", " + std::string(index) + ")";
  }

  // True when `out` has become a function's call.
  bool Attribute(bool is_call, std::string* out) {
    const Token& name = tokens_[at_ + 1];
    at_ += 2;
    if (name.kind == TokenKind::kNumber) {
      *out = Item(*out, name.text);
      return true;
    }
    method_ = Is(at_, "(");
    if (!method_ || !IsMissingMethod(name.text)) {
      *out = (is_call ? "(" + *out + ")" : *out) + "." + name.text;
      return false;
    }
    method_ = false;
    const std::string arguments = Brackets();
    const bool none = arguments.find_first_not_of("() \t\r\n") == std::string::npos;
    *out = std::string(kMethodPrefix) + name.text + "(" + *out + (none ? "" : ", ") +
           arguments.substr(1);
    return true;
  }

  const std::vector<Token> tokens_;
  size_t at_ = 0;
  bool condition_ = false;  // in what if asks
  bool method_ = false;     // the bracket to come holds a method's arguments
};

}  // namespace

std::string RewriteExpression(std::string_view code) {
  return Rewriter(Lexer(code).Run()).Run();
}

std::vector<std::string> NamesIn(std::string_view code) {
  std::vector<std::string> names;
  bool attribute = false;
  for (const Token& token : Lexer(code).Run()) {
    if (token.kind == TokenKind::kName && !attribute && !IsKeyword(token.text)) {
      names.push_back(token.text);
    }
    attribute = token.kind == TokenKind::kOperator && token.text == ".";
  }
  return names;
}

}  // namespace cairn
