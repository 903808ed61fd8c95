// How much memory this machine has, for a cache that takes its share.

#ifndef CAIRN_CMD_MACHINE_MEMORY_H_
#define CAIRN_CMD_MACHINE_MEMORY_H_

#include <cstddef>
#include <string>

namespace cairn {

// Bytes of physical memory, or of what the control group that the process runs in may use of it
// (containers), whichever is less. `cgroup_root` is where control groups are mounted.
size_t MachineMemoryBytes(const std::string& cgroup_root = "/sys/fs/cgroup");

}  // namespace cairn

#endif  // CAIRN_CMD_MACHINE_MEMORY_H_
