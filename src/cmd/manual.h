// `cairn manual FOLDER`, which no help lists: writes the man pages and the shells' completions,
// made from the very flags that the program takes, so that they cannot go stale. Packages call it.

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
  std::string date;  // in the man pages, as it is; none where empty
};

CLI::App* AddManual(CLI::App* app, ManualOptions* options);
// Writes FOLDER/man/*.1, FOLDER/flags.md and FOLDER/completions/{cairn.bash,_cairn,cairn.fish}. 1
// with what went wrong on standard error.
int RunManual(const CLI::App& app, const ManualOptions& options);

// A command with all the words that call it.
struct ManualCommand {
  std::string way;  // "cairn model make"
  const CLI::App* app = nullptr;
};
// Of the whole program, itself first; hidden ones are left out.
std::vector<ManualCommand> ManualCommands(const CLI::App& app);
// Commands one word below; hidden ones are left out.
std::vector<const CLI::App*> ShownSubcommands(const CLI::App& app);
// In the order of the help.
std::vector<const CLI::Option*> ShownOptions(const CLI::App& app);
// The same by the headings they have in the help.
struct OptionsUnder {
  std::string heading;
  std::vector<const CLI::Option*> options;
};
std::vector<OptionsUnder> OptionsByHeading(const CLI::App& app);
// "-m", "--model"; none of one that is known by its place.
std::vector<std::string> FlagsOf(const CLI::Option& option);

// By file name.
std::map<std::string, std::string> ManPages(const CLI::App& app, const std::string& date);

}  // namespace cairn

#endif  // CAIRN_CMD_MANUAL_H_
