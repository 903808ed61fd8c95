// Order statistics of a list of values. Pure.

#ifndef CAIRN_LAB_BENCH_PERCENTILE_H_
#define CAIRN_LAB_BENCH_PERCENTILE_H_

#include <vector>

namespace cairn {

// Returns the value below which `share` (0 to 1) of the values lie, interpolated linearly between
// its two neighbours; 0 if there are no values.
double Percentile(std::vector<double> values, double share);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_PERCENTILE_H_
