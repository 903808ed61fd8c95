#include "engine/llama/heads/mtp_context.h"

#include <gguf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "engine/llama/gguf/gguf_files.h"

namespace cairn {
namespace {

// The heads compute the logits of one token at a time, and larger ubatches would reserve memory for
// those of all.
constexpr uint32_t kUbatchTokens = 128;

std::string TextValue(const gguf_context* gguf, const std::string& key) {
  const int64_t id = gguf_find_key(gguf, key.c_str());
  const bool is_text = id >= 0 && gguf_get_kv_type(gguf, id) == GGUF_TYPE_STRING;
  return is_text ? gguf_get_val_str(gguf, id) : "";
}

uint32_t NumberOf(const gguf_context* gguf, const std::string& key) {
  const int64_t id = gguf_find_key(gguf, key.c_str());
  const bool is_number = id >= 0 && gguf_get_kv_type(gguf, id) == GGUF_TYPE_UINT32;
  return is_number ? gguf_get_val_u32(gguf, id) : 0;
}

bool HasTensor(const std::vector<GgufFile>& files, const std::string& name) {
  return std::any_of(files.begin(), files.end(), [&](const GgufFile& file) {
    return gguf_find_tensor(file.gguf.get(), name.c_str()) >= 0;
  });
}

}  // namespace

const std::vector<std::string_view>& ArchitecturesWithMtp() {
  static const std::vector<std::string_view> known = {
      "bailingmoe3", "cohere2moe", "deepseek2", "deepseek32", "glm-dsa",
      "glm4moe",     "hy_v3",      "mellum",    "mimo2",      "nemotron_h_moe",
      "qwen35",      "qwen35moe",  "qwen3next", "step35"};
  return known;
}

const std::vector<std::string_view>& ArchitecturesWithTriedMtp() {
  static const std::vector<std::string_view> tried = {"glm4moe", "qwen35"};
  return tried;
}

Status CheckMtpHeads(const std::string& model_path, bool only_tried) {
  const auto files = OpenGgufFiles(model_path);
  if (!files) return tl::unexpected(files.error());
  const gguf_context* const gguf = files->front().gguf.get();
  const std::string architecture = TextValue(gguf, "general.architecture");
  const auto number = [&](const char* key) { return NumberOf(gguf, architecture + "." + key); };
  const auto refuse = [](const std::string& why) { return Fail(ErrorCode::kUnsupported, why); };
  const uint32_t heads = number("nextn_predict_layers");
  if (heads == 0) {
    return Fail(ErrorCode::kNotFound, "the model has no heads for multi-token prediction");
  }
  const auto& known = only_tried ? ArchitecturesWithTriedMtp() : ArchitecturesWithMtp();
  if (std::find(known.begin(), known.end(), architecture) == known.end()) {
    return refuse("the heads of " + architecture + " are not used" +
                  (only_tried ? " with --spec-type auto" : "") + "; those of " + JoinNames(known) +
                  " are");
  }
  if (heads > 1) {
    return refuse("the model has " + std::to_string(heads) +
                  " heads for multi-token prediction; models with one are supported");
  }
  const uint32_t layers = number("block_count");
  if (layers <= heads) return refuse("the file holds heads without a model");
  const uint32_t width_out = number("embedding_length_out");
  if (width_out != 0 && width_out != number("embedding_length")) {
    return refuse("its hidden states are " + std::to_string(width_out) +
                  " wide, which does not fit its heads");
  }
  constexpr std::array<const char*, 3> kNeeded = {"eh_proj", "enorm", "hnorm"};
  for (const char* part : kNeeded) {
    const std::string name = "blk." + std::to_string(layers - heads) + ".nextn." + part + ".weight";
    if (!HasTensor(*files, name)) {
      return refuse("its head for multi-token prediction is not whole: there is no " + name);
    }
  }
  const auto functions = FindMtpFunctions();
  if (!functions) return tl::unexpected(functions.error());
  return {};
}

Result<MtpContext> MakeMtpContext(llama_model* model, llama_context* of_model,
                                  llama_context_params params, size_t slots) {
  const auto functions = FindMtpFunctions();
  if (!functions) return tl::unexpected(functions.error());
  MtpContext heads;
  heads.functions = *functions;
  heads.slots = slots;
  params.ctx_type = LLAMA_CONTEXT_TYPE_MTP;
  params.ctx_other = of_model;
  // In one buffer, whatever the model has: ranges can be shared there, and the last bits of a draft
  // do not matter. Without a window's reuse of cells, a draft can be taken back anywhere.
  params.n_ctx = llama_n_ctx(of_model);
  params.n_seq_max = static_cast<uint32_t>(slots) + 1;
  params.kv_unified = true;
  params.swa_full = true;
  params.n_rs_seq = 0;
  params.n_ubatch = std::min(kUbatchTokens, llama_n_ubatch(of_model));
  params.n_batch = params.n_ubatch;
  heads.context.reset(llama_init_from_model(model, params));
  if (!heads.context) {
    return Fail(ErrorCode::kUnsupported,
                "libllama cannot make a context for the model's heads; there may be no memory");
  }
  heads.functions.keep_rows(of_model, true, /*masked=*/false);
  heads.functions.keep_rows(heads.context.get(), true, /*masked=*/true);
  return heads;
}

}  // namespace cairn
