// RunChild: runs a program until it ends or times out. Its failures, aborts included, cannot affect
// this process.

#ifndef CAIRN_TESTS_CONFORMANCE_CHILD_PROCESS_H_
#define CAIRN_TESTS_CONFORMANCE_CHILD_PROCESS_H_

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace cairn::conformance {

struct ChildOptions {
  std::vector<std::string> argv;  // argv[0] is a path, or is looked up in PATH
  std::string folder;             // its working directory; empty: this one
  std::string log_path;           // its standard error; empty: /dev/null
  int timeout_ms = 60'000;        // then the program is killed
};

struct ChildResult {
  std::string output;            // its standard output
  std::optional<int> exit_code;  // nullopt: a signal or the timeout ended it
  bool timed_out = false;
};

// kUnavailable: the program could not be started.
Result<ChildResult> RunChild(const ChildOptions& options);

}  // namespace cairn::conformance

#endif  // CAIRN_TESTS_CONFORMANCE_CHILD_PROCESS_H_
