#include "engine/llama/fit/device_fit.h"

#include <ggml.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "base/text.h"

namespace cairn {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;
// Free memory changes a little from one start to the next. It is rounded down, because another
// number of layers computes other bits, and what was cached before could not be used.
constexpr uint64_t kFreeStepBytes = 256 * kMib;
constexpr uint64_t kContextStepTokens = 1024;
// Activations that libllama keeps for a chunk, in floats per token and embedding size.
constexpr uint64_t kActivationsPerToken = 8;

// Returns the bytes of `elements` in ggml's type of that name; those of f16 for an unknown name,
// which the load refuses.
uint64_t TypedBytes(std::string_view type_name, uint64_t elements) {
  for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
    const auto type = static_cast<ggml_type>(i);
    const char* name = ggml_type_name(type);
    if (name == nullptr || type_name != name || ggml_blck_size(type) == 0) continue;
    return elements * ggml_type_size(type) / static_cast<uint64_t>(ggml_blck_size(type));
  }
  return elements * sizeof(ggml_fp16_t);
}

uint64_t CellsOf(const ModelLayout& layout, const LlamaOptions& options, const LayerLayout& layer,
                 uint64_t context_tokens) {
  if (!layer.windowed || options.swa_full) return context_tokens;
  const uint64_t window = layout.window_tokens * options.slots + options.ubatch_tokens;
  return std::min(window, context_tokens);
}

uint64_t LayerBytes(const ModelLayout& layout, const LlamaOptions& options, size_t index,
                    const FitChoice& choice) {
  const LayerLayout& layer = layout.layers[index];
  uint64_t bytes = layer.weight_bytes + layer.state_bytes * options.slots;
  if (static_cast<int64_t>(index) < choice.cpu_moe_layers) bytes -= layer.expert_bytes;
  if (!options.kv_offload) return bytes;
  const uint64_t cells = CellsOf(layout, options, layer, choice.context_tokens);
  return bytes + cells * (TypedBytes(options.cache_type_k, layer.k_elements) +
                          TypedBytes(options.cache_type_v, layer.v_elements));
}

// The logits and activations of a chunk, and the mask of its attention.
uint64_t ComputeBytes(const ModelLayout& layout, const LlamaOptions& options,
                      uint64_t context_tokens) {
  const uint64_t row = layout.vocabulary_tokens + kActivationsPerToken * layout.embedding_size;
  return options.ubatch_tokens * sizeof(float) * (row + context_tokens);
}

uint64_t WishedContext(const ModelLayout& layout, const LlamaOptions& options) {
  return options.context_tokens > 0 ? options.context_tokens : layout.trained_tokens;
}

// Returns the largest value in [low, high] for which `fits`, which is true up to some value;
// `low` if it is true for none.
template <typename Fits>
uint64_t Largest(uint64_t low, uint64_t high, Fits fits) {
  while (low < high) {
    const uint64_t middle = low + (high - low + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

class Fitting {
 public:
  Fitting(const ModelLayout& layout, const LlamaOptions& options, uint64_t room_bytes)
      : layout_(layout), options_(options) {
    choice_.gpu_layers = options.gpu_layers;
    choice_.cpu_moe_layers = options.cpu_moe_layers;
    choice_.context_tokens = WishedContext(layout, options);
    choice_.room_bytes = room_bytes;
  }

  FitChoice Choose() {
    const FitChoice asked = choice_;
    const bool done = Fits(choice_) || ShortenContext() || MoveExperts() || MoveLayers();
    if (!done) choice_ = asked;
    choice_.fits = done;
    choice_.needed_bytes = NeededBytes(layout_, options_, choice_);
    return choice_;
  }

 private:
  bool Fits(const FitChoice& choice) const {
    return NeededBytes(layout_, options_, choice) <= choice.room_bytes;
  }

  bool ShortenContext() {
    if (options_.context_tokens > 0) return false;
    const uint64_t least = std::max<uint64_t>(options_.fit_context_tokens, kContextStepTokens);
    if (choice_.context_tokens <= least) return false;
    const auto with = [&](uint64_t steps) {
      FitChoice shorter = choice_;
      shorter.context_tokens = std::max(least, steps * kContextStepTokens);
      return shorter;
    };
    const uint64_t steps = Largest(0, choice_.context_tokens / kContextStepTokens,
                                   [&](uint64_t middle) { return Fits(with(middle)); });
    choice_ = with(steps);
    return Fits(choice_);
  }

  bool MoveExperts() {
    if (!options_.auto_cpu_moe || !layout_.has_experts()) return false;
    const uint64_t layers = layout_.layers.size();
    const auto least = static_cast<uint64_t>(std::max(choice_.cpu_moe_layers, 0));
    const auto with = [&](uint64_t kept) {
      FitChoice moved = choice_;
      moved.cpu_moe_layers = static_cast<int32_t>(std::max(least, layers - kept));
      return moved;
    };
    choice_ = with(Largest(0, layers, [&](uint64_t kept) { return Fits(with(kept)); }));
    return Fits(choice_);
  }

  bool MoveLayers() {
    if (options_.gpu_layers != kAutoGpuLayers) return false;
    const auto with = [&](uint64_t layers) {
      FitChoice fewer = choice_;
      fewer.gpu_layers = static_cast<int32_t>(layers);
      return fewer;
    };
    choice_ = with(
        Largest(0, layout_.layers.size(), [&](uint64_t layers) { return Fits(with(layers)); }));
    return Fits(choice_);
  }

  const ModelLayout& layout_;
  const LlamaOptions& options_;
  FitChoice choice_;
};

// Returns the room of devices that take fixed shares: the first that is full ends it.
template <typename RoomOf>
uint64_t SplitRoom(const std::vector<float>& shares, size_t devices, RoomOf room_of) {
  double sum = 0;
  for (size_t i = 0; i < std::min(devices, shares.size()); ++i) sum += shares[i];
  std::optional<uint64_t> room;
  for (size_t i = 0; i < std::min(devices, shares.size()); ++i) {
    if (shares[i] <= 0) continue;
    const auto whole = static_cast<uint64_t>(static_cast<double>(room_of(i)) * sum / shares[i]);
    room = std::min(room.value_or(whole), whole);
  }
  return room.value_or(0);
}

}  // namespace

uint64_t NeededBytes(const ModelLayout& layout, const LlamaOptions& options,
                     const FitChoice& choice) {
  const size_t layers = layout.layers.size();
  const size_t offloaded = OffloadedLayers(choice.gpu_layers, layers);
  if (offloaded == 0) return 0;
  uint64_t bytes = layout.output_bytes + ComputeBytes(layout, options, choice.context_tokens);
  for (size_t i = layers + 1 - offloaded; i < layers; ++i) {
    bytes += LayerBytes(layout, options, i, choice);
  }
  return bytes;
}

uint64_t RoomBytes(const ModelLayout& layout, const LlamaOptions& options,
                   const std::vector<GpuDevice>& gpus) {
  CHECK(!gpus.empty());
  const auto room_of = [&](size_t index) -> uint64_t {
    const GpuDevice& gpu = gpus[index];
    const uint64_t used = gpu.total_bytes - std::min(gpu.free_bytes, gpu.total_bytes);
    const uint64_t rounded = (used + kFreeStepBytes - 1) / kFreeStepBytes * kFreeStepBytes;
    uint64_t target = 0;
    if (!options.fit_target_mib.empty()) {
      target = kMib * options.fit_target_mib[std::min(index, options.fit_target_mib.size() - 1)];
    }
    return gpu.total_bytes - std::min<uint64_t>(gpu.total_bytes, rounded + target);
  };
  if (options.split_mode == "none") {
    const auto main = static_cast<size_t>(std::max(options.main_gpu, 0));
    return room_of(std::min(main, gpus.size() - 1));
  }
  if (!options.tensor_split.empty()) return SplitRoom(options.tensor_split, gpus.size(), room_of);
  uint64_t room = 0;
  for (size_t i = 0; i < gpus.size(); ++i) room += room_of(i);
  // A layer is never divided, so each border between two devices may leave as much unused.
  uint64_t largest = 0;
  for (const LayerLayout& layer : layout.layers) largest = std::max(largest, layer.weight_bytes);
  return room - std::min(room, largest * (gpus.size() - 1));
}

FitChoice FitToDevices(const ModelLayout& layout, const LlamaOptions& options,
                       const std::vector<GpuDevice>& gpus) {
  return Fitting(layout, options, RoomBytes(layout, options, gpus)).Choose();
}

std::string FitText(const ModelLayout& layout, const LlamaOptions& options,
                    const FitChoice& choice) {
  const std::string kind = options.rpc_workers.empty() ? "GPU" : "GPU and worker";
  const std::string sizes = GibText(choice.needed_bytes) + " GiB of " + kind + " memory, and " +
                            GibText(choice.room_bytes) + " GiB may be used";
  if (!choice.fits) {
    return "the model needs about " + sizes +
           ": it may not load; fewer --gpu-layers or a smaller --ctx-size needs less";
  }
  std::string chosen;
  const auto add = [&chosen](const std::string& text) {
    chosen += (chosen.empty() ? "" : ", ") + text;
  };
  if (choice.gpu_layers != options.gpu_layers) {
    add("--gpu-layers " + std::to_string(choice.gpu_layers) + " of " +
        std::to_string(layout.layers.size() + 1));
  }
  if (choice.cpu_moe_layers != options.cpu_moe_layers) {
    add("--n-cpu-moe " + std::to_string(choice.cpu_moe_layers));
  }
  if (choice.context_tokens != WishedContext(layout, options)) {
    add("--ctx-size " + std::to_string(choice.context_tokens));
  }
  if (chosen.empty()) return "";
  return "chosen to fit: " + chosen + " (about " + sizes +
         "); these flags choose by hand, --fit off loads all";
}

std::string ApplyFit(const std::vector<GpuDevice>& gpus, LlamaOptions* options) {
  if (!options->fit || gpus.empty() || options->gpu_layers == 0) return "";
  const auto layout = ReadModelLayout(options->model_path);
  if (!layout) return "";
  const FitChoice choice = FitToDevices(*layout, *options, gpus);
  std::string text = FitText(*layout, *options, choice);
  if (text.empty() || !choice.fits) return text;
  options->gpu_layers = choice.gpu_layers;
  options->cpu_moe_layers = choice.cpu_moe_layers;
  if (choice.context_tokens != WishedContext(*layout, *options)) {
    options->context_tokens = choice.context_tokens;
  }
  return text;
}

}  // namespace cairn
