// `cairn serve`: loads a model and serves it over HTTP until SIGINT or SIGTERM.
//
//   main thread    loads the model, then runs the scheduler; only this thread uses the context
//   HTTP threads   parse, render, tokenize, format
//   signal thread  waits for SIGINT, SIGTERM and SIGHUP

#ifndef CAIRN_CMD_SERVE_SERVE_H_
#define CAIRN_CMD_SERVE_SERVE_H_

#include "cmd/serve/base/serve_options.h"

namespace CLI {
class App;
}

namespace cairn {

// Adds the subcommand `serve` to `app`; parsing fills `options`, which must outlive it.
CLI::App* AddServe(CLI::App* app, ServeOptions* options);

// Serves until SIGINT or SIGTERM. Returns the program's exit code: 1 with one line on standard
// error if the model cannot be loaded or the port is in use.
int RunServe(const ServeOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_SERVE_H_
