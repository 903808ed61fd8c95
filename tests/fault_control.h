// What a test and the server that it started share while the test makes the world go wrong: a page
// of memory behind a file. The test says in it what shall fail (tests/faulty_world.h), the library
// that is loaded before all others into the server does so (tests/fault_library.cc) and counts.

#ifndef CAIRN_TESTS_FAULT_CONTROL_H_
#define CAIRN_TESTS_FAULT_CONTROL_H_

#include <array>
#include <atomic>
#include <cstdint>

namespace cairn::test {

// Of a file or folder below the one named.
enum class FaultCall {
  kCreate,  // open() for writing
  kOpen,    // open() for reading
  kWrite,
  kRead,
  kSync,
  kRename,
  kRemove,
  kList,
  kSpace,  // statvfs(); it does not fail, but says that nothing is left
};
inline constexpr int kFaultCalls = 9;

// The variable that names the file.
inline constexpr const char* kFaultControlVariable = "CAIRN_FAULT_CONTROL";

struct FaultControl {
  struct Call {
    std::atomic<int32_t> error;    // errno; 0: it works
    std::atomic<int32_t> hangs;    // 1: it does not return before this is 0
    std::atomic<int64_t> good;     // so many more work before the first fails
    std::atomic<uint64_t> failed;  // counts
    std::atomic<uint64_t> held;    // ... those that have ever hung
  };
  std::array<Call, kFaultCalls> calls;
  std::atomic<int64_t> clock_s;  // added to the wall clock
  std::array<char, 1024> folder;
};
static_assert(std::atomic<int64_t>::is_always_lock_free, "two processes share them");

}  // namespace cairn::test

#endif  // CAIRN_TESTS_FAULT_CONTROL_H_
