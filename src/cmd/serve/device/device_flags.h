// The flags of `cairn serve` that say which device holds which part of the model.

#ifndef CAIRN_CMD_SERVE_DEVICE_DEVICE_FLAGS_H_
#define CAIRN_CMD_SERVE_DEVICE_DEVICE_FLAGS_H_

#include <CLI/CLI.hpp>

#include "engine/llama/model/llama_options.h"

namespace cairn {

// Adds them in the group Model. `llama` outlives `serve`.
void AddDeviceFlags(CLI::App* serve, LlamaOptions* llama);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_DEVICE_DEVICE_FLAGS_H_
