// Replaces llama-server's other spellings of our flags: its short ones of several letters (-ngl
// 99), which the command-line library would parse as -n -g -l, and its other long names. For
// commands other than `serve`, whose line cmd/llama_command_line.h reads.

#ifndef CAIRN_CMD_LLAMA_FLAGS_SHORT_FLAGS_H_
#define CAIRN_CMD_LLAMA_FLAGS_SHORT_FLAGS_H_

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// The subcommand of the server.
inline constexpr std::string_view kServeCommand = "serve";

// Whether a word of a command line is a flag: "-c", "--ctx-size"; not "-" or "-1".
bool IsFlagWord(std::string_view word);

// Returns `arguments` with every such spelling replaced by the name here. What has no flag here, or
// is translated, stays.
std::vector<std::string> SpellOutShortFlags(std::vector<std::string> arguments);

}  // namespace cairn

#endif  // CAIRN_CMD_LLAMA_FLAGS_SHORT_FLAGS_H_
