// docs/flags.md and docs/lab_flags.md: every command with its flags, made from the flags that the
// program takes.

#ifndef CAIRN_CMD_FLAGS_PAGE_H_
#define CAIRN_CMD_FLAGS_PAGE_H_

#include <string>

namespace CLI {
class App;
}

namespace cairn {

// Markdown: `heading` with what precedes the commands, then a section a command with a table for
// each heading of its help.
std::string FlagsPage(const CLI::App& app, const std::string& heading);

}  // namespace cairn

#endif  // CAIRN_CMD_FLAGS_PAGE_H_
