// ModelDevices: the devices that a loaded model computes on, for the line at start that says which
// of them holds how much. ggml's backends find the devices; a machine without a GPU has its CPU.
//
// Threads: any, once the backends are loaded (InitLlamaBackend).

#ifndef CAIRN_ENGINE_LLAMA_MODEL_MODEL_DEVICES_H_
#define CAIRN_ENGINE_LLAMA_MODEL_MODEL_DEVICES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/llama/gguf/layer_places.h"

namespace cairn {

// A device other than the CPU, of this machine or of a worker (rpc_backend.h).
struct GpuDevice {
  std::string name;         // ggml's: "Vulkan0"
  std::string description;  // the driver's: "AMD Radeon RX 7800 XT"; a worker's is its address
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  bool is_remote = false;  // a worker's
};

// The name in LlamaOptions::devices that stands for no device but the CPU.
inline constexpr const char* kNoDevice = "none";

// Returns the devices that libllama puts layers on by itself, or those of `names` if there are any.
// The memory is the present one.
std::vector<GpuDevice> ListGpus(const std::vector<std::string>& names = {});

// Returns the number of layers on the GPUs, the output layer included. `gpu_layers` and `layers`:
// as in DevicesText.
size_t OffloadedLayers(int32_t gpu_layers, size_t layers);

// Returns a share for each device, for LlamaOptions::tensor_split, by the size of its memory in
// GiB; empty unless there are several and all are remote. libllama splits by the memory that is
// free, so a little more or less of it moves a layer to another machine, and the states stored
// before are of another split.
std::vector<float> SplitByMemory(const std::vector<GpuDevice>& gpus);

// Returns the line for people. `before`: the devices before the model was loaded, `after`: with it.
// `gpu_layers`: as asked for; negative: all. `layers`: those of the model; the output layer counts
// as one more, as in libllama. `places`: of those layers.
//
//   37 of 37 layers on Vulkan0 (AMD Radeon RX 7800 XT): 9.1 of 15.9 GiB taken, 6.8 free
//   37 of 37 layers on RPC0 (a:50052): 19 layers, 4.1 of … free, RPC1 (b:50052): 18 layers, 4.0 …
//   no GPU: all 37 layers on the CPU
std::string DevicesText(const std::vector<GpuDevice>& before, const std::vector<GpuDevice>& after,
                        int32_t gpu_layers, size_t layers, const LayerPlaces& places);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MODEL_MODEL_DEVICES_H_
