// llama-server's environment variables for flags: LLAMA_ARG_CTX_SIZE=4096 is --ctx-size 4096. They
// become arguments before the command line is parsed, which overrides them.

#ifndef CAIRN_CMD_ENVIRONMENT_FLAGS_H_
#define CAIRN_CMD_ENVIRONMENT_FLAGS_H_

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/llama_flags/flag_notes.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cairn {

// Returns the variables of a process by name; of duplicates the first.
using Environment = std::map<std::string, std::string>;
Environment ProcessEnvironment();

// Sets the variable's name in the help of each flag of `serve` that has one.
void NameEnvironmentFlags(CLI::App* serve);

// Returns ", env: LLAMA_ARG_…", or an empty string if the option has no variable.
std::string EnvironmentNote(const CLI::Option& option);

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
