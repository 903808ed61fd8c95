// Expands llama-server's short flags of several letters (-ngl 99), which the command-line library
// would parse as -n -g -l.

#ifndef CAIRN_CMD_SHORT_FLAGS_H_
#define CAIRN_CMD_SHORT_FLAGS_H_

#include <string>
#include <vector>

namespace cairn {

// Returns `arguments` with every short flag of several letters replaced by its long form.
std::vector<std::string> SpellOutShortFlags(std::vector<std::string> arguments);

}  // namespace cairn

#endif  // CAIRN_CMD_SHORT_FLAGS_H_
