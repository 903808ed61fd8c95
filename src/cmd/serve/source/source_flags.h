// The flags of `cairn serve` that name the model, and the downloads that they ask for.

#ifndef CAIRN_CMD_SERVE_SOURCE_SOURCE_FLAGS_H_
#define CAIRN_CMD_SERVE_SOURCE_SOURCE_FLAGS_H_

#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "cmd/serve/base/serve_options.h"

namespace CLI {
class App;
}

namespace cairn {

// The group of the flags that say which model is loaded, and where to.
inline constexpr const char* kModelGroup = "Model";

// Adds them in the group Model. `options` outlives `serve`.
void AddSourceFlags(CLI::App* serve, ServeOptions* options);

// Returns whether a flag names a model to serve.
bool NamesModel(const ServeOptions& options);

// kInvalidArgument unless the flags name one model.
Status CheckSourceFlags(const ServeOptions& options);

// Returns the names of a list with commas between them, without the space around them.
std::vector<std::string> NamesIn(const std::string& list);

// Returns the name of the model for clients: the first of --alias, or the repository with its
// quantization, or the file's name.
std::string ModelNameOf(const ServeOptions& options);

// Downloads what the flags name and is not here, and sets the paths of the model, the projector and
// the draft model in `options`. Blocks as long as that takes; does nothing for files of this
// machine. `shows_progress`: on standard error. Errors are those of ModelDownload.
Status FetchModels(ServeOptions* options, const LogSink& log, bool shows_progress);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_SOURCE_SOURCE_FLAGS_H_
