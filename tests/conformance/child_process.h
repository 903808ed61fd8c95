// RunChild: one program run to its end, or to the end of its time. What it does wrong, an abort
// included, stays its own.

#ifndef CAIRN_TESTS_CONFORMANCE_CHILD_PROCESS_H_
#define CAIRN_TESTS_CONFORMANCE_CHILD_PROCESS_H_

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace cairn::conformance {

struct ChildOptions {
  std::vector<std::string> argv;  // argv[0] is a path, or is looked up in PATH
  std::string folder;             // where it runs; empty: here
  std::string log_path;           // its standard error; empty: /dev/null
  int timeout_ms = 60'000;        // then it is killed
};

struct ChildResult {
  std::string output;            // its standard output
  std::optional<int> exit_code;  // none: a signal or the timeout ended it
  bool timed_out = false;
};

// kUnavailable: the program could not be started.
Result<ChildResult> RunChild(const ChildOptions& options);

}  // namespace cairn::conformance

#endif  // CAIRN_TESTS_CONFORMANCE_CHILD_PROCESS_H_
