// llama-server's short flags have several letters after one dash (-ngl 99), which our command-line
// library would read as -n -g -l. They are spelt out before it sees them.

#ifndef CAIRN_CMD_SHORT_FLAGS_H_
#define CAIRN_CMD_SHORT_FLAGS_H_

#include <string>
#include <vector>

namespace cairn {

// `arguments` with every short flag of several letters replaced by its long form.
std::vector<std::string> SpellOutShortFlags(std::vector<std::string> arguments);

}  // namespace cairn

#endif  // CAIRN_CMD_SHORT_FLAGS_H_
