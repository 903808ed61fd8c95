// ReadLlamaFlags: turns the flags of llama-server on the command line of `cairn serve` into ours,
// before it is parsed. A flag takes its values along, whatever they look like, and no flag is read
// as another one: -cb is not -c with the value b.

#ifndef CAIRN_CMD_LLAMA_COMMAND_LINE_H_
#define CAIRN_CMD_LLAMA_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/llama_flags/environment.h"
#include "cmd/llama_flags/llama_flag_table.h"

namespace CLI {
class App;
}

namespace cairn {

struct LlamaLine {
  std::vector<std::string> arguments;
  // The line asks for this instead of serving; see LlamaMeaning.
  std::string instead;
  FlagNotes notes;
};

// `serve` is the command with all its flags; `arguments` are those of the program; those of
// other commands are only spelled out (cmd/llama_flags/llama_flag_table.h). kInvalidArgument: a
// value is missing or wrong, a flag is refused, or two contradict one another; the message names
// them.
Result<LlamaLine> ReadLlamaFlags(const CLI::App& serve, const std::vector<std::string>& arguments);

// llama-server's environment variables for flags: LLAMA_ARG_CTX_SIZE=4096 is --ctx-size 4096. They
// become arguments before the command line is parsed, which overrides them.
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

#endif  // CAIRN_CMD_LLAMA_COMMAND_LINE_H_
