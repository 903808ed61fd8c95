#include "engine/llama/model/llama_adapters.h"

#include <string>
#include <utility>
#include <vector>

#include "engine/llama/gguf/llama_digest.h"
#include "llama.h"

namespace cairn {
namespace {

// Returns a text of the adapter's metadata; empty if it has none.
std::string AdapterText(const llama_adapter_lora* adapter, const char* key) {
  const int32_t size = llama_adapter_meta_val_str(adapter, key, nullptr, 0);
  if (size <= 0) return "";
  std::string text(static_cast<size_t>(size) + 1, '\0');
  llama_adapter_meta_val_str(adapter, key, text.data(), text.size());
  text.resize(static_cast<size_t>(size));
  return text;
}

}  // namespace

Status LlamaAdapters::Describe(const LlamaOptions& options) {
  if (options.adapters.empty()) return {};
  std::vector<Adapter> adapters;
  AdapterScales scales;
  for (size_t i = 0; i < options.adapters.size(); ++i) {
    const auto digest = DigestModel(options.adapters[i].path);
    if (!digest) return tl::unexpected(digest.error());
    const llama_adapter_lora* const loaded = loaded_->adapters()[i];
    adapters.push_back({options.adapters[i].path, digest->text,
                        AdapterText(loaded, "adapter.lora.task_name"),
                        AdapterText(loaded, "adapter.lora.prompt_prefix")});
    scales.push_back(options.adapters[i].scale);
  }
  sets_ = std::make_unique<AdapterSets>(std::move(adapters), std::move(scales));
  return {};
}

Status LlamaAdapters::CheckFiles() const {
  if (sets_ == nullptr) return {};
  for (const Adapter& adapter : sets_->adapters()) {
    const auto digest = DigestModel(adapter.path);
    if (!digest) return tl::unexpected(digest.error());
    if (digest->text != adapter.digest) {
      return Fail(
          ErrorCode::kUnavailable,
          "'" + adapter.path + "' has changed since it was first loaded; start the server anew");
    }
  }
  return {};
}

Status LlamaAdapters::Use(AdapterSets::Number set) {
  if (sets_ == nullptr || in_use_ == set) return {};
  const auto kept = sets_->ScalesOf(set);
  if (!kept) return tl::unexpected(kept.error());
  const AdapterScales& scales = *kept;
  std::vector<llama_adapter_lora*> adapters;
  AdapterScales applied;
  for (size_t i = 0; i < scales.size(); ++i) {
    if (scales[i] == 0) continue;
    adapters.push_back(loaded_->adapters()[i]);
    applied.push_back(scales[i]);
  }
  in_use_.reset();
  if (llama_set_adapters_lora(loaded_->context(), adapters.data(), adapters.size(),
                              applied.data()) != 0) {
    return Fail(ErrorCode::kInternal, "libllama cannot apply the LoRA adapters");
  }
  in_use_ = set;
  return {};
}

}  // namespace cairn
