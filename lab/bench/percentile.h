// Order statistics of a list of values. Pure.

#ifndef CAIRN_LAB_BENCH_PERCENTILE_H_
#define CAIRN_LAB_BENCH_PERCENTILE_H_

#include <vector>

namespace cairn {

// The value below which `share` (0 to 1) of the values lie, on a straight line between the two
// nearest of them; 0 when there are none.
double Percentile(std::vector<double> values, double share);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_PERCENTILE_H_
