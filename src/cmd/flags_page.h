// Generates docs/flags.md and docs/lab_flags.md: all commands with their flags, from the program's
// own definitions.

#ifndef CAIRN_CMD_FLAGS_PAGE_H_
#define CAIRN_CMD_FLAGS_PAGE_H_

#include <string>

#include "cmd/llama_flags/llama_flag_table.h"

namespace CLI {
class App;
}

namespace cairn {

// Returns Markdown: `heading`, the text before the commands, then a section per command with a
// table for each heading of its help.
std::string FlagsPage(const CLI::App& app, const std::string& heading);

// Generates docs/from_llama_server.md: what becomes of llama-server's flags, by the table of them.

std::string LlamaFlagsPage(const LlamaFlagTable& table);

}  // namespace cairn

#endif  // CAIRN_CMD_FLAGS_PAGE_H_
