// `cairn manual FOLDER`, a hidden command: generates man pages and shell completions from the
// program's own flags, so that they cannot go stale. Packages call it.

#ifndef CAIRN_CMD_MANUAL_H_
#define CAIRN_CMD_MANUAL_H_

#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cairn {

struct ManualOptions {
  std::string folder;
  std::string date;  // printed in the man pages as given; omitted if empty
};

CLI::App* AddManual(CLI::App* app, ManualOptions* options);
// Writes FOLDER/man/*.1, FOLDER/flags.md, FOLDER/from_llama_server.md and
// FOLDER/completions/{cairn.bash,_cairn,cairn.fish}.
// Returns 1 with a message on standard error if that fails.
int RunManual(const CLI::App& app, const ManualOptions& options);

// A command with the words that call it.
struct ManualCommand {
  std::string way;  // "cairn model make"
  const CLI::App* app = nullptr;
};
// Returns all commands of the program, itself first, without hidden ones.
std::vector<ManualCommand> ManualCommands(const CLI::App& app);
// Returns the direct subcommands without hidden ones.
std::vector<const CLI::App*> ShownSubcommands(const CLI::App& app);
// Returns the options in the order of the help.
std::vector<const CLI::Option*> ShownOptions(const CLI::App& app);
// The same, grouped by their headings in the help.
struct OptionsUnder {
  std::string heading;
  std::vector<const CLI::Option*> options;
};
std::vector<OptionsUnder> OptionsByHeading(const CLI::App& app);
// Returns the flag's names, such as "-m" and "--model"; none for a positional argument.
std::vector<std::string> FlagsOf(const CLI::Option& option);

// Returns the man pages by file name.
std::map<std::string, std::string> ManPages(const CLI::App& app, const std::string& date);

// Shell completions for bash, zsh and fish. All three follow the typed words to the command, then
// offer its subcommands and flags, or files after a flag that takes a value and where nothing else
// matches.

std::string BashCompletion(const CLI::App& app);
std::string ZshCompletion(const CLI::App& app);
std::string FishCompletion(const CLI::App& app);

}  // namespace cairn

#endif  // CAIRN_CMD_MANUAL_H_
