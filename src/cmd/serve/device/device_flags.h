// The flags of `cairn serve` that say which device holds which part of the model.

#ifndef CAIRN_CMD_SERVE_DEVICE_DEVICE_FLAGS_H_
#define CAIRN_CMD_SERVE_DEVICE_DEVICE_FLAGS_H_

#include <CLI/CLI.hpp>
#include <string>

#include "engine/llama/model/llama_options.h"

namespace cairn {

// Adds them in the group Model. `llama` outlives `serve`.
void AddDeviceFlags(CLI::App* serve, LlamaOptions* llama);

// Returns what `cairn serve --list-devices` prints: a line for each device that --device takes,
// with its memory. Loads ggml's backends.
std::string DevicesList();

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_DEVICE_DEVICE_FLAGS_H_
