#include "engine/llama/model/model_devices.h"

#include <ggml-backend.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text.h"

namespace cairn {
namespace {

// Other processes allocate too, so the difference is what has become less, whoever took it.
std::string MemoryText(const std::vector<GpuDevice>& before, const GpuDevice& after) {
  const auto was = std::find_if(before.begin(), before.end(),
                                [&](const GpuDevice& device) { return device.name == after.name; });
  if (after.total_bytes == 0 || was == before.end()) return "";
  const size_t taken = was->free_bytes > after.free_bytes ? was->free_bytes - after.free_bytes : 0;
  return GibText(taken) + " of " + GibText(after.total_bytes) + " GiB taken, " +
         GibText(after.free_bytes) + " free";
}

std::string LayersText(size_t layers) {
  return layers == 0 ? "" : std::to_string(layers) + (layers == 1 ? " layer" : " layers");
}

// ggml names a worker's registry "RPC[HOST:PORT]".
bool IsRemote(ggml_backend_dev_t device) {
  return std::string_view(ggml_backend_reg_name(ggml_backend_dev_backend_reg(device)))
      .starts_with("RPC");
}

// Two backends may drive one GPU.
bool IsSameHardware(ggml_backend_dev_t a, ggml_backend_dev_t b) {
  ggml_backend_dev_props of_a{};
  ggml_backend_dev_props of_b{};
  ggml_backend_dev_get_props(a, &of_a);
  ggml_backend_dev_get_props(b, &of_b);
  return of_a.device_id != nullptr && of_b.device_id != nullptr &&
         std::string_view(of_a.device_id) == of_b.device_id;
}

// libllama's own choice: each GPU once, and an integrated one only where there is no other.
std::vector<ggml_backend_dev_t> LayerDevices() {
  std::vector<ggml_backend_dev_t> gpus;
  std::vector<ggml_backend_dev_t> integrated;
  for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t const device = ggml_backend_dev_get(i);
    const enum ggml_backend_dev_type type = ggml_backend_dev_type(device);
    if (type == GGML_BACKEND_DEVICE_TYPE_IGPU && integrated.empty()) integrated.push_back(device);
    if (type != GGML_BACKEND_DEVICE_TYPE_GPU) continue;
    const bool is_known = std::any_of(gpus.begin(), gpus.end(), [&](ggml_backend_dev_t gpu) {
      return IsSameHardware(gpu, device);
    });
    if (!is_known) gpus.push_back(device);
  }
  return gpus.empty() ? integrated : gpus;
}

// Names that no device has are refused when the model is loaded.
std::vector<ggml_backend_dev_t> NamedDevices(const std::vector<std::string>& names) {
  std::vector<ggml_backend_dev_t> devices;
  for (const std::string& name : names) {
    ggml_backend_dev_t const device = ggml_backend_dev_by_name(name.c_str());
    if (device != nullptr) devices.push_back(device);
  }
  return devices;
}

}  // namespace

size_t OffloadedLayers(int32_t gpu_layers, size_t layers) {
  return gpu_layers < 0 ? layers + 1 : std::min(static_cast<size_t>(gpu_layers), layers + 1);
}

std::vector<GpuDevice> ListGpus(const std::vector<std::string>& names) {
  std::vector<GpuDevice> gpus;
  for (ggml_backend_dev_t const device : names.empty() ? LayerDevices() : NamedDevices(names)) {
    GpuDevice gpu;
    gpu.name = ggml_backend_dev_name(device);
    gpu.description = ggml_backend_dev_description(device);
    gpu.is_remote = IsRemote(device);
    ggml_backend_dev_memory(device, &gpu.free_bytes, &gpu.total_bytes);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

std::vector<float> SplitByMemory(const std::vector<GpuDevice>& gpus) {
  const bool all_remote =
      std::all_of(gpus.begin(), gpus.end(), [](const GpuDevice& gpu) { return gpu.is_remote; });
  if (gpus.size() < 2 || !all_remote) return {};
  std::vector<float> shares;
  for (const GpuDevice& gpu : gpus) {
    const double gib = std::round(static_cast<double>(gpu.total_bytes) / kBytesPerGib);
    shares.push_back(static_cast<float>(std::max(gib, 1.0)));
  }
  return shares;
}

std::string DevicesText(const std::vector<GpuDevice>& before, const std::vector<GpuDevice>& after,
                        int32_t gpu_layers, size_t layers, const LayerPlaces& places) {
  const std::string all = std::to_string(layers + 1);
  const size_t offloaded = OffloadedLayers(gpu_layers, layers);
  if (after.empty()) {
    const std::string asked = gpu_layers > 0 ? ", so --gpu-layers has no effect" : "";
    return "no GPU" + asked + ": all " + all + " layers on the CPU";
  }
  if (offloaded == 0) {
    return "all " + all + " layers on the CPU, though there is " + after.front().name + " (" +
           after.front().description + "); --gpu-layers puts some on it";
  }
  std::string text = std::to_string(offloaded) + " of " + all + " layers on ";
  for (size_t i = 0; i < after.size(); ++i) {
    if (i > 0) text += ", ";
    text += after[i].name + " (" + after[i].description + ")";
    const std::string has = after.size() > 1 ? LayersText(places.LayersOn(after[i].name)) : "";
    const std::string memory = MemoryText(before, after[i]);
    if (!has.empty() || !memory.empty()) text += ": ";
    text += has + (has.empty() || memory.empty() ? "" : ", ") + memory;
  }
  return text;
}

}  // namespace cairn
