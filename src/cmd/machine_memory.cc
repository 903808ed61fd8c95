#include "cmd/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

namespace cairn {
namespace {

size_t PhysicalBytes() {
  const auto pages = sysconf(_SC_PHYS_PAGES);
  const auto page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return SIZE_MAX;
  return static_cast<size_t>(pages) * static_cast<size_t>(page_bytes);
}

// The number in a file; what is no number ("max") is no limit.
size_t LimitIn(const std::string& path) {
  std::ifstream file(path);
  size_t bytes = 0;
  return file >> bytes && bytes > 0 ? bytes : SIZE_MAX;
}

}  // namespace

size_t MachineMemoryBytes(const std::string& cgroup_root) {
  return std::min({PhysicalBytes(), LimitIn(cgroup_root + "/memory.max"),
                   LimitIn(cgroup_root + "/memory/memory.limit_in_bytes")});
}

}  // namespace cairn
