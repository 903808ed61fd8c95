// RunDecodeChild: the child process of a ChildMediaDecoder (media/child/child_media_decoder.h). It
// reads one request and its file, confines itself, decodes, writes the reply and ends.

#ifndef CAIRN_MEDIA_DECODE_DECODE_CHILD_H_
#define CAIRN_MEDIA_DECODE_DECODE_CHILD_H_

#include <cstdint>
#include <string_view>

namespace cairn {

// ConfineProcess: takes from the calling process all that decoding a file in memory does not need,
// so that a fault of a decoder hurts nothing else: memory and processor time beyond limits, new
// descriptors, files, other programs, the network.
struct Confinement {
  uint64_t memory_bytes = 0;  // address space beside that in use now
  uint32_t cpu_seconds = 0;
};

// For a process of one thread. Afterwards it can read and write its open descriptors, allocate, and
// exit; any other system call ends it. Returns false if a limit cannot be set. A kernel that cannot
// filter system calls leaves out that part alone. Programs with sanitizers, which need far more
// address space and system calls, get neither the memory's limit nor the filter.
bool ConfineProcess(const Confinement& confinement);

// The hidden subcommand of `cairn` that runs it.
constexpr std::string_view kDecodeMediaCommand = "decode-media";

// Uses standard input and output. Ends the process, at once: libraries clean up with system calls
// that a confined process may not make. The exit code is 0 if a reply was written.
[[noreturn]] void RunDecodeChild();

}  // namespace cairn

#endif  // CAIRN_MEDIA_DECODE_DECODE_CHILD_H_
