#include "fleet/router/request_model.h"

#include <cstddef>

#include "base/json.h"

namespace cairn {
namespace {

// Walks over JSON text. After an error it is at the end.
class JsonSkipper {
 public:
  explicit JsonSkipper(std::string_view text) : text_(text) {}

  bool AtEnd() const { return at_ >= text_.size(); }
  // The next character that is no blank, or 0 at the end.
  char Peek() {
    while (!AtEnd() && IsBlank(text_[at_])) ++at_;
    return AtEnd() ? '\0' : text_[at_];
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  // Returns the text of the value that begins here; empty at the end or if there is none.
  std::string_view Value() {
    const char first = Peek();
    const size_t begin = at_;
    if (first == '"') {
      SkipString();
    } else if (first == '{' || first == '[') {
      SkipNested();
    } else {
      while (!AtEnd() && !IsDelimiter(text_[at_])) ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  static bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  static bool IsDelimiter(char c) {
    return IsBlank(c) || c == ',' || c == ':' || c == '}' || c == ']' || c == '"' || c == '{' ||
           c == '[';
  }

  // REQUIRES: at a quotation mark.
  void SkipString() {
    for (++at_; at_ < text_.size(); ++at_) {
      at_ = text_.find_first_of("\"\\", at_);
      if (at_ == std::string_view::npos) break;
      if (text_[at_] == '"') {
        ++at_;
        return;
      }
      ++at_;  // the character after a backslash
    }
    at_ = text_.size();
  }

  // REQUIRES: at a bracket. Counts brackets of both kinds alike.
  void SkipNested() {
    size_t depth = 0;
    while (!AtEnd()) {
      const char c = text_[at_];
      if (c == '"') {
        SkipString();
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return;
    }
  }

  const std::string_view text_;
  size_t at_ = 0;
};

// Returns whether `text`, which is written as a JSON string, says `value`.
bool Says(std::string_view text, std::string_view value) {
  if (text.find('\\') == std::string_view::npos) {
    return text.size() == value.size() + 2 && text.substr(1, value.size()) == value;
  }
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_string() && json.text() == value;
}

NamedModel ModelOf(std::string_view value) {
  if (value == "null") return {};
  const Json json = Json::parse(value, nullptr, /*allow_exceptions=*/false);
  if (!json.is_string()) return {NamedModel::Kind::kNoString, ""};
  return {NamedModel::Kind::kNamed, json.text()};
}

}  // namespace

NamedModel RequestModel(std::string_view body) {
  JsonSkipper json(body);
  NamedModel model;
  if (!json.Take('{')) return model;
  do {
    if (json.Peek() != '"') break;
    const std::string_view key = json.Value();
    if (!json.Take(':')) break;
    const std::string_view value = json.Value();
    if (value.empty()) break;
    if (Says(key, "model")) model = ModelOf(value);
  } while (json.Take(','));
  return model;
}

}  // namespace cairn
