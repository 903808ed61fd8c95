// VolatileMatcher: finds the matches of one regular expression in a message's text, and
// ReplaceRanges puts other texts in their place.
//
// Patterns come from the operator and texts from clients, so the regular expressions are RE2's,
// whose time is linear in the text for every pattern.

#ifndef CAIRN_CHAT_SPANS_VOLATILE_MATCHER_H_
#define CAIRN_CHAT_SPANS_VOLATILE_MATCHER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/parse/reasoning.h"
#include "media/medium.h"

namespace cairn {

// Constant after its creation; any thread.
class VolatileMatcher {
 public:
  // Returns kInvalidArgument if `pattern` is not a regular expression.
  static Result<VolatileMatcher> Make(const std::string& pattern);
  ~VolatileMatcher();
  VolatileMatcher(VolatileMatcher&&) noexcept;
  VolatileMatcher& operator=(VolatileMatcher&&) noexcept;

  // Whether a match is anywhere in the text.
  bool FindsIn(std::string_view text) const;
  // Returns the matches in order, without empty ones. Markers of media are no text: no match
  // overlaps one.
  std::vector<TextRange> Find(std::string_view text, const MarkedMedia& media) const;

 private:
  struct Expression;
  explicit VolatileMatcher(std::unique_ptr<Expression> expression);

  std::unique_ptr<Expression> expression_;
};

// Replaces ranges[i] of the text by values[i]; the places of `media` move with the text around
// them. REQUIRES: the ranges are in order and overlap neither each other nor a marker; there are as
// many values.
void ReplaceRanges(const std::vector<TextRange>& ranges, const std::vector<std::string>& values,
                   std::string* text, MarkedMedia* media);

// Whether a pattern of `--pin-volatile auto` matches a part of `text` that contains byte `offset`
// or ends there. Any thread.
bool IsBuiltinVolatile(std::string_view text, size_t offset);

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_VOLATILE_MATCHER_H_
