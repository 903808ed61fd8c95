#include "lab/fleet/number_ranges.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

bool Before(const BlockRange& a, const BlockRange& b) {
  return a.first < b.first;
}

}  // namespace

NumberRanges::NumberRanges(std::vector<BlockRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), Before);
  for (const BlockRange& range : ranges) {
    if (!ranges_.empty() && range.first <= size_t{ranges_.back().last} + 1) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
  for (const BlockRange& range : ranges_) {
    places_.push_back(size_);
    size_ += size_t{range.last} - range.first + 1;
  }
}

const BlockRange* NumberRanges::FindRange(uint32_t number) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), BlockRange{number, number}, Before);
  if (after == ranges_.begin() || std::prev(after)->last < number) return nullptr;
  return &*std::prev(after);
}

size_t NumberRanges::PlaceOf(uint32_t number) const {
  const BlockRange* const range = FindRange(number);
  CHECK(range != nullptr);
  return places_[static_cast<size_t>(range - ranges_.data())] + (number - range->first);
}

uint32_t NumberRanges::SameUntil(const BlockRange& range) const {
  if (const BlockRange* const inside = FindRange(range.first)) {
    return std::min(range.last, inside->last);
  }
  const auto next = std::upper_bound(ranges_.begin(), ranges_.end(), range, Before);
  return next == ranges_.end() ? range.last : std::min(range.last, next->first - 1);
}

NumberRanges InSeveral(const std::vector<NumberRanges>& sets) {
  // +1 where a range begins, -1 behind its end.
  std::vector<std::pair<size_t, int>> edges;
  for (const NumberRanges& set : sets) {
    for (const BlockRange& range : set.ranges()) {
      edges.emplace_back(range.first, 1);
      edges.emplace_back(size_t{range.last} + 1, -1);
    }
  }
  std::sort(edges.begin(), edges.end());
  std::vector<BlockRange> several;
  int depth = 0;
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    depth += edges[i].second;
    if (depth < 2 || edges[i].first == edges[i + 1].first) continue;
    several.push_back(
        {static_cast<uint32_t>(edges[i].first), static_cast<uint32_t>(edges[i + 1].first - 1)});
  }
  return NumberRanges(std::move(several));
}

}  // namespace cairn
