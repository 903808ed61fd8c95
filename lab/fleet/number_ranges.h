// NumberRanges: a set of numbers as sorted ranges that do not touch, each number with its place in
// the set.
//
// A value; any thread.

#ifndef CAIRN_LAB_FLEET_NUMBER_RANGES_H_
#define CAIRN_LAB_FLEET_NUMBER_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/block_range.h"

namespace cairn {

class NumberRanges {
 public:
  NumberRanges() = default;
  // `ranges`: in any order; they may overlap.
  explicit NumberRanges(std::vector<BlockRange> ranges);

  const std::vector<BlockRange>& ranges() const { return ranges_; }
  bool Has(uint32_t number) const { return FindRange(number) != nullptr; }
  size_t size() const { return size_; }
  // Returns how many numbers of the set are below `number`. REQUIRES: Has(number).
  size_t PlaceOf(uint32_t number) const;
  // Returns the last number up to which `range` is all in the set, or all out of it.
  uint32_t SameUntil(const BlockRange& range) const;

 private:
  const BlockRange* FindRange(uint32_t number) const;

  std::vector<BlockRange> ranges_;
  std::vector<size_t> places_;  // of the first number of each range
  size_t size_ = 0;
};

// Returns the numbers that are in at least two of the sets.
NumberRanges InSeveral(const std::vector<NumberRanges>& sets);

}  // namespace cairn

#endif  // CAIRN_LAB_FLEET_NUMBER_RANGES_H_
