// ChildCommands: the command lines and environments of a router's children.

#ifndef CAIRN_CMD_SERVE_MODELS_CHILD_COMMAND_H_
#define CAIRN_CMD_SERVE_MODELS_CHILD_COMMAND_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/llama_flags/environment.h"
#include "cmd/serve/base/serve_options.h"
#include "cmd/serve/base/server_log.h"
#include "fleet/router/children/child_process.h"
#include "fleet/router/presets/model_entry.h"

namespace cairn {

// Returns the command of the child with this number: the model's arguments on a free port of
// loopback, with the router's keys, and with `cache_ram_mib` unless the model has its own. Keys go
// into the environment, where other users of the machine do not see them; llama-server's variables
// do not, because they have become arguments.
ChildCommand CommandOf(const ModelEntry& model, size_t number, int64_t cache_ram_mib,
                       const ServeOptions& options, const Environment& environment);

// Returns a line of a child's log with the model's name: "[qwen] …", or in a JSON line as a field.
std::string PrefixedLine(LogFormat format, const std::string& model, std::string_view line);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_MODELS_CHILD_COMMAND_H_
