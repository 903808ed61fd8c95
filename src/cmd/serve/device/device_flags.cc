#include "cmd/serve/device/device_flags.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cmd/serve/source/source_flags.h"
#include "engine/llama/backend/llama_backend.h"
#include "engine/llama/model/model_devices.h"

namespace cairn {
namespace {

constexpr int32_t kAllMoeLayers = 1024;  // more than any model has

// Returns the number that is all of `text`. Throws what CLI11 prints for `flag`.
int32_t NumberOf(const std::string& flag, const std::string& expected, const std::string& text) {
  int32_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end) return number;
  throw CLI::ValidationError(flag, "expects " + expected + ", not '" + text + "'");
}

void AddLayerFlags(CLI::App* serve, LlamaOptions* llama) {
  serve
      ->add_option_function<std::string>(
          "--gpu-layers,--ngl",
          [llama](const std::string& text) {
            if (text == "auto") {
              llama->gpu_layers = kAutoGpuLayers;
            } else if (text == "all") {
              llama->gpu_layers = kAllGpuLayers;
            } else {
              llama->gpu_layers = NumberOf("--gpu-layers", "auto, all or a number of layers", text);
            }
          },
          "Number of layers to keep on the GPU (-ngl): auto (as many as fit, see --fit), all, or a "
          "number (default: auto)")
      ->group(kModelGroup);
}

void AddSplitFlags(CLI::App* serve, LlamaOptions* llama) {
  serve
      ->add_option("--device", llama->devices,
                   "Devices to put layers on (-dev), separated by commas; none: the CPU computes "
                   "everything. `cairn serve --list-devices` lists them (default: all GPUs)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(kModelGroup);
  serve
      ->add_option("--split-mode", llama->split_mode,
                   "How to split the model across GPUs (-sm): none, layer, row, tensor")
      ->group(kModelGroup);
  serve
      ->add_option("--tensor-split", llama->tensor_split,
                   "Share of the model for each GPU (-ts), such as 3,1")
      ->delimiter(',')
      ->group(kModelGroup);
  serve->add_option("--main-gpu", llama->main_gpu, "GPU for tensors that are not split (-mg)")
      ->group(kModelGroup);
  serve
      ->add_option_function<std::vector<std::string>>(
          "--override-tensor",
          [llama](const std::vector<std::string>& pairs) {
            for (const std::string& pair : pairs) {
              const size_t equals = pair.rfind('=');
              if (equals == std::string::npos) {
                throw CLI::ValidationError("--override-tensor",
                                           "expects PATTERN=BUFFER, not '" + pair + "'");
              }
              llama->override_tensors.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
            }
          },
          "Put tensors whose name matches PATTERN into a buffer type (-ot), such as 'exps=CPU'")
      ->delimiter(',')
      ->group(kModelGroup);
}

void AddMoeFlags(CLI::App* serve, LlamaOptions* llama) {
  serve
      ->add_option_function<std::string>(
          "--n-cpu-moe",
          [llama](const std::string& text) {
            llama->auto_cpu_moe = text == "auto";
            llama->cpu_moe_layers =
                text == "auto" ? 0 : NumberOf("--n-cpu-moe", "auto or a number of layers", text);
          },
          "Keep the experts of the first N layers on the CPU (-ncmoe): auto (as few as fit, see "
          "--fit), or a number (default: auto)")
      ->group(kModelGroup);
  serve
      ->add_flag_callback(
          "--cpu-moe",
          [llama] {
            llama->cpu_moe_layers = kAllMoeLayers;
            llama->auto_cpu_moe = false;
          },
          "Keep all experts on the CPU (-cmoe)")
      ->group(kModelGroup);
}

void AddFitFlags(CLI::App* serve, LlamaOptions* llama) {
  serve
      ->add_option_function<std::string>(
          "--fit",
          [llama](const std::string& text) {
            if (text != "on" && text != "off") {
              throw CLI::ValidationError("--fit", "expects on or off, not '" + text + "'");
            }
            llama->fit = text == "on";
          },
          "Choose the context, the layers and the experts on the GPU that its memory has room for "
          "(-fit), unless --ctx-size, --gpu-layers or --n-cpu-moe give them: on, off (default: on)")
      ->group(kModelGroup);
  serve
      ->add_option(
          "--fit-target", llama->fit_target_mib,
          "MiB that --fit leaves free on each GPU or worker (-fitt); the last one is for all "
          "that follow")
      ->delimiter(',')
      ->group(kModelGroup);
  serve
      ->add_option("--fit-ctx", llama->fit_context_tokens,
                   "Least --ctx-size that --fit chooses (-fitc)")
      ->group(kModelGroup);
}

void AddRpcFlags(CLI::App* serve, LlamaOptions* llama) {
  serve
      ->add_option("--rpc", llama->rpc_workers,
                   "Split the model over the machines of these workers (`cairn rpc-server`), as "
                   "HOST:PORT,...; without --tensor-split by the size of their memory. If a worker "
                   "is lost, the server ends, and a restart continues from the cache on disk")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(kModelGroup);
  serve
      ->add_flag("--rpc-insecure", llama->rpc_beyond_loopback,
                 "Allow --rpc to name other machines: RPC has neither keys nor encryption, so all "
                 "machines on that network must be yours")
      ->group(kModelGroup);
}

}  // namespace

void AddDeviceFlags(CLI::App* serve, LlamaOptions* llama) {
  AddLayerFlags(serve, llama);
  AddSplitFlags(serve, llama);
  AddMoeFlags(serve, llama);
  AddFitFlags(serve, llama);
  AddRpcFlags(serve, llama);
}

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
