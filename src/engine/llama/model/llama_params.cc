#include "engine/llama/model/llama_params.h"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/text.h"
#include "engine/llama/gguf/model_metadata.h"
#include "engine/llama/model/kv_overrides.h"
#include "engine/llama/model/model_devices.h"
#include "engine/verified_architectures.h"

namespace cairn {
namespace {

constexpr std::array<ggml_type, 9> kCacheTypes = {GGML_TYPE_F32,    GGML_TYPE_F16,  GGML_TYPE_BF16,
                                                  GGML_TYPE_Q8_0,   GGML_TYPE_Q4_0, GGML_TYPE_Q4_1,
                                                  GGML_TYPE_IQ4_NL, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1};

template <typename Value>
Result<Value> Choose(std::string_view option, const std::string& given,
                     const std::vector<std::pair<std::string_view, Value>>& choices) {
  for (const auto& [name, value] : choices) {
    if (name == given) return value;
  }
  return Fail(ErrorCode::kInvalidArgument,
              std::string(option) + " was given '" + given +
                  "'; it takes one of: " + JoinNames(std::views::keys(choices)));
}

Result<ggml_type> CacheType(std::string_view option, const std::string& given) {
  std::vector<std::pair<std::string_view, ggml_type>> choices;
  for (const ggml_type type : kCacheTypes) choices.emplace_back(ggml_type_name(type), type);
  return Choose(option, given, choices);
}

std::map<std::string, ggml_backend_buffer_type_t> BufferTypes() {
  std::map<std::string, ggml_backend_buffer_type_t> types;
  for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_buffer_type_t type = ggml_backend_dev_buffer_type(ggml_backend_dev_get(i));
    if (type != nullptr) types[ggml_backend_buft_name(type)] = type;
  }
  return types;
}

Status FillOverrides(const LlamaOptions& options, LlamaModelParams* params) {
  std::vector<ggml_backend_buffer_type_t> types;
  const auto known = BufferTypes();
  for (const auto& [pattern, name] : options.override_tensors) {
    const auto found = known.find(name);
    if (found == known.end()) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--override-tensor names the buffer type '" + name +
                      "'; this machine has: " + JoinNames(std::views::keys(known)));
    }
    params->patterns.push_back(pattern);
    types.push_back(found->second);
  }
  for (int32_t layer = 0; layer < options.cpu_moe_layers; ++layer) {
    // llama.cpp's tensor names of a layer's experts, per channel or together.
    params->patterns.push_back("blk\\." + std::to_string(layer) +
                               "\\.ffn_(up|down|gate|gate_up)_(ch|)exps");
    types.push_back(ggml_backend_cpu_buffer_type());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    params->overrides.push_back({params->patterns[i].c_str(), types[i]});
  }
  params->overrides.push_back({nullptr, nullptr});
  return {};
}

// libllama takes all devices if it is given no list.
Status FillDevices(const LlamaOptions& options, LlamaModelParams* params) {
  if (options.devices.empty()) return {};
  for (const std::string& name : options.devices) {
    if (name == kNoDevice && options.devices.size() == 1) continue;
    ggml_backend_dev_t device = ggml_backend_dev_by_name(name.c_str());
    if (device == nullptr || ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU) {
      std::vector<std::string> known;
      for (const GpuDevice& gpu : ListGpus()) known.push_back(gpu.name);
      known.emplace_back(kNoDevice);
      return Fail(ErrorCode::kInvalidArgument,
                  "--device names '" + name + "'; it takes: " + JoinNames(known));
    }
    params->devices.push_back(device);
  }
  params->devices.push_back(nullptr);
  params->params.devices = params->devices.data();
  return {};
}

int32_t ThreadsOrCores(int32_t threads) {
  if (threads > 0) return threads;
  const unsigned cores = std::thread::hardware_concurrency();
  return cores > 0 ? static_cast<int32_t>(cores) : 4;
}

llama_load_mode LoadMode(const LlamaOptions& options) {
  if (options.use_mmap) {
    return options.use_mlock ? LLAMA_LOAD_MODE_MMAP_MLOCK : LLAMA_LOAD_MODE_MMAP;
  }
  return options.use_mlock ? LLAMA_LOAD_MODE_MLOCK : LLAMA_LOAD_MODE_NONE;
}

bool OnProgress(float share, void* user_data) {
  (*static_cast<const std::function<void(float)>*>(user_data))(share);
  return true;
}

Status FillRope(const LlamaOptions& options, llama_context_params* params) {
  if (!options.rope_scaling.empty()) {
    const auto scaling =
        Choose<llama_rope_scaling_type>("--rope-scaling", options.rope_scaling,
                                        {{"none", LLAMA_ROPE_SCALING_TYPE_NONE},
                                         {"linear", LLAMA_ROPE_SCALING_TYPE_LINEAR},
                                         {"yarn", LLAMA_ROPE_SCALING_TYPE_YARN}});
    if (!scaling) return tl::unexpected(scaling.error());
    params->rope_scaling_type = *scaling;
  }
  params->rope_freq_base = options.rope_freq_base;
  params->rope_freq_scale = options.rope_freq_scale;
  if (options.rope_scale > 0) params->rope_freq_scale = 1.0F / options.rope_scale;
  params->yarn_orig_ctx = options.yarn_orig_ctx;
  params->yarn_ext_factor = options.yarn_ext_factor;
  params->yarn_attn_factor = options.yarn_attn_factor;
  params->yarn_beta_slow = options.yarn_beta_slow;
  params->yarn_beta_fast = options.yarn_beta_fast;
  return {};
}

// libllama asserts some of this itself, which ends the process.
Status CheckSlots(const LlamaOptions& options) {
  const size_t slots_max = std::min(llama_max_parallel_sequences() - 1, options.ubatch_tokens);
  if (options.slots >= 1 && options.slots <= slots_max) return {};
  return Fail(ErrorCode::kInvalidArgument, "--parallel was given " + std::to_string(options.slots) +
                                               "; it takes 1 to " + std::to_string(slots_max) +
                                               ", and --ubatch-size must be as large");
}

bool MayUseSegments(const llama_model* model) {
  return !llama_model_is_recurrent(model) && SegmentsVerified(ArchitectureOf(model));
}

}  // namespace

Status FillModelParams(const LlamaOptions& options, LlamaModelParams* model_params) {
  llama_model_params& params = model_params->params;
  params.n_gpu_layers = options.gpu_layers;
  params.main_gpu = options.main_gpu;
  params.load_mode = LoadMode(options);
  params.check_tensors = options.check_tensors;
  params.use_extra_bufts = options.repack;
  const auto split = Choose<llama_split_mode>("--split-mode", options.split_mode,
                                              {{"none", LLAMA_SPLIT_MODE_NONE},
                                               {"layer", LLAMA_SPLIT_MODE_LAYER},
                                               {"row", LLAMA_SPLIT_MODE_ROW},
                                               {"tensor", LLAMA_SPLIT_MODE_TENSOR}});
  if (!split) return tl::unexpected(split.error());
  params.split_mode = *split;
  if (options.tensor_split.size() > llama_max_devices()) {
    return Fail(ErrorCode::kInvalidArgument,
                "--tensor-split names " + std::to_string(options.tensor_split.size()) +
                    " shares; libllama takes at most " + std::to_string(llama_max_devices()));
  }
  if (!options.tensor_split.empty()) {
    model_params->tensor_split = options.tensor_split;
    model_params->tensor_split.resize(llama_max_devices(), 0);
    params.tensor_split = model_params->tensor_split.data();
  }
  if (Status filled = FillOverrides(options, model_params); !filled) return filled;
  params.tensor_buft_overrides = model_params->overrides.data();
  if (Status filled = FillDevices(options, model_params); !filled) return filled;
  auto entries = MakeKvOverrides(options.kv_overrides);
  if (!entries) return tl::unexpected(entries.error());
  model_params->kv_overrides = *std::move(entries);
  if (!model_params->kv_overrides.empty()) params.kv_overrides = model_params->kv_overrides.data();
  if (options.progress) {
    params.progress_callback = OnProgress;
    params.progress_callback_user_data =
        const_cast<void*>(static_cast<const void*>(&options.progress));
  }
  return {};
}

Result<llama_context_params> MakeContextParams(const LlamaOptions& options,
                                               const llama_model* model) {
  if (Status fits = CheckSlots(options); !fits) return tl::unexpected(fits.error());
  llama_context_params params = llama_context_default_params();
  const size_t trained = static_cast<uint32_t>(llama_model_n_ctx_train(model));
  params.n_ctx =
      static_cast<uint32_t>(options.context_tokens > 0 ? options.context_tokens : trained);
  params.n_batch = static_cast<uint32_t>(options.batch_tokens);
  params.n_ubatch = static_cast<uint32_t>(std::min(options.ubatch_tokens, options.batch_tokens));
  // The slots, and the scratch sequence for segments where they are supported. Ranges can be shared
  // between sequences only where all lie in one buffer.
  const bool has_scratch = options.unified && MayUseSegments(model);
  params.n_seq_max = static_cast<uint32_t>(options.slots) + (has_scratch ? 1 : 0);
  params.kv_unified = options.unified;
  params.n_rs_seq = static_cast<uint32_t>(options.rollback_states);
  params.n_threads = ThreadsOrCores(options.threads);
  params.n_threads_batch = options.threads_batch > 0 ? options.threads_batch : params.n_threads;
  const auto flash = Choose<llama_flash_attn_type>("--flash-attn", options.flash_attention,
                                                   {{"auto", LLAMA_FLASH_ATTN_TYPE_AUTO},
                                                    {"on", LLAMA_FLASH_ATTN_TYPE_ENABLED},
                                                    {"off", LLAMA_FLASH_ATTN_TYPE_DISABLED}});
  if (!flash) return tl::unexpected(flash.error());
  params.flash_attn_type = *flash;
  const auto type_k = CacheType("--cache-type-k", options.cache_type_k);
  if (!type_k) return tl::unexpected(type_k.error());
  const auto type_v = CacheType("--cache-type-v", options.cache_type_v);
  if (!type_v) return tl::unexpected(type_v.error());
  params.type_k = *type_k;
  params.type_v = *type_v;
  params.offload_kqv = options.kv_offload;
  params.op_offload = options.op_offload;
  params.swa_full = options.swa_full;
  params.no_perf = true;
  if (Status filled = FillRope(options, &params); !filled) return tl::unexpected(filled.error());
  return params;
}

}  // namespace cairn
