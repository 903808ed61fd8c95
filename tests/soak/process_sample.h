// What a process holds, as /proc tells, and whether it grows.

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
  uint64_t own_bytes = 0;  // of these, what is in no file: heap and stacks
  size_t threads = 0;
  size_t descriptors = 0;
};

// Nothing: there is no such process.
std::optional<ProcessSample> SampleProcess(int pid);

// How much more there was at the end of a series than in the middle: the median of its last quarter
// over that of its second one, at least 0. The first quarter is how long it may take to become what
// it is. A series that swings about a level has no growth; one that leaks has half of what leaked.
// Fewer than kSamplesMin say nothing: 0.
inline constexpr size_t kSamplesMin = 16;
uint64_t GrowthBytes(const std::vector<uint64_t>& series);

// The most that a series like this may grow: a share of its level, and no less than what an
// allocator that serves several threads gives and takes back.
inline constexpr double kGrowthShare = 0.05;
inline constexpr uint64_t kGrowthBytes = uint64_t{6} << 20;
uint64_t GrowthAllowed(const std::vector<uint64_t>& series);

// What is wrong with the end of a life, where nobody asks any more, beside its beginning, when the
// same was so; empty: nothing.
std::string CompareHeld(const ProcessSample& begin, const ProcessSample& end);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_PROCESS_SAMPLE_H_
