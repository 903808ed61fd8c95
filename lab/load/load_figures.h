// The figures of a load benchmark: which there are, what they are called, and which way is better.

#ifndef CAIRN_LAB_LOAD_LOAD_FIGURES_H_
#define CAIRN_LAB_LOAD_LOAD_FIGURES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lab/load/load_result.h"

namespace cairn {

struct LoadFigureInfo {
  enum class Unit : uint8_t { kMs, kPerSecond, kCount, kRatio, kMib };
  enum class Better : uint8_t { kLess, kMore, kNeither };
  std::string_view workload;
  std::string_view key;
  std::string_view title;  // for people
  Unit unit = Unit::kCount;
  Better better = Better::kNeither;
};

struct LoadWorkloadInfo {
  std::string_view name;
  std::string_view title;
  std::string_view what;  // a sentence or three of Markdown
};

// All workloads in the order played, and all figures in the order shown. Constant.
const std::array<LoadWorkloadInfo, 5>& LoadWorkloads();
std::span<const LoadFigureInfo> LoadFigures();

// The median of a figure over the runs of a workload that did not end early; nothing when none of
// them has it.
std::optional<double> LoadMedian(const LoadServer& server, std::string_view workload,
                                 std::string_view key);

// Results of several runs brought together: one server for each name, with all its runs, counted
// anew. Scale and seed are those of the first.
LoadResult MergeLoadResults(const std::vector<LoadResult>& results);

}  // namespace cairn

#endif  // CAIRN_LAB_LOAD_LOAD_FIGURES_H_
