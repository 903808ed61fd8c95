// How `cairn-lab sim` prints its figures, of one server and of a fleet.

#ifndef CAIRN_LAB_CMD_SIM_FIGURES_H_
#define CAIRN_LAB_CMD_SIM_FIGURES_H_

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

inline constexpr double kPercent = 100;
// Played between two updates of the line that tells how far a run is.
inline constexpr size_t kRequestsPerProgress = 64;

// Returns one of the values: `share` (0 to 1) of them are not larger. 0 if there are none.
inline double NearestRank(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

inline void PrintFigure(std::string_view name, const std::string& value) {
  std::printf("%-22.*s %s\n", static_cast<int>(name.size()), name.data(), value.c_str());
}

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_SIM_FIGURES_H_
