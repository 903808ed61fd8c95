#include "chat/template_source.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

namespace cairn {
namespace {

constexpr size_t kSourceBytesMax = 512 * 1024;
constexpr size_t kNestingMax = 100;
// One expression with more operators in a row than fit here would recurse as deep as brackets do.
// Texts in quotes do not count.
constexpr size_t kTagCodeBytesMax = 16 * 1024;

constexpr std::string_view kBlockOpeners[] = {"if", "for", "macro", "call", "filter"};

// The first word of a tag, after the marks that control white space.
std::string_view Keyword(std::string_view tag) {
  const size_t begin = tag.find_first_not_of("-~+ \t\r\n");
  if (begin == std::string_view::npos) return {};
  const size_t end = tag.find_first_of(" \t\r\n-~%(", begin);
  return tag.substr(begin, end == std::string_view::npos ? end : end - begin);
}

bool IsNameByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Words that may stand in front of a bracket that is no call's.
constexpr std::string_view kKeywords[] = {"and", "or",   "not",  "in",  "is",
                                          "if",  "elif", "else", "for", "set"};

// Where the name of the function begins that `code`, which is about to get a bracket, calls; its
// end when it calls none, or a value's method.
size_t CalledName(std::string_view code) {
  size_t begin = code.size();
  while (begin > 0 && IsNameByte(code[begin - 1])) --begin;
  const std::string_view name = code.substr(begin);
  const bool keyword =
      std::find(std::begin(kKeywords), std::end(kKeywords), name) != std::end(kKeywords);
  return keyword || (begin > 0 && code[begin - 1] == '.') ? code.size() : begin;
}

// Puts brackets around calls of functions whose result is looked into at once.
std::string WithBracketedCalls(std::string_view tag) {
  if (tag.find(").") == std::string_view::npos && tag.find(")[") == std::string_view::npos) {
    return std::string(tag);
  }
  std::string out;
  std::vector<size_t> begins;  // in `out`, of what each open bracket belongs to
  char quote = 0;
  for (size_t i = 0; i < tag.size(); ++i) {
    const char c = tag[i];
    if (quote != 0) {
      if (c == '\\' && i + 1 < tag.size()) out += tag[i++];
      if (tag[i] == quote && c != '\\') quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(') {
      begins.push_back(CalledName(out));
    } else if (c == ')' && !begins.empty()) {
      const size_t begin = begins.back();
      begins.pop_back();
      const char next = i + 1 < tag.size() ? tag[i + 1] : ' ';
      if (out[begin] != '(' && (next == '.' || next == '[')) {
        out.insert(begin, 1, '(');
        out += ')';
      }
    }
    out += tag[i];
  }
  return out;
}

// Reads a template tag by tag.
class SourceScan {
 public:
  explicit SourceScan(std::string_view source) : source_(source) {}

  Result<std::string> Run() {
    while (at_ < source_.size()) {
      const std::string_view mark = source_.substr(at_, 2);
      if (mark == "{#") {
        SkipComment();
      } else if (mark == "{{" || mark == "{%") {
        if (Status tag = ReadTag(mark == "{%"); !tag) return tl::unexpected(tag.error());
      } else {
        out_ += source_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  // Keeps the delimiters and their white space marks: they change the text around the comment.
  void SkipComment() {
    const size_t end = source_.find("#}", at_ + 2);
    if (end == std::string_view::npos) {  // the engine's own complaint is the clearest
      out_ += "{#";
      at_ = source_.size();
      return;
    }
    const std::string_view inside = source_.substr(at_ + 2, end - at_ - 2);
    out_ += "{#";
    if (!inside.empty() && (inside.front() == '-' || inside.front() == '~')) out_ += inside.front();
    if (inside.size() > 1 && (inside.back() == '-' || inside.back() == '~')) out_ += inside.back();
    out_ += "#}";
    at_ = end + 2;
  }

  Status ReadTag(bool block) {
    const size_t begin = at_;
    const std::string_view close = block ? "%}" : "}}";
    size_t depth = 0;
    size_t code_bytes = 0;
    char quote = 0;
    for (at_ += 2; at_ < source_.size(); ++at_) {
      const char c = source_[at_];
      if (quote == 0 && ++code_bytes > kTagCodeBytesMax) {
        return Fail(ErrorCode::kInvalidArgument,
                    "the chat template has an expression longer than 16384 bytes.");
      }
      if (quote != 0) {
        if (c == '\\') ++at_;
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (depth == 0 && source_.substr(at_, 2) == close) {
        at_ += 2;
        break;
      } else if (c == '(' || c == '[' || c == '{') {
        if (++depth > kNestingMax) return TooDeep("brackets");
      } else if ((c == ')' || c == ']' || c == '}') && depth > 0) {
        --depth;
      }
    }
    if (at_ > source_.size()) at_ = source_.size();
    const std::string_view tag = source_.substr(begin, at_ - begin);
    out_ += WithBracketedCalls(tag);
    return block ? CountBlock(Keyword(tag.substr(2))) : Status{};
  }

  Status CountBlock(std::string_view keyword) {
    for (const std::string_view opener : kBlockOpeners) {
      if (keyword == opener && ++blocks_ > kNestingMax) return TooDeep("blocks");
      if (keyword.substr(0, 3) == "end" && keyword.substr(3) == opener && blocks_ > 0) --blocks_;
    }
    return {};
  }

  static tl::unexpected<Error> TooDeep(std::string_view what) {
    return Fail(ErrorCode::kInvalidArgument, "the chat template has " + std::string(what) +
                                                 " nested more than 100 levels deep.");
  }

  const std::string_view source_;
  size_t at_ = 0;
  size_t blocks_ = 0;
  std::string out_;
};

}  // namespace

Result<std::string> PrepareTemplateSource(std::string_view source) {
  if (source.size() > kSourceBytesMax) {
    return Fail(ErrorCode::kInvalidArgument, "the chat template is " +
                                                 std::to_string(source.size()) +
                                                 " bytes long; at most 524288 are read.");
  }
  return SourceScan(source).Run();
}

}  // namespace cairn
