// docs/flags.md: every command with its flags, made from the flags the program takes.

#ifndef CAIRN_CMD_FLAGS_PAGE_H_
#define CAIRN_CMD_FLAGS_PAGE_H_

#include <string>

namespace CLI {
class App;
}

namespace cairn {

// Markdown: a section a command, in it a table for each heading of its help.
std::string FlagsPage(const CLI::App& app);

}  // namespace cairn

#endif  // CAIRN_CMD_FLAGS_PAGE_H_
