// DevicesList: what `cairn serve --list-devices` prints.

#ifndef CAIRN_CMD_SERVE_DEVICE_DEVICES_LIST_H_
#define CAIRN_CMD_SERVE_DEVICE_DEVICES_LIST_H_

#include <string>

namespace cairn {

// Returns a line for each device that --device takes, with its memory. Loads ggml's backends.
std::string DevicesList();

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_DEVICE_DEVICES_LIST_H_
