// The flags of `cairn serve` for several models behind one port, with llama-server's names.

#ifndef CAIRN_CMD_SERVE_BASE_MODELS_FLAGS_H_
#define CAIRN_CMD_SERVE_BASE_MODELS_FLAGS_H_

#include <string>
#include <vector>

#include "cmd/serve/base/serve_options.h"

namespace CLI {
class App;
}

namespace cairn {

void AddModelsFlags(CLI::App* serve, ModelsOptions* options);

// RoutedChild: what a `cairn serve` that a router has started knows of its router, from variables
// of its environment.

// Returns the variables for the child with this number, as "NAME=value".
std::vector<std::string> RoutedChildVariables(size_t number);

// If this process is a router's child: asks Linux for a SIGTERM when the router ends, so that a
// killed router leaves no process behind, and ends at once if it has ended already. Returns the
// child's number with a dot, "3.", with which its answers' ids begin, so that those of several
// children differ; empty if this process is no child.
std::string BeginRoutedChild();

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_BASE_MODELS_FLAGS_H_
