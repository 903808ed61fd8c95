// ReadLlamaFlags: turns the flags of llama-server on the command line of `cairn serve` into ours,
// before it is parsed. A flag takes its values along, whatever they look like, and no flag is read
// as another one: -cb is not -c with the value b.

#ifndef CAIRN_CMD_LLAMA_COMMAND_LINE_H_
#define CAIRN_CMD_LLAMA_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "base/result.h"
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

}  // namespace cairn

#endif  // CAIRN_CMD_LLAMA_COMMAND_LINE_H_
