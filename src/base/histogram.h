// Histogram: counts values by bucket, so that readers can compute quantiles.
//
//   bounds    0.1    0.5     1
//   counts  3  |  7   |  0   |  2         a value equal to a bound counts below it
//
// Threads: one at a time, as for a number.

#ifndef CAIRN_BASE_HISTOGRAM_H_
#define CAIRN_BASE_HISTOGRAM_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace cairn {

template <size_t kBounds>
class Histogram {
 public:
  // `bounds` are in rising order.
  constexpr explicit Histogram(const std::array<double, kBounds>& bounds) : bounds_(bounds) {}

  void Add(double value) {
    const auto* const above = std::lower_bound(bounds_.begin(), bounds_.end(), value);
    ++counts_[static_cast<size_t>(above - bounds_.begin())];
    sum_ += value;
  }

  const std::array<double, kBounds>& bounds() const { return bounds_; }
  // Returns the number of values up to the bound at `index`, or of all values if `index` is past
  // the last bound.
  uint64_t CountTo(size_t index) const {
    uint64_t count = 0;
    for (size_t i = 0; i <= std::min(index, kBounds); ++i) count += counts_[i];
    return count;
  }
  uint64_t count() const { return CountTo(kBounds); }
  double sum() const { return sum_; }

 private:
  std::array<double, kBounds> bounds_;
  std::array<uint64_t, kBounds + 1> counts_{};
  double sum_ = 0;
};

// Bounds for durations in seconds: from resuming at a slot's end to prefilling a long prompt on a
// slow machine.
inline constexpr std::array<double, 18> kSecondsBounds = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500};

class SecondsHistogram : public Histogram<kSecondsBounds.size()> {
 public:
  constexpr SecondsHistogram() : Histogram(kSecondsBounds) {}
  void AddMs(double ms) { Add(ms / 1000); }
};

}  // namespace cairn

#endif  // CAIRN_BASE_HISTOGRAM_H_
