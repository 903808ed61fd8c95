// Generates docs/from_llama_server.md: what becomes of llama-server's flags, by the table of them.

#ifndef CAIRN_CMD_LLAMA_FLAGS_LLAMA_FLAGS_PAGE_H_
#define CAIRN_CMD_LLAMA_FLAGS_LLAMA_FLAGS_PAGE_H_

#include <string>

#include "cmd/llama_flags/llama_flag_table.h"

namespace cairn {

std::string LlamaFlagsPage(const LlamaFlagTable& table);

}  // namespace cairn

#endif  // CAIRN_CMD_LLAMA_FLAGS_LLAMA_FLAGS_PAGE_H_
