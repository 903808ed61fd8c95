// CHECK: a condition that can only be false if the program has a bug. Never for anything that a
// client, a file or an external library can cause; those are Results (base/result.h). Active in
// every build.

#ifndef CAIRN_BASE_CHECK_H_
#define CAIRN_BASE_CHECK_H_

namespace cairn {

// Prints the location and the condition to standard error and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace cairn

#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) ::cairn::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)

#endif  // CAIRN_BASE_CHECK_H_
