// For tests: flags of `cairn serve` as its command line parses them.

#ifndef CAIRN_TESTING_CMD_PARSED_FLAGS_H_
#define CAIRN_TESTING_CMD_PARSED_FLAGS_H_

#include <string>

#include "cmd/serve/base/serve_options.h"

namespace cairn::test {

// Returns the options of `cairn serve` with the flags, which white space separates. Throws
// CLI::Error where the command line refuses one.
ServeOptions ParsedFlags(const std::string& flags);

}  // namespace cairn::test

#endif  // CAIRN_TESTING_CMD_PARSED_FLAGS_H_
