// From models to rows of the table of architectures: makes the models, and runs every check on each
// in a process of its own. An abort or an endless loop of a check becomes the text of one cell.
//

#ifndef CAIRN_TESTS_CONFORMANCE_CONFORMANCE_RUN_H_
#define CAIRN_TESTS_CONFORMANCE_CONFORMANCE_RUN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/architecture_table.h"

namespace cairn::conformance {

struct RunOptions {
  std::string program;  // whose `--check` runs a check: `conformance`
  // A check that takes longer is repeated once with the second limit.
  int timeout_ms = 60'000;
  int retry_timeout_ms = 300'000;
  // False: the grid is taken to be 64, and a row takes only a few seconds.
  bool find_grid = true;
  std::string log_folder;  // the checks' standard error; empty: not kept
};

// Returns false if `test-llama-archs` (Debian's package llama.cpp-tests has it) was not there when
// the build was configured.
bool CanMakeModels();

// Makes a small model with random weights in `folder` for every architecture whose full name
// matches the regular expression `architectures` (empty: all). Returns their paths, sorted.
Result<std::vector<std::string>> MakeModels(const std::string& architectures,
                                            const std::string& folder);

// Returns the text of one cell, or of two with a tab between. For the parameters see checks.h.
std::string RunCheck(const std::string& check, const std::string& model_path, size_t grid_tokens,
                     const RunOptions& options);

// Returns the row of a model named ARCHITECTURE-VARIANT.gguf. Takes from a moment to minutes.
ArchitectureRow CheckModel(const std::string& model_path, const RunOptions& options);

// Returns the versions of the libraries behind the checks.
std::string MadeWith();

}  // namespace cairn::conformance

#endif  // CAIRN_TESTS_CONFORMANCE_CONFORMANCE_RUN_H_
