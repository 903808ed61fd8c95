#include "chat/calls/calls_python.h"

#include <array>
#include <cctype>
#include <cstdint>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "chat/calls/calls_json.h"

namespace cairn {
namespace {

constexpr size_t kPythonDepthMax = 64;

struct PythonKeyword {
  std::string_view python;
  std::string_view json;
};
constexpr std::array<PythonKeyword, 6> kKeywords = {{{"True", "true"},
                                                     {"False", "false"},
                                                     {"None", "null"},
                                                     {"true", "true"},
                                                     {"false", "false"},
                                                     {"null", "null"}}};

bool IsPythonNameByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Reads from `at_` on and writes JSON. If a step returns kMore or kNotHere, the output so far is
// useless.
class PythonReader {
 public:
  PythonReader(std::string_view text, size_t at) : text_(text), at_(at) {}

  size_t at() const { return at_; }

  Scan Calls(std::vector<FoundCall>* calls) {
    Scan scan = Word("[");
    while (scan == Scan::kFound) {
      FoundCall call;
      scan = Call(&call);
      if (scan != Scan::kFound) return scan;
      calls->push_back(std::move(call));
      scan = CommaOrEnd(']');
      if (ended_) return scan;
    }
    return scan;
  }

  Scan Value(std::string* json) {
    SkipSpace();
    if (AtEnd()) return Scan::kMore;
    const char c = text_[at_];
    if (c == '"' || c == '\'') {
      std::string content;
      const Scan scan = String(&content);
      if (scan == Scan::kFound) *json += JsonString(content);
      return scan;
    }
    if (c == '[' || c == '{') {
      if (++depth_ > kPythonDepthMax) return Scan::kNotHere;
      const Scan scan = c == '[' ? List(json) : Dict(json);
      --depth_;
      return scan;
    }
    return c == '-' || std::isdigit(static_cast<unsigned char>(c)) != 0 ? Number(json)
                                                                        : KeywordValue(json);
  }

 private:
  bool AtEnd() const { return at_ >= text_.size(); }
  void SkipSpace() { at_ = SkipWhiteSpace(text_, at_); }
  Scan Word(std::string_view word) {
    SkipSpace();
    return TakeWord(text_, word, &at_);
  }

  // Reads a comma, the end, or both, after an item. Sets ended_ if it was the end.
  Scan CommaOrEnd(char end) {
    ended_ = false;
    SkipSpace();
    if (AtEnd()) return Scan::kMore;
    if (text_[at_] == ',') {
      ++at_;
      SkipSpace();
      if (AtEnd()) return Scan::kMore;
    } else if (text_[at_] != end) {
      return Scan::kNotHere;
    }
    if (text_[at_] != end) return Scan::kFound;
    ++at_;
    ended_ = true;
    return Scan::kFound;
  }

  // Whether the brackets are empty.
  Scan EmptyUntil(char end) {
    SkipSpace();
    ended_ = !AtEnd() && text_[at_] == end;
    if (ended_) ++at_;
    return AtEnd() && !ended_ ? Scan::kMore : Scan::kFound;
  }

  Scan Name(std::string* name, bool dots) {
    SkipSpace();
    const size_t begin = at_;
    while (!AtEnd() &&
           (IsPythonNameByte(text_[at_]) || (dots && (text_[at_] == '.' || text_[at_] == '-')))) {
      ++at_;
    }
    if (AtEnd()) return Scan::kMore;
    *name = text_.substr(begin, at_ - begin);
    const bool begins_well =
        at_ > begin && std::isdigit(static_cast<unsigned char>(text_[begin])) == 0;
    return begins_well ? Scan::kFound : Scan::kNotHere;
  }

  Scan Call(FoundCall* call) {
    Scan scan = Name(&call->name, true);
    if (scan == Scan::kFound) scan = Word("(");
    if (scan == Scan::kFound) scan = EmptyUntil(')');
    if (scan != Scan::kFound) return scan;
    std::set<std::string> names;
    call->arguments = "{";
    while (!ended_) {
      std::string name;
      scan = Name(&name, false);
      if (scan == Scan::kFound) scan = Word("=");
      if (scan != Scan::kFound) return scan;
      if (!names.insert(name).second) return Scan::kNotHere;
      if (names.size() > 1) call->arguments += ", ";
      call->arguments += JsonString(name) + ": ";
      scan = Value(&call->arguments);
      if (scan == Scan::kFound) scan = CommaOrEnd(')');
      if (scan != Scan::kFound) return scan;
    }
    call->arguments += "}";
    return Scan::kFound;
  }

  Scan List(std::string* json) {
    ++at_;
    Scan scan = EmptyUntil(']');
    *json += "[";
    for (bool first = true; scan == Scan::kFound && !ended_; first = false) {
      if (!first) *json += ", ";
      scan = Value(json);
      if (scan == Scan::kFound) scan = CommaOrEnd(']');
    }
    *json += "]";
    return scan;
  }

  Scan Dict(std::string* json) {
    ++at_;
    Scan scan = EmptyUntil('}');
    std::set<std::string> keys;
    *json += "{";
    while (scan == Scan::kFound && !ended_) {
      SkipSpace();
      if (AtEnd()) return Scan::kMore;
      if (text_[at_] != '"' && text_[at_] != '\'') return Scan::kNotHere;
      std::string key;
      scan = String(&key);
      if (scan == Scan::kFound) scan = Word(":");
      if (scan != Scan::kFound) return scan;
      if (!keys.insert(key).second) return Scan::kNotHere;
      if (keys.size() > 1) *json += ", ";
      *json += JsonString(key) + ": ";
      scan = Value(json);
      if (scan == Scan::kFound) scan = CommaOrEnd('}');
    }
    *json += "}";
    return scan;
  }

  // The quote that opens it closes it. Python allows no line break inside, but models write them.
  Scan String(std::string* content) {
    const char quote = text_[at_++];
    while (!AtEnd()) {
      const char c = text_[at_++];
      if (c == quote) return Scan::kFound;
      if (c != '\\') {
        *content += c;
        continue;
      }
      if (AtEnd()) return Scan::kMore;
      const Scan scan = Escape(content);
      if (scan != Scan::kFound) return scan;
    }
    return Scan::kMore;
  }

  // Reads after the backslash. As in Python, a backslash that escapes nothing is part of the
  // string.
  Scan Escape(std::string* content) {
    const char c = text_[at_++];
    constexpr std::string_view kLetters = "nrtbfav0\\'\"";
    constexpr std::string_view kMeant{"\n\r\t\b\f\a\v\0\\'\"", 11};
    const size_t letter = kLetters.find(c);
    if (letter != std::string_view::npos) {
      *content += kMeant[letter];
      return Scan::kFound;
    }
    if (c == '\n') return Scan::kFound;
    if (c == 'x') return HexEscape(2, content);
    if (c == 'u') return HexEscape(4, content);
    if (c == 'U') return HexEscape(8, content);
    *content += '\\';
    *content += c;
    return Scan::kFound;
  }

  Scan Hex(size_t digits, uint32_t* value) {
    for (; digits > 0; --digits) {
      if (AtEnd()) return Scan::kMore;
      const char c = text_[at_++];
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return Scan::kNotHere;
      const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
      *value = *value * 16 + static_cast<uint32_t>(digit);
    }
    return Scan::kFound;
  }

  // The two halves of a surrogate pair are one character, as in JSON; models mix the two notations.
  Scan HexEscape(size_t digits, std::string* content) {
    uint32_t character = 0;
    Scan scan = Hex(digits, &character);
    if (scan != Scan::kFound) return scan;
    if (digits == 4 && character >= 0xD800 && character < 0xDC00) {
      scan = TakeWord(text_, "\\u", &at_);
      uint32_t low = 0;
      if (scan == Scan::kFound) scan = Hex(4, &low);
      if (scan != Scan::kFound) return scan;
      if (low < 0xDC00 || low > 0xDFFF) return Scan::kNotHere;
      character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
    }
    if (character > 0x10FFFF || (character >= 0xD800 && character <= 0xDFFF)) return Scan::kNotHere;
    AppendUtf8(character, content);
    return Scan::kFound;
  }

  // Reads a number in JSON's notation.
  Scan Number(std::string* json) {
    const size_t end = text_.find_first_not_of("+-.0123456789eE", at_);
    if (end == std::string_view::npos) return Scan::kMore;
    const std::string number(text_.substr(at_, end - at_));
    if (!IsJsonObject("{\"number\":" + number + "}")) return Scan::kNotHere;
    *json += number;
    at_ = end;
    return Scan::kFound;
  }

  Scan KeywordValue(std::string* json) {
    const std::string_view rest = text_.substr(at_);
    for (const PythonKeyword& keyword : kKeywords) {
      if (keyword.python.starts_with(rest)) return Scan::kMore;
      if (!rest.starts_with(keyword.python)) continue;
      at_ += keyword.python.size();
      *json += keyword.json;
      return Scan::kFound;
    }
    return Scan::kNotHere;
  }

  const std::string_view text_;
  size_t at_;
  size_t depth_ = 0;
  bool ended_ = false;
};

}  // namespace

Scan TakePythonCalls(std::string_view text, size_t* at, std::vector<FoundCall>* calls) {
  PythonReader reader(text, *at);
  const Scan scan = reader.Calls(calls);
  if (scan == Scan::kFound) *at = reader.at();
  return scan;
}

std::optional<std::string> JsonOfPython(std::string_view literal) {
  // A number is known to be complete only if something follows it.
  const std::string text = std::string(literal) + "\n";
  PythonReader reader(text, 0);
  std::string json;
  if (reader.Value(&json) != Scan::kFound) return std::nullopt;
  if (SkipWhiteSpace(text, reader.at()) != text.size()) return std::nullopt;
  return json;
}

}  // namespace cairn
