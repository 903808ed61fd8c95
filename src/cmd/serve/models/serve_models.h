// `cairn serve --models-dir … --models-preset …`: a router with one child process a model
// (docs/models.md).
//
//   main thread    waits for the signal to stop, then for answers and children to end
//   HTTP threads   choose the model, pass requests and answers on
//   child threads  one a child: its log, its end
//   signal thread  waits for SIGINT, SIGTERM and SIGHUP

#ifndef CAIRN_CMD_SERVE_MODELS_SERVE_MODELS_H_
#define CAIRN_CMD_SERVE_MODELS_SERVE_MODELS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/llama_flags/environment.h"
#include "cmd/serve/base/serve_options.h"
#include "cmd/serve/base/server_log.h"
#include "cmd/serve/models/model_presets.h"
#include "fleet/router/children/child_process.h"
#include "fleet/router/presets/models_folder.h"

namespace cairn {

// ChildCommands: the command lines and environments of a router's children.

// Returns the command of the child with this number: the model's arguments on a free port of
// loopback, with the router's keys, and with `cache_ram_mib` unless the model has its own. Keys go
// into the environment, where other users of the machine do not see them; llama-server's variables
// do not, because they have become arguments.
ChildCommand CommandOf(const ModelEntry& model, size_t number, int64_t cache_ram_mib,
                       const ServeOptions& options, const Environment& environment);

// Returns a line of a child's log with the model's name: "[qwen] …", or in a JSON line as a field.
std::string PrefixedLine(LogFormat format, const std::string& model, std::string_view line);

// Serves until SIGINT or SIGTERM. `given` are the flags of the command line and the environment.
// Returns the program's exit code: 1 with one line on standard error if a flag or a preset is
// wrong or the port is in use.
int RunServeModels(const ServeOptions& options, const std::vector<GivenFlag>& given);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_MODELS_SERVE_MODELS_H_
