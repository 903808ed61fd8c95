// From models to rows of the table of architectures: makes the models, and runs every check on each
// in a process of its own. What a check does to its process, an abort or an endless loop, becomes
// the text of one cell.

#ifndef CAIRN_TESTS_CONFORMANCE_CONFORMANCE_RUN_H_
#define CAIRN_TESTS_CONFORMANCE_CONFORMANCE_RUN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/architecture_table.h"

namespace cairn::conformance {

struct RunOptions {
  std::string program;  // the one whose `--check` runs a check: `conformance`
  // A check that takes longer is tried once more with the second limit.
  int timeout_ms = 60'000;
  int retry_timeout_ms = 300'000;
  // false: 64 is taken for the grid, and a row is found in a few seconds.
  bool find_grid = true;
  std::string log_folder;  // the checks' standard error; empty: not kept
};

// False where Debian's package llama.cpp-tests, or whatever else brings `test-llama-archs`, was not
// there when the build was configured.
bool CanMakeModels();

// Makes a small model with random weights of every architecture whose name the regular expression
// `architectures` matches whole (empty: all), in `folder`. Returns their paths, sorted.
Result<std::vector<std::string>> MakeModels(const std::string& architectures,
                                            const std::string& folder);

// The text of one cell, or of two with a tab between; `check` and `grid_tokens`: see checks.h.
std::string RunCheck(const std::string& check, const std::string& model_path, size_t grid_tokens,
                     const RunOptions& options);

// The row of a model named ARCHITECTURE-VARIANT.gguf. Takes from a moment to minutes.
ArchitectureRow CheckModel(const std::string& model_path, const RunOptions& options);

// The versions of the libraries behind the checks.
std::string MadeWith();

}  // namespace cairn::conformance

#endif  // CAIRN_TESTS_CONFORMANCE_CONFORMANCE_RUN_H_
