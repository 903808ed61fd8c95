#include "chat/template/template_source.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "chat/template/template_expression.h"

namespace cairn {
namespace {

constexpr size_t kSourceBytesMax = 512 * 1024;
constexpr size_t kNestingMax = 100;
// One expression with more operators in a row than fit here would recurse as deep as brackets do.
// Texts in quotes do not count.
constexpr size_t kTagCodeBytesMax = 16 * 1024;

constexpr std::string_view kBlockOpeners[] = {"if", "for", "macro", "call", "filter"};

// The first word of a tag, after the marks that control white space.
std::string_view TagKeyword(std::string_view tag) {
  const size_t begin = tag.find_first_not_of("-~+ \t\r\n");
  if (begin == std::string_view::npos) return {};
  const size_t end = tag.find_first_of(" \t\r\n-~%(", begin);
  return tag.substr(begin, end == std::string_view::npos ? end : end - begin);
}

// A tag of the template, or the text between two.
struct Segment {
  enum class Kind { kText, kComment, kBlock, kPrint } kind = Kind::kText;
  std::string_view source = {};  // with the delimiters
  std::string_view code = {};    // of a tag: without delimiters and marks of white space
  bool closed = true;
  bool strips_before = false;
  bool strips_behind = false;
  // Names that one turn of a loop sets and the next one may read.
  std::vector<std::string> carried = {};
};

bool IsTrimMark(char c) {
  return c == '-' || c == '~' || c == '+';
}

// Takes a template apart.
class SourceScan {
 public:
  explicit SourceScan(std::string_view source) : source_(source) {}

  Result<std::vector<Segment>> Run() {
    while (at_ < source_.size()) {
      const std::string_view mark = source_.substr(at_, 2);
      if (mark == "{#") {
        AddComment();
      } else if (mark == "{{" || mark == "{%") {
        if (Status tag = AddTag(mark == "{%"); !tag) return tl::unexpected(tag.error());
      } else {
        const size_t begin = at_;
        while (at_ < source_.size() && !TagBegins()) ++at_;
        segments_.push_back({.source = source_.substr(begin, at_ - begin)});
      }
    }
    return std::move(segments_);
  }

 private:
  bool TagBegins() const {
    const std::string_view mark = source_.substr(at_, 2);
    return mark == "{#" || mark == "{{" || mark == "{%";
  }

  void Add(Segment::Kind kind, size_t begin, bool closed) {
    Segment segment{.kind = kind, .source = source_.substr(begin, at_ - begin), .closed = closed};
    segment.code = segment.source.substr(2, segment.source.size() - (closed ? 4 : 2));
    if (!segment.code.empty() && IsTrimMark(segment.code.front())) {
      segment.strips_before = segment.code.front() == '-';
      segment.code.remove_prefix(1);
    }
    if (closed && !segment.code.empty() && IsTrimMark(segment.code.back())) {
      segment.strips_behind = segment.code.back() == '-';
      segment.code.remove_suffix(1);
    }
    segments_.push_back(std::move(segment));
  }

  void AddComment() {
    const size_t begin = at_;
    const size_t end = source_.find("#}", at_ + 2);
    at_ = end == std::string_view::npos ? source_.size() : end + 2;
    Add(Segment::Kind::kComment, begin, end != std::string_view::npos);
  }

  Status AddTag(bool block) {
    const size_t begin = at_;
    const std::string_view close = block ? "%}" : "}}";
    size_t depth = 0;
    size_t code_bytes = 0;
    char quote = 0;
    bool closed = false;
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
        closed = true;
        break;
      } else if (c == '(' || c == '[' || c == '{') {
        if (++depth > kNestingMax) return TooDeep("brackets");
      } else if ((c == ')' || c == ']' || c == '}') && depth > 0) {
        --depth;
      }
    }
    at_ = std::min(at_, source_.size());
    Add(block ? Segment::Kind::kBlock : Segment::Kind::kPrint, begin, closed);
    return block ? CountBlock(TagKeyword(segments_.back().code)) : Status{};
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
  std::vector<Segment> segments_;
};

// The name that a set tag gives a value, unless it is an attribute of a namespace.
std::string SetTarget(std::string_view code) {
  const size_t equals = code.find('=');
  const std::string_view target = code.substr(0, equals);
  if (target.find('.') != std::string_view::npos || target.find(',') != std::string_view::npos) {
    return "";
  }
  const std::vector<std::string> names = NamesIn(target);
  return names.empty() ? "" : names.front();
}

// Finds what one turn of a loop hands to the next. In Jinja that is nothing; the engine keeps one
// scope for all turns.
class LoopScan {
 public:
  explicit LoopScan(std::vector<Segment>* segments) : segments_(*segments) {}

  void Run() {
    for (size_t i = 0; i < segments_.size(); ++i) {
      const Segment& segment = segments_[i];
      if (segment.kind == Segment::Kind::kPrint) Read(segment.code);
      if (segment.kind == Segment::Kind::kBlock) Block(i, TagKeyword(segment.code));
    }
  }

 private:
  struct Scope {
    size_t segment = 0;
    bool is_loop = false;
    size_t conditions = 0;
    std::vector<std::string> safe = {};  // set at the start of every turn, before anything looks
    std::vector<std::string> read_early = {};
    std::vector<std::string> set = {};
  };

  static bool Has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  void Read(std::string_view code) {
    for (const std::string& name : NamesIn(code)) {
      for (Scope& scope : scopes_) {
        if (scope.is_loop && !Has(scope.safe, name) && !Has(scope.read_early, name)) {
          scope.read_early.push_back(name);
        }
      }
    }
  }

  void Block(size_t index, std::string_view keyword) {
    const std::string_view code = segments_[index].code;
    if (keyword == "set") return Set(code);
    Read(code);
    if (keyword == "for" || keyword == "macro" || keyword == "call") {
      scopes_.push_back({.segment = index, .is_loop = keyword == "for"});
      if (keyword == "for") scopes_.back().safe = NamesIn(code.substr(0, code.find(" in ")));
    } else if (scopes_.empty()) {
      return;
    } else if (keyword == "if") {
      ++scopes_.back().conditions;
    } else if (keyword == "endif" && scopes_.back().conditions > 0) {
      --scopes_.back().conditions;
    } else if (keyword == "endfor" || keyword == "endmacro" || keyword == "endcall") {
      Close();
    }
  }

  void Set(std::string_view code) {
    const size_t equals = code.find('=');
    if (equals != std::string_view::npos) Read(code.substr(equals + 1));
    const std::string name = SetTarget(code);
    if (name.empty() || scopes_.empty() || !scopes_.back().is_loop) return;
    Scope& scope = scopes_.back();
    if (!Has(scope.set, name)) scope.set.push_back(name);
    if (scope.conditions == 0 && !Has(scope.read_early, name)) scope.safe.push_back(name);
  }

  void Close() {
    const Scope& scope = scopes_.back();
    for (const std::string& name : scope.set) {
      if (Has(scope.read_early, name)) segments_[scope.segment].carried.push_back(name);
    }
    scopes_.pop_back();
  }

  std::vector<Segment>& segments_;
  std::vector<Scope> scopes_;
};

// Puts the template together again, for the engine.
class SourceWriter {
 public:
  explicit SourceWriter(const std::vector<Segment>& segments) : segments_(segments) {}

  std::string Run() {
    for (size_t i = 0; i < segments_.size(); ++i) {
      const Segment& segment = segments_[i];
      if (segment.kind == Segment::Kind::kText) {
        WriteText(i);
      } else if (segment.kind == Segment::Kind::kComment) {
        WriteComment(segment);
      } else {
        WriteTag(segment);
      }
    }
    return std::move(out_);
  }

 private:
  // White space in front of {{ is text, also at the start of a line. The engine takes it for that
  // of a block, which is left out.
  void WriteText(size_t index) {
    const std::string_view text = segments_[index].source;
    const size_t end = text.find_last_not_of(" \t") + 1;
    const bool printed = index + 1 < segments_.size() &&
                         segments_[index + 1].kind == Segment::Kind::kPrint &&
                         !segments_[index + 1].strips_before;
    const bool starts_line = end == 0 ? index == 0 : text[end - 1] == '\n';
    const bool stripped = index > 0 && segments_[index - 1].strips_behind &&
                          text.find_first_not_of(" \t\r\n") == std::string_view::npos;
    out_ += text.substr(0, end);
    if (printed && starts_line && !stripped && end < text.size()) {
      out_ += "{{ '" + std::string(text.substr(end)) + "' }}";
    } else {
      out_ += text.substr(end);
    }
  }

  // Keeps the delimiters and their white space marks: they change the text around the comment.
  void WriteComment(const Segment& comment) {
    if (!comment.closed) {  // the engine's own complaint is the clearest
      out_ += "{#";
      return;
    }
    const std::string_view inside = comment.source.substr(2, comment.source.size() - 4);
    out_ += "{#";
    if (!inside.empty() && (inside.front() == '-' || inside.front() == '~')) out_ += inside.front();
    if (inside.size() > 1 && (inside.back() == '-' || inside.back() == '~')) out_ += inside.back();
    out_ += "#}";
  }

  void WriteTag(const Segment& tag) {
    if (!tag.closed) {
      out_ += tag.source;
      return;
    }
    const auto head = static_cast<size_t>(tag.code.data() - tag.source.data());
    const std::string_view tail = tag.source.substr(head + tag.code.size());
    out_ += tag.source.substr(0, head);
    const std::string code = RewriteExpression(tag.code);
    out_ += tag.kind == Segment::Kind::kPrint ? Printed(code) : code;
    out_ += tail;
    if (tag.carried.empty()) return;
    out_.resize(out_.size() - tail.size());
    out_ += "-%}{%- if loop.first -%}";
    for (const std::string& name : tag.carried) {
      out_ += "{%- set cairn_outer_" + name + " = " + name + " -%}";
    }
    out_ += "{%- else -%}";
    for (const std::string& name : tag.carried) {
      out_ += "{%- set " + name + " = cairn_outer_" + name + " -%}";
    }
    out_ += "{%- endif " + std::string(tail);
  }

  // Python's way to write values. Texts, which most are, need nothing.
  static std::string Printed(const std::string& code) {
    const size_t begin = code.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos) return code;
    const size_t end = code.find_last_not_of(" \t\r\n") + 1;
    return code.substr(0, begin) + std::string(kTextFunction) + "(" +
           code.substr(begin, end - begin) + ")" + code.substr(end);
  }

  const std::vector<Segment>& segments_;
  std::string out_;
};

}  // namespace

Result<std::string> PrepareTemplateSource(std::string_view source) {
  if (source.size() > kSourceBytesMax) {
    return Fail(ErrorCode::kInvalidArgument, "the chat template is " +
                                                 std::to_string(source.size()) +
                                                 " bytes long; at most 524288 are read.");
  }
  Result<std::vector<Segment>> segments = SourceScan(source).Run();
  if (!segments) return tl::unexpected(segments.error());
  LoopScan(&*segments).Run();
  return SourceWriter(*segments).Run();
}

std::string WithToolTemplate(std::string_view usual, std::string_view with_tools) {
  // The empty values keep the white space beside the tags, and the last line break is no text.
  const auto whole = [](std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    return "{{ '' }}" + std::string(text) + "{{ '' }}";
  };
  return "{%- set cairn_with = namespace(tools=tools) %}{%- for message in messages %}"
         "{%- if message.tool_calls or message.role == 'tool' %}"
         "{%- set cairn_with.tools = true %}{%- endif %}{%- endfor %}{%- if cairn_with.tools %}" +
         whole(with_tools) + "{% else %}" + whole(usual) + "{% endif %}";
}

}  // namespace cairn
