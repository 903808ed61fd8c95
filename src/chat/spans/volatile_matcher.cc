#include "chat/spans/volatile_matcher.h"

#include <re2/re2.h>
#include <re2/stringpiece.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "chat/spans/volatile_patterns.h"

namespace cairn {

struct VolatileMatcher::Expression {
  explicit Expression(const std::string& pattern, const RE2::Options& options)
      : re2(pattern, options) {}

  // Appends the matches between two bytes of the text.
  void FindBetween(std::string_view text, size_t begin, size_t end,
                   std::vector<TextRange>* found) const {
    const re2::StringPiece piece(text.data(), text.size());
    re2::StringPiece match;
    while (begin <= end && re2.Match(piece, begin, end, RE2::UNANCHORED, &match, 1)) {
      const auto at = static_cast<size_t>(match.data() - text.data());
      if (!match.empty()) found->push_back({at, at + match.size()});
      begin = match.empty() ? at + 1 : at + match.size();
    }
  }

  const RE2 re2;
};

Result<VolatileMatcher> VolatileMatcher::Make(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto expression = std::make_unique<Expression>(pattern, options);
  if (!expression->re2.ok()) {
    return Fail(ErrorCode::kInvalidArgument,
                "'" + pattern + "' is no regular expression: " + expression->re2.error());
  }
  return VolatileMatcher(std::move(expression));
}

VolatileMatcher::VolatileMatcher(std::unique_ptr<Expression> expression)
    : expression_(std::move(expression)) {}
VolatileMatcher::~VolatileMatcher() = default;
VolatileMatcher::VolatileMatcher(VolatileMatcher&&) noexcept = default;
VolatileMatcher& VolatileMatcher::operator=(VolatileMatcher&&) noexcept = default;

bool VolatileMatcher::FindsIn(std::string_view text) const {
  return expression_->re2.Match(re2::StringPiece(text.data(), text.size()), 0, text.size(),
                                RE2::UNANCHORED, nullptr, 0);
}

std::vector<TextRange> VolatileMatcher::Find(std::string_view text,
                                             const MarkedMedia& media) const {
  std::vector<TextRange> found;
  size_t begin = 0;
  for (const MarkedMedium& marked : media) {
    expression_->FindBetween(text, begin, marked.begin, &found);
    begin = marked.end;
  }
  expression_->FindBetween(text, begin, text.size(), &found);
  return found;
}

void ReplaceRanges(const std::vector<TextRange>& ranges, const std::vector<std::string>& values,
                   std::string* text, MarkedMedia* media) {
  CHECK(ranges.size() == values.size());
  std::string replaced;
  size_t at = 0;
  auto marked = media->begin();
  const auto keep = [&](size_t end) {
    replaced.append(*text, at, end - at);
    at = end;
  };
  const auto move_media = [&](size_t end) {
    for (; marked != media->end() && marked->begin < end; ++marked) {
      keep(marked->begin);
      marked->begin = replaced.size();
      keep(marked->end);
      marked->end = replaced.size();
    }
  };
  for (size_t i = 0; i < ranges.size(); ++i) {
    move_media(ranges[i].begin);
    keep(ranges[i].begin);
    replaced += values[i];
    at = ranges[i].end;
  }
  move_media(text->size());
  keep(text->size());
  *text = std::move(replaced);
}

bool IsBuiltinVolatile(std::string_view text, size_t offset) {
  constexpr size_t kLookedAt = 256;
  const size_t begin = offset - std::min(offset, kLookedAt);
  const std::string_view around =
      text.substr(begin, std::min(text.size() - begin, offset - begin + kLookedAt));
  for (const std::string& pattern : BuiltinVolatilePatterns()) {
    for (const TextRange& match : (*VolatileMatcher::Make(pattern)).Find(around, {})) {
      if (begin + match.begin <= offset && offset <= begin + match.end) return true;
    }
  }
  return false;
}

}  // namespace cairn
