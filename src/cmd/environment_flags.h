// llama-server's environment variables for flags: LLAMA_ARG_CTX_SIZE=4096 is --ctx-size 4096. They
// become arguments before the command line is parsed, which overrides them.

#ifndef CAIRN_CMD_ENVIRONMENT_FLAGS_H_
#define CAIRN_CMD_ENVIRONMENT_FLAGS_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/llama_flags/environment.h"
#include "cmd/llama_flags/llama_flag_table.h"

namespace cairn {

struct EnvironmentArguments {
  std::vector<std::string> arguments;  // to be parsed after those of the command line
  FlagNotes notes;
};

// `arguments` are those of the command line with short flags expanded. Returns nothing unless the
// command is `serve`. An empty variable is ignored. A boolean flag takes 1, true, on, enabled, or
// 0, false, off, disabled; LLAMA_ARG_NO_X, whatever its value, switches the flag of LLAMA_ARG_X
// off. kInvalidArgument for an invalid value; the message names the variable.
Result<EnvironmentArguments> ReadEnvironmentFlags(const Environment& environment,
                                                  const std::vector<std::string>& arguments);

}  // namespace cairn

#endif  // CAIRN_CMD_ENVIRONMENT_FLAGS_H_
