// LlamaOptions: the settings of libllama's model and context parameters, in our own types. Names
// and defaults are llama-server's; `cairn serve --help` describes the fields.

#ifndef CAIRN_ENGINE_LLAMA_MODEL_LLAMA_OPTIONS_H_
#define CAIRN_ENGINE_LLAMA_MODEL_LLAMA_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "engine/grid_probe.h"

namespace cairn {

inline constexpr int32_t kAutoGpuLayers = -1;
inline constexpr int32_t kAllGpuLayers = -2;
// The least number of tokens in a ubatch: a start measures the model with so many.
inline constexpr size_t kUbatchTokensMin = 24;

struct LlamaOptions {
  // Model. A file named NAME-00001-of-00003.gguf implies its siblings.
  std::string model_path;
  // -1: all, or as many as fit (engine/llama/fit/device_fit.h); any other negative number: all.
  int32_t gpu_layers = kAutoGpuLayers;
  std::string split_mode = "layer";
  std::vector<float> tensor_split;
  int32_t main_gpu = 0;
  // Workers as HOST:PORT, whose devices compute layers too; see AddRpcWorkers. Without
  // `tensor_split` each gets a part by the size of its memory.
  std::vector<std::string> rpc_workers;
  bool rpc_beyond_loopback = false;
  bool use_mmap = true;
  bool use_mlock = false;
  bool check_tensors = false;
  bool repack = true;
  bool op_offload = true;
  // Regular expression over tensor names -> name of a buffer type.
  std::vector<std::pair<std::string, std::string>> override_tensors;
  // Names of the devices to put layers on, as libllama has them; "none" alone: the CPU computes
  // everything. Empty: all GPUs.
  std::vector<std::string> devices;
  // Metadata that replaces that of the model's file, as KEY=TYPE:VALUE (kv_overrides.h).
  std::vector<std::string> kv_overrides;
  // The number of layers whose experts stay on the CPU.
  int32_t cpu_moe_layers = 0;
  // Whether `fit` may choose more of them.
  bool auto_cpu_moe = true;
  // Makes a model fit into the memory of the GPUs by what the options leave open.
  bool fit = true;
  // For each GPU: memory that is left free, for compute buffers that grow and for other programs.
  // The last one stands for all that follow.
  std::vector<size_t> fit_target_mib = {1024};
  size_t fit_context_tokens = 4096;  // the least context that `fit` chooses

  // LoRA adapters of the model, and the scales that a start applies them with.
  struct AdapterFile {
    std::string path;
    float scale = 1;
  };
  std::vector<AdapterFile> adapters;

  // Control vectors (control_vector.h), and the layers that they act in: 0 for the first and the
  // last one.
  struct ControlFile {
    std::string path;
    float scale = 1;
  };
  std::vector<ControlFile> control_vectors;
  int32_t control_layer_first = 0;
  int32_t control_layer_last = 0;

  // Context.
  size_t context_tokens = 0;  // of all slots together; 0: as trained
  size_t slots = 1;
  // One buffer for the attention KV of all slots: they share room and prefixes, and the contents of
  // other slots change the last bits of a slot's logits. false: one stream each, with an equal part
  // of context_tokens; see docs/decisions/0012-slots-and-whole-states.md.
  bool unified = true;
  // Recurrent states that each slot keeps beside its last one, for MemoryTraits::rollback_tokens,
  // on architectures that offer them. Each takes as much memory as a slot's recurrent state.
  size_t rollback_states = 0;
  // Whether the model's heads for multi-token prediction are loaded (Engine::mtp_heads). Where that
  // is not possible, `notes` gets a line that says why.
  enum class Mtp : uint8_t {
    kOff,
    kIfTried,  // if the model has heads of an architecture that was tried; no line if it has none
    kOn,
  };
  Mtp mtp = Mtp::kOff;
  size_t batch_tokens = 2048;
  size_t ubatch_tokens = 512;
  int32_t threads = -1;        // negative: one per core
  int32_t threads_batch = -1;  // negative: as `threads`
  std::string flash_attention = "auto";
  std::string cache_type_k = "f16";
  std::string cache_type_v = "f16";
  bool kv_offload = true;
  bool swa_full = false;
  std::string rope_scaling;     // empty: the model's setting
  float rope_scale = 0;         // 0: the model's setting; else the context grows by this factor
  float rope_freq_base = 0;     // 0: the model's setting
  float rope_freq_scale = 0;    // 0: the model's setting
  uint32_t yarn_orig_ctx = 0;   // 0: as trained
  float yarn_ext_factor = -1;   // negative: the model's setting
  float yarn_attn_factor = -1;  // negative: the model's setting
  float yarn_beta_slow = -1;    // negative: the model's setting
  float yarn_beta_fast = -1;    // negative: the model's setting

  // The exactness grid. 0: the one that `find_grid` returns; else it is measured, for at most
  // `grid_probe_ms_max`, unless `measure_grid` is false: then it is kUsualGridTokens, unmeasured.
  size_t grid_tokens = 0;
  bool measure_grid = true;
  // Returns the grid that was measured earlier for `facts` (LlamaEngine::GridFacts); one of 0
  // tokens if none was. Empty function: none is known.
  std::function<GridProbe(const std::string& facts)> find_grid;
  double grid_probe_ms_max = 5000;
  bool find_smallest_grid = false;            // see engine/grid_probe.h
  std::function<void(float)> probe_progress;  // see engine/grid_probe.h

  // Enables Engine::Sleep. Costs the memory of a second vocabulary.
  bool may_sleep = false;

  // libllama's own lines while it loads.
  LogSink log;
  // Lines for people about a load: the choice of `fit`, and abilities that are missing. Empty: they
  // go to `log`.
  LogSink notes;
  const LogSink& note_sink() const { return notes ? notes : log; }
  // Called while the model loads, with the share that is loaded, in [0, 1].
  std::function<void(float)> progress;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MODEL_LLAMA_OPTIONS_H_
