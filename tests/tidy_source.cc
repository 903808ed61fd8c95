#include "tidy_source.h"

#include <algorithm>
#include <cctype>

namespace cairn::tidy {
namespace {

// Scans a text once and blanks everything but code.
class Blanker {
 public:
  Blanker(std::string_view text, bool literals_only)
      : text_(text), out_(text), literals_only_(literals_only) {}

  std::string Run() {
    while (at_ < text_.size()) {
      if (line_start_ && text_[at_] == '#' && !literals_only_) {
        BlankDirective();
      } else if (text_.substr(at_, 2) == "//") {
        BlankComment(text_.find('\n', at_));
      } else if (text_.substr(at_, 2) == "/*") {
        BlankComment(After(text_.find("*/", at_ + 2), 2));
      } else if (text_.substr(at_, 2) == "R\"" && !IsNameChar(Before())) {
        BlankRawString();
      } else if (text_[at_] == '"' || (text_[at_] == '\'' && !IsNameChar(Before()))) {
        BlankLiteral(text_[at_]);
      } else {
        line_start_ = text_[at_] == '\n' || (line_start_ && text_[at_] == ' ');
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  char Before() const { return at_ == 0 ? ' ' : text_[at_ - 1]; }
  static size_t After(size_t place, size_t size) {
    return place == std::string_view::npos ? place : place + size;
  }

  void BlankTo(size_t end) {
    for (end = std::min(end, text_.size()); at_ < end; ++at_) {
      if (text_[at_] != '\n') out_[at_] = ' ';
    }
  }

  void BlankComment(size_t end) {
    if (!literals_only_) return BlankTo(end);
    at_ = std::min(end, text_.size());
  }

  void BlankDirective() {
    size_t end = text_.find('\n', at_);
    while (end != std::string_view::npos && text_[end - 1] == '\\') end = text_.find('\n', end + 1);
    BlankTo(end);
  }

  void BlankRawString() {
    const size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return BlankTo(text_.size());
    const std::string close = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
    BlankTo(After(text_.find(close, open), close.size()));
  }

  void BlankLiteral(char quote) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2 : 1;
    }
    BlankTo(end + 1);
  }

  const std::string_view text_;
  std::string out_;
  const bool literals_only_;
  size_t at_ = 0;
  bool line_start_ = true;
};

// Follows the braces of code and tells functions from other blocks.
class FunctionScan {
 public:
  explicit FunctionScan(std::string_view code) : code_(code) {}

  std::vector<FunctionSpan> Run() {
    scopes_.push_back({.head = 0});
    for (at_ = 0; at_ < code_.size(); ++at_) {
      switch (code_[at_]) {
        case '{':
          Open();
          break;
        case '}':
          Close();
          break;
        case '(':
          ++scopes_.back().parentheses;
          break;
        case ')':
          if (scopes_.back().parentheses > 0) --scopes_.back().parentheses;
          break;
        case ';':
          if (scopes_.back().parentheses == 0) scopes_.back().head = at_ + 1;
          break;
        case ':':
          SkipAccessLabel();
          break;
        default:
          break;
      }
    }
    return std::move(functions_);
  }

 private:
  enum class Kind { kOther, kFunction, kValue };
  struct Scope {
    size_t head = 0;  // where the current declaration begins
    size_t parentheses = 0;
    Kind kind = Kind::kOther;
    bool in_function = false;
    size_t first_line = 0;
  };

  void Open() {
    const Scope& outer = scopes_.back();
    Scope scope{.head = at_ + 1, .in_function = outer.in_function};
    if (outer.parentheses > 0 || (at_ > 0 && code_[at_ - 1] != ' ' && code_[at_ - 1] != '\n')) {
      scope.kind = Kind::kValue;
    } else if (!outer.in_function && IsFunctionHead(Head())) {
      scope.kind = Kind::kFunction;
      scope.in_function = true;
      scope.first_line = LineOf(code_, code_.find_first_not_of(" \n", outer.head));
    }
    scopes_.push_back(scope);
  }

  void Close() {
    if (scopes_.size() == 1) return;
    const Scope closed = scopes_.back();
    scopes_.pop_back();
    if (closed.kind == Kind::kFunction) {
      functions_.push_back({closed.first_line, LineOf(code_, at_)});
    }
    if (closed.kind != Kind::kValue) scopes_.back().head = at_ + 1;
  }

  std::string_view Head() const {
    return code_.substr(scopes_.back().head, at_ - scopes_.back().head);
  }

  static bool IsFunctionHead(std::string_view head) {
    const size_t parenthesis = head.find('(');
    if (parenthesis == std::string_view::npos) return false;
    for (const std::string_view word : {"namespace", "class", "struct", "union", "enum"}) {
      if (head.substr(std::min(head.find_first_not_of(" \n"), head.size())).starts_with(word) &&
          head.find('\n', parenthesis) == std::string_view::npos &&
          head.find(')') + 2 < head.size()) {
        return false;  // a class with an attribute or an expression in its head
      }
    }
    return true;
  }

  void SkipAccessLabel() {
    for (const std::string_view label : {"public", "private", "protected"}) {
      const std::string_view head = Head();
      const size_t begin = head.find_first_not_of(" \n");
      if (begin != std::string_view::npos && head.substr(begin) == label) {
        scopes_.back().head = at_ + 1;
      }
    }
  }

  const std::string_view code_;
  size_t at_ = 0;
  std::vector<Scope> scopes_;
  std::vector<FunctionSpan> functions_;
};

}  // namespace

bool IsNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string_view InHouse(std::string_view path) {
  for (const std::string_view root : {"src/", "fleet/"}) {
    if (path.starts_with(root)) return path.substr(root.size());
  }
  return {};
}

std::string SourceFile::Folder() const {
  for (const char* const root : {"lab/", "testing/"}) {
    if (path.starts_with(root)) return path.substr(0, path.find('/'));
  }
  const std::string_view inside = InHouse(path);
  const size_t end = inside.find('/');
  return std::string(end == std::string_view::npos ? std::string_view() : inside.substr(0, end));
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string CodeOnly(std::string_view text) {
  return Blanker(text, false).Run();
}

std::string WithoutLiterals(std::string_view text) {
  return Blanker(text, true).Run();
}

std::vector<Include> Includes(std::string_view text) {
  std::vector<Include> includes;
  size_t number = 0;
  for (std::string_view line : Lines(text)) {
    ++number;
    if (!line.starts_with("#")) continue;
    line.remove_prefix(std::min(line.find_first_not_of("# "), line.size()));
    if (!line.starts_with("include")) continue;
    const size_t open = line.find_first_of("<\"");
    if (open == std::string_view::npos) continue;
    const size_t close = line.find_first_of(">\"", open + 1);
    if (close == std::string_view::npos) continue;
    includes.push_back({number, std::string(line.substr(open + 1, close - open - 1))});
  }
  return includes;
}

std::vector<FunctionSpan> Functions(std::string_view text) {
  return FunctionScan(CodeOnly(text)).Run();
}

size_t FindWord(std::string_view code, std::string_view word, size_t from) {
  for (size_t at = code.find(word, from); at != std::string_view::npos;
       at = code.find(word, at + 1)) {
    const bool begins = at == 0 || !IsNameChar(code[at - 1]);
    const size_t end = at + word.size();
    if (begins && (end == code.size() || !IsNameChar(code[end]))) return at;
  }
  return std::string_view::npos;
}

size_t LineOf(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  return 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
}

}  // namespace cairn::tidy
