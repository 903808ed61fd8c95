// PrintError: tells on standard error why a command of cairn-lab failed.

#ifndef CAIRN_LAB_CMD_PRINT_ERROR_H_
#define CAIRN_LAB_CMD_PRINT_ERROR_H_

#include <cstdio>
#include <string>

namespace cairn {

// `command` is what follows "cairn-lab" on the command line. Returns the program's exit code.
inline int PrintError(const char* command, const std::string& message) {
  std::fprintf(stderr, "cairn-lab %s: %s\n", command, message.c_str());
  return 1;
}

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_PRINT_ERROR_H_
