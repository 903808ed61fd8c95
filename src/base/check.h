// CHECK: what must hold or the program has a bug. Never for anything a client, a file or a library
// outside can cause; those are Results (base/result.h). Active in every build.

#ifndef CAIRN_BASE_CHECK_H_
#define CAIRN_BASE_CHECK_H_

namespace cairn {

// Prints the place and the condition to standard error and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace cairn

#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) ::cairn::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)

#endif  // CAIRN_BASE_CHECK_H_
