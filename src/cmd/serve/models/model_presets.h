// The models of a router, from --models-dir, --models-preset and the other flags.
//
//   DIR/qwen.gguf          the folder
//   [*]     ctx-size = …   the preset's section for all models
//   [qwen]  temp = …       the model's section; a section without a file of its name has `model`
//   cairn serve … -t 4     flags of the command line: they override the presets
//
// Keys are the names of flags without their dashes, long or short, or llama-server's environment
// variables. Five more are for the router: alias, tags, load-on-startup, stop-timeout, as in
// llama-server, and pin and ttl.

#ifndef CAIRN_CMD_SERVE_MODELS_MODEL_PRESETS_H_
#define CAIRN_CMD_SERVE_MODELS_MODEL_PRESETS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/serve/base/serve_options.h"
#include "fleet/router/presets/models_folder.h"

namespace CLI {
class App;
}

namespace cairn {

// A flag of `cairn serve` with its values, as "--ctx-size" and {"4096"}.
struct GivenFlag {
  std::string flag;
  std::vector<std::string> values;
};

// Returns the flags that the command line or the environment gave. REQUIRES: `serve` was parsed.
std::vector<GivenFlag> GivenFlags(const CLI::App& serve);

struct PresetModels {
  std::vector<ModelEntry> models;    // sorted by name
  std::vector<std::string> ignored;  // keys of llama-server without effect
};

// Puts the models together. Their arguments are "serve" and flags, without the address and the
// keys. kInvalidArgument names the section and the key that are wrong, or a flag of the command
// line that only one model can have. The arguments of each model were parsed once, so that they are
// not wrong only when it is first loaded.
Result<PresetModels> MakeModels(const std::vector<FoundModel>& found, std::string_view preset,
                                const std::vector<GivenFlag>& given, const ServeOptions& options);

// The same from the files that the flags name.
Result<PresetModels> ReadModels(const std::vector<GivenFlag>& given, const ServeOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_MODELS_MODEL_PRESETS_H_
