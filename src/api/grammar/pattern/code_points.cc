#include "api/grammar/pattern/code_points.h"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

constexpr CodeRange kSurrogates = {0xD800, 0xDFFF};

}  // namespace

CodePoints::CodePoints(std::vector<CodeRange> ranges) {
  // Surrogates are cut out.
  std::vector<CodeRange> cut;
  for (const CodeRange& range : ranges) {
    if (range.low > range.high) continue;
    if (range.high < kSurrogates.low || range.low > kSurrogates.high) {
      cut.push_back(range);
      continue;
    }
    if (range.low < kSurrogates.low) cut.push_back({range.low, kSurrogates.low - 1});
    if (range.high > kSurrogates.high) cut.push_back({kSurrogates.high + 1, range.high});
  }
  std::sort(cut.begin(), cut.end());
  for (const CodeRange& range : cut) {
    if (!ranges_.empty() && range.low <= ranges_.back().high + 1) {
      ranges_.back().high = std::max(ranges_.back().high, range.high);
    } else {
      ranges_.push_back(range);
    }
  }
}

CodePoints CodePoints::All() {
  return CodePoints({{0, kCodePointMax}});
}

bool CodePoints::Holds(uint32_t character) const {
  const auto range =
      std::lower_bound(ranges_.begin(), ranges_.end(), character,
                       [](const CodeRange& one, uint32_t wanted) { return one.high < wanted; });
  return range != ranges_.end() && range->low <= character;
}

std::optional<uint32_t> CodePoints::Single() const {
  if (ranges_.size() != 1 || ranges_[0].low != ranges_[0].high) return std::nullopt;
  return ranges_[0].low;
}

CodePoints CodePoints::Or(const CodePoints& other) const {
  std::vector<CodeRange> all = ranges_;
  all.insert(all.end(), other.ranges_.begin(), other.ranges_.end());
  return CodePoints(std::move(all));
}

CodePoints CodePoints::And(const CodePoints& other) const {
  std::vector<CodeRange> both;
  size_t i = 0;
  size_t j = 0;
  while (i < ranges_.size() && j < other.ranges_.size()) {
    const uint32_t low = std::max(ranges_[i].low, other.ranges_[j].low);
    const uint32_t high = std::min(ranges_[i].high, other.ranges_[j].high);
    if (low <= high) both.push_back({low, high});
    ranges_[i].high < other.ranges_[j].high ? ++i : ++j;
  }
  return CodePoints(std::move(both));
}

CodePoints CodePoints::Not() const {
  std::vector<CodeRange> others;
  uint32_t next = 0;
  for (const CodeRange& range : ranges_) {
    if (range.low > next) others.push_back({next, range.low - 1});
    next = range.high + 1;
  }
  if (next <= kCodePointMax) others.push_back({next, kCodePointMax});
  return CodePoints(std::move(others));
}

std::u32string CodePointsOf(std::string_view text) {
  constexpr char32_t kUnknown = 0xFFFD;
  std::u32string characters;
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<uint8_t>(text[at++]);
    if (first < 0x80) {
      characters += static_cast<char32_t>(first);
      continue;
    }
    const size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
    uint32_t value = first & (0x3FU >> more);
    size_t read = 0;
    while (read < more && at < text.size() && static_cast<uint8_t>(text[at]) >> 6 == 2) {
      value = value << 6 | (static_cast<uint8_t>(text[at++]) & 0x3FU);
      ++read;
    }
    const bool whole = more > 0 && read == more && value <= kCodePointMax &&
                       (value < kSurrogates.low || value > kSurrogates.high);
    characters += whole ? static_cast<char32_t>(value) : kUnknown;
  }
  return characters;
}

}  // namespace cairn
