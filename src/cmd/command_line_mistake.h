// CommandLineMistake: explains a command line that could not be parsed, and says what was probably
// meant: a mistyped command or flag, a flag before its command, a model without -m.

#ifndef CAIRN_CMD_COMMAND_LINE_MISTAKE_H_
#define CAIRN_CMD_COMMAND_LINE_MISTAKE_H_

#include <string>
#include <vector>

namespace CLI {
class App;
class Error;
}  // namespace CLI

namespace cairn {

// Returns one line for people, which begins with the command that was reached: "cairn serve: …".
// `app` has just failed to parse `arguments`, which are given as typed; `error` is its complaint,
// returned where nothing better is known. What may be a key is not in the line.
std::string CommandLineMistake(const CLI::App& app, const std::vector<std::string>& arguments,
                               const CLI::Error& error);

}  // namespace cairn

#endif  // CAIRN_CMD_COMMAND_LINE_MISTAKE_H_
