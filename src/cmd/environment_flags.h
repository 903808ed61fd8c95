// llama-server's environment variables for flags: LLAMA_ARG_CTX_SIZE=4096 is --ctx-size 4096. They
// become arguments before the command line is parsed, which wins over them.

#ifndef CAIRN_CMD_ENVIRONMENT_FLAGS_H_
#define CAIRN_CMD_ENVIRONMENT_FLAGS_H_

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cairn {

// The variables of a process by name. Of names given twice, the first.
using Environment = std::map<std::string, std::string>;
Environment ProcessEnvironment();

// Names the variable of each flag of `serve` that has one, for its help.
void NameEnvironmentFlags(CLI::App* serve);

// ", env: LLAMA_ARG_…", or nothing where the option has no variable.
std::string EnvironmentNote(const CLI::Option& option);

struct EnvironmentArguments {
  std::vector<std::string> arguments;  // to be parsed behind those of the command line
  std::vector<std::string> unknown;    // LLAMA_ARG_ names that no flag here has, sorted
};

// `arguments`: of the command line, short flags spelt out. Nothing unless their command is `serve`.
// An empty variable is as good as none. A flag that is on or off takes 1, true, on, enabled, or 0,
// false, off, disabled; LLAMA_ARG_NO_X, whatever its value, switches the flag of LLAMA_ARG_X off.
// kInvalidArgument: a value that the flag does not take; the message names the variable.
Result<EnvironmentArguments> ReadEnvironmentFlags(const Environment& environment,
                                                  const std::vector<std::string>& arguments);

}  // namespace cairn

#endif  // CAIRN_CMD_ENVIRONMENT_FLAGS_H_
