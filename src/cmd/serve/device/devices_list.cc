#include "cmd/serve/device/devices_list.h"

#include "engine/llama/backend/llama_backend.h"
#include "engine/llama/model/model_devices.h"

namespace cairn {

std::string DevicesList() {
  constexpr size_t kMib = size_t{1} << 20;
  InitLlamaBackend({});
  std::string list = "Available devices:\n";
  const std::vector<GpuDevice> devices = ListGpus();
  for (const GpuDevice& device : devices) {
    list += "  " + device.name + ": " + device.description + " (" +
            std::to_string(device.total_bytes / kMib) + " MiB, " +
            std::to_string(device.free_bytes / kMib) + " MiB free)\n";
  }
  if (devices.empty()) list += "  none: all is computed on the CPU\n";
  return list;
}

}  // namespace cairn
