// ConfineProcess: takes from the calling process all that decoding a file in memory does not need,
// so that a fault of a decoder hurts nothing else: memory and processor time beyond limits, new
// descriptors, files, other programs, the network.

#ifndef CAIRN_MEDIA_DECODE_CONFINE_PROCESS_H_
#define CAIRN_MEDIA_DECODE_CONFINE_PROCESS_H_

#include <cstdint>

namespace cairn {

struct Confinement {
  uint64_t memory_bytes = 0;  // address space beside that in use now
  uint32_t cpu_seconds = 0;
};

// For a process of one thread. Afterwards it can read and write its open descriptors, allocate, and
// exit; any other system call ends it. Returns false if a limit cannot be set. A kernel that cannot
// filter system calls leaves out that part alone. Programs with sanitizers, which need far more
// address space and system calls, get neither the memory's limit nor the filter.
bool ConfineProcess(const Confinement& confinement);

}  // namespace cairn

#endif  // CAIRN_MEDIA_DECODE_CONFINE_PROCESS_H_
