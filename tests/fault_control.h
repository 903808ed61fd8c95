// FaultControl: a page of memory behind a file, shared by a test and the server that it started.
// The test sets the faults in it (tests/faulty_world.h); the library preloaded into the server
// injects and counts them (tests/fault_library.cc).

#ifndef CAIRN_TESTS_FAULT_CONTROL_H_
#define CAIRN_TESTS_FAULT_CONTROL_H_

#include <array>
#include <atomic>
#include <cstdint>

namespace cairn::test {

// System calls on files and folders below the configured folder.
enum class FaultCall {
  kCreate,  // open() for writing
  kOpen,    // open() for reading
  kWrite,
  kRead,
  kSync,
  kRename,
  kRemove,
  kList,
  kSpace,  // statvfs(); it does not fail, but reports no space
};
inline constexpr int kFaultCalls = 9;

// The environment variable with the path of that file.
inline constexpr const char* kFaultControlVariable = "CAIRN_FAULT_CONTROL";
// Where there is no such file: the MiB per second at which every pread() reads
// (scripts/bench/resume.py).
inline constexpr const char* kFaultReadVariable = "CAIRN_FAULT_READ_MIB_S";

struct FaultControl {
  struct Call {
    std::atomic<int32_t> error;    // errno; 0: the call works
    std::atomic<int32_t> hangs;    // 1: the call does not return before this is 0
    std::atomic<int64_t> good;     // the number of calls that work before the first fails
    std::atomic<uint64_t> failed;  // failed calls
    std::atomic<uint64_t> held;    // calls that have ever hung
  };
  std::array<Call, kFaultCalls> calls;
  std::atomic<int64_t> read_bytes_per_s;  // all reads together; 0: as fast as the system is
  std::atomic<int64_t> clock_s;           // added to the wall clock
  std::array<char, 1024> folder;
};
static_assert(std::atomic<int64_t>::is_always_lock_free, "two processes share them");

}  // namespace cairn::test

#endif  // CAIRN_TESTS_FAULT_CONTROL_H_
