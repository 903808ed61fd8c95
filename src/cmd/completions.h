// Shell completions for bash, zsh and fish. All three follow the typed words to the command, then
// offer its subcommands and flags, or files after a flag that takes a value and where nothing else
// matches.

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
