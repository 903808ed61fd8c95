// Expands llama-server's short flags of several letters (-ngl 99), which the command-line library
// would parse as -n -g -l, and its other names of our flags.

#ifndef CAIRN_CMD_SHORT_FLAGS_H_
#define CAIRN_CMD_SHORT_FLAGS_H_

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Returns `arguments` with every short flag of several letters replaced by its long form.
std::vector<std::string> SpellOutShortFlags(std::vector<std::string> arguments);

// Returns the long names of llama-server that have another long form here, such as --n-gpu-layers.
std::vector<std::string> LongFormsOfOthers();

// Returns whether `name`, without dashes, is a flag of llama-server for what is always so here,
// such as jinja.
bool IsAlwaysSo(std::string_view name);

}  // namespace cairn

#endif  // CAIRN_CMD_SHORT_FLAGS_H_
