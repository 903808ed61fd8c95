// `cairn serve --models-dir … --models-preset …`: a router with one child process a model
// (docs/models.md).
//
//   main thread    waits for the signal to stop, then for answers and children to end
//   HTTP threads   choose the model, pass requests and answers on
//   child threads  one a child: its log, its end
//   signal thread  waits for SIGINT, SIGTERM and SIGHUP

#ifndef CAIRN_CMD_SERVE_MODELS_SERVE_MODELS_H_
#define CAIRN_CMD_SERVE_MODELS_SERVE_MODELS_H_

#include <vector>

#include "cmd/serve/base/serve_options.h"
#include "cmd/serve/models/model_presets.h"

namespace cairn {

// Serves until SIGINT or SIGTERM. `given` are the flags of the command line and the environment.
// Returns the program's exit code: 1 with one line on standard error if a flag or a preset is
// wrong or the port is in use.
int RunServeModels(const ServeOptions& options, const std::vector<GivenFlag>& given);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_MODELS_SERVE_MODELS_H_
