// ProcessSample: the memory and other resources of a process by /proc, and whether they grow.

#ifndef CAIRN_TESTS_SOAK_PROCESS_SAMPLE_H_
#define CAIRN_TESTS_SOAK_PROCESS_SAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cairn::soak {

struct ProcessSample {
  uint64_t rss_bytes = 0;
  uint64_t own_bytes = 0;  // of these, not backed by a file: heap and stacks
  size_t threads = 0;
  size_t descriptors = 0;
};

// Returns nullopt if there is no such process.
std::optional<ProcessSample> SampleProcess(int pid);

// Returns the growth from the middle of a series to its end: the median of its last quarter minus
// that of its second one, at least 0. The first quarter is the time to reach a level. A series that
// swings about a level has no growth; one that leaks has half of its leak. Returns 0 for fewer than
// kSamplesMin samples.
inline constexpr size_t kSamplesMin = 16;
uint64_t GrowthBytes(const std::vector<uint64_t>& series);

// Returns the most that such a series may grow: a share of its level, and at least what an
// allocator for several threads may take and return.
inline constexpr double kGrowthShare = 0.05;
inline constexpr uint64_t kGrowthBytes = uint64_t{6} << 20;
uint64_t GrowthAllowed(const std::vector<uint64_t>& series);

// Compares the end of a life with its beginning, both without clients. Returns what grew too much;
// empty: nothing.
std::string CompareHeld(const ProcessSample& begin, const ProcessSample& end);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_PROCESS_SAMPLE_H_
