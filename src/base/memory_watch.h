// MemoryWatch: reports how much memory this process may use and how much of it is left, for the
// tightest of these limits:
//
//   the machine         /proc/meminfo
//   control groups      memory.max and memory.high of the process' own group and all its parents,
//   or
//                       memory.limit_in_bytes of cgroups v1; reclaimable file cache counts as left
//   ulimit -v, -d       RLIMIT_AS, RLIMIT_DATA; free memory that malloc holds counts as left
//
// Where allocations can fail at all (the last kind), some memory is held back. The first allocation
// that fails gets it, so that small allocations still succeed, and the next Look() reports the
// failure so that its caller can make room.

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
  // The tightest limit, in words.
  std::string_view why = "the machine's memory";
  // An allocation has failed since the last Look().
  bool refused = false;
};

class MemoryWatch {
 public:
  virtual ~MemoryWatch() = default;
  // Reads some files. Called by one thread.
  virtual MemoryRoom Look() = 0;
  // Returns freed memory to the system.
  virtual void GiveBack() {}
};

// The places where the system reports memory; tests name folders of their own.
struct MemorySources {
  std::string proc = "/proc";
  std::string cgroups = "/sys/fs/cgroup";
  // UINT64_MAX: no limit.
  uint64_t address_bytes_max = UINT64_MAX;
  uint64_t data_bytes_max = UINT64_MAX;
};
// Returns the sources with this process' limits.
MemorySources SystemMemorySources();

// Returns memory to the system that malloc keeps for later. Does nothing with an allocator that
// cannot. Takes up to tens of milliseconds, in which other threads may wait for theirs. Any thread.
void ReturnFreedMemory();
// Returns the bytes that malloc has handed out and that are not freed. Unlike the resident set it
// leaves out what the allocator keeps for later, so a leak shows in it soon. Any thread.
uint64_t HeapUsedBytes();
// Returns the bytes of files that are mapped and in memory, such as weights. Any thread.
uint64_t MappedFileBytes(const MemorySources& sources);

// A process may have at most one watch with `keep_back_bytes` above 0.
std::unique_ptr<MemoryWatch> MakeMemoryWatch(MemorySources sources, size_t keep_back_bytes = 0);

}  // namespace cairn

#endif  // CAIRN_BASE_MEMORY_WATCH_H_
