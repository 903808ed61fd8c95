#include "lab/bench/bench_result.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.h"

namespace cairn {

double Percentile(std::vector<double> values, double share) {
  CHECK(share >= 0 && share <= 1);
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double rank = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(rank);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + ((rank - std::floor(rank)) * (values[above] - values[below]));
}

}  // namespace cairn
