// CodePoints: a set of characters, as sorted ranges with gaps between them. Halves of surrogate
// pairs are no characters and never in a set.

#ifndef CAIRN_API_GRAMMAR_PATTERN_CODE_POINTS_H_
#define CAIRN_API_GRAMMAR_PATTERN_CODE_POINTS_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn {

inline constexpr uint32_t kCodePointMax = 0x10FFFF;

struct CodeRange {
  uint32_t low = 0;
  uint32_t high = 0;
  friend auto operator<=>(const CodeRange&, const CodeRange&) = default;
};

class CodePoints {
 public:
  CodePoints() = default;
  explicit CodePoints(std::vector<CodeRange> ranges);
  static CodePoints All();
  static CodePoints One(uint32_t character) { return CodePoints({{character, character}}); }

  bool empty() const { return ranges_.empty(); }
  bool Holds(uint32_t character) const;
  // The only character of the set, if it has one.
  std::optional<uint32_t> Single() const;
  const std::vector<CodeRange>& ranges() const& { return ranges_; }
  std::vector<CodeRange> ranges() && { return std::move(ranges_); }

  CodePoints Or(const CodePoints& other) const;
  CodePoints And(const CodePoints& other) const;
  CodePoints Not() const;

  friend auto operator<=>(const CodePoints&, const CodePoints&) = default;

 private:
  std::vector<CodeRange> ranges_;
};

// Returns the characters of a text in UTF-8; bytes that are none count as U+FFFD.
std::u32string CodePointsOf(std::string_view text);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_PATTERN_CODE_POINTS_H_
