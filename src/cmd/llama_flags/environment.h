// The process's environment, and the variables that llama-server's flags have in it.

#ifndef CAIRN_CMD_LLAMA_FLAGS_ENVIRONMENT_H_
#define CAIRN_CMD_LLAMA_FLAGS_ENVIRONMENT_H_

#include <map>
#include <string>
#include <string_view>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cairn {

// Begins the names of the variables that are flags.
inline constexpr std::string_view kFlagVariablePrefix = "LLAMA_ARG_";

// Returns the variables of a process by name; of duplicates the first.
using Environment = std::map<std::string, std::string>;
Environment ProcessEnvironment();

// Sets the variable's name in the help of each flag of `serve` that has one.
void NameEnvironmentFlags(CLI::App* serve);

// Returns ", env: LLAMA_ARG_…", or an empty string if the option has no variable.
std::string EnvironmentNote(const CLI::Option& option);

}  // namespace cairn

#endif  // CAIRN_CMD_LLAMA_FLAGS_ENVIRONMENT_H_
