// What bash, zsh and fish need to complete commands and flags. All three walk the words typed so
// far to the command they call, then offer its commands and flags; where none fits, and behind a
// flag that takes a value, files.

#ifndef CAIRN_CMD_COMPLETIONS_H_
#define CAIRN_CMD_COMPLETIONS_H_

#include <string>

namespace CLI {
class App;
}

namespace cairn {

std::string BashCompletion(const CLI::App& app);
std::string ZshCompletion(const CLI::App& app);
std::string FishCompletion(const CLI::App& app);

}  // namespace cairn

#endif  // CAIRN_CMD_COMPLETIONS_H_
