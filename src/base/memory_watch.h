// MemoryWatch: how much memory this process may use, and how much of that is left, of whatever is
// tightest:
//
//   the machine         /proc/meminfo
//   control groups      memory.max and memory.high of the process' own group and all above it, or
//                       memory.limit_in_bytes of the older kind; what the system could drop of its
//                       cache of files counts as left
//   ulimit -v, -d       RLIMIT_AS, RLIMIT_DATA; what malloc holds and nobody uses counts as left
//
// Where allocations can fail at all (the last kind), some memory is kept back: the first that fails
// gets it, so that small things go on, and whoever looks next hears that one failed and can make
// room.

#ifndef CAIRN_BASE_MEMORY_WATCH_H_
#define CAIRN_BASE_MEMORY_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cairn {

struct MemoryRoom {
  uint64_t limit_bytes = UINT64_MAX;
  uint64_t left_bytes = UINT64_MAX;
  // What sets the limit that is nearest, in words.
  std::string_view why = "the machine's memory";
  // An allocation failed since the last look.
  bool refused = false;
};

class MemoryWatch {
 public:
  virtual ~MemoryWatch() = default;
  // Some files are read. Called by one thread.
  virtual MemoryRoom Look() = 0;
  // Gives back to the system what was freed.
  virtual void GiveBack() {}
};

// Where the system tells it; tests name folders of their own.
struct MemorySources {
  std::string proc = "/proc";
  std::string cgroups = "/sys/fs/cgroup";
  // UINT64_MAX: there is none.
  uint64_t address_bytes_max = UINT64_MAX;
  uint64_t data_bytes_max = UINT64_MAX;
};
// With the limits that this process has.
MemorySources SystemMemorySources();

// `keep_back_bytes` above 0: for one watch of the process at most.
std::unique_ptr<MemoryWatch> MakeMemoryWatch(MemorySources sources, size_t keep_back_bytes = 0);

}  // namespace cairn

#endif  // CAIRN_BASE_MEMORY_WATCH_H_
