#include "engine/llama/fit/model_layout.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "engine/llama/gguf/gguf_files.h"

namespace cairn {
namespace {

// Every n-th layer attends to all tokens. Files of these architectures do not carry the number,
// which libllama has built in.
uint64_t BuiltInWindowPattern(std::string_view architecture) {
  static const std::map<std::string_view, uint64_t> patterns = {
      {"gemma2", 2}, {"gemma3", 6}, {"gemma3n", 5}, {"gpt-oss", 2}, {"cohere2", 4}};
  const auto found = patterns.find(architecture);
  return found == patterns.end() ? 0 : found->second;
}

// The metadata of one file under its architecture's prefix.
class LayoutMetadata {
 public:
  explicit LayoutMetadata(const gguf_context* gguf) : gguf_(gguf) {
    const int64_t key = gguf_find_key(gguf_, "general.architecture");
    if (key < 0 || gguf_get_kv_type(gguf_, key) != GGUF_TYPE_STRING) return;
    architecture_ = gguf_get_val_str(gguf_, key);
  }

  const std::string& architecture() const { return architecture_; }

  // A number, or a list's element for `layer`; nullopt where there is none.
  std::optional<uint64_t> Number(const std::string& name, size_t layer = 0) const {
    const int64_t key = KeyOf(name);
    if (key < 0) return std::nullopt;
    switch (gguf_get_kv_type(gguf_, key)) {
      case GGUF_TYPE_UINT32:
        return gguf_get_val_u32(gguf_, key);
      case GGUF_TYPE_INT32:
        return static_cast<uint64_t>(std::max(gguf_get_val_i32(gguf_, key), 0));
      case GGUF_TYPE_UINT64:
        return gguf_get_val_u64(gguf_, key);
      case GGUF_TYPE_ARRAY:
        return Element(key, layer);
      default:
        return std::nullopt;
    }
  }
  uint64_t NumberOr(const std::string& name, uint64_t other) const {
    return Number(name).value_or(other);
  }
  bool IsList(const std::string& name) const {
    const int64_t key = KeyOf(name);
    return key >= 0 && gguf_get_kv_type(gguf_, key) == GGUF_TYPE_ARRAY;
  }

 private:
  int64_t KeyOf(const std::string& name) const {
    return gguf_find_key(gguf_, (architecture_ + "." + name).c_str());
  }
  std::optional<uint64_t> Element(int64_t key, size_t index) const {
    if (index >= gguf_get_arr_n(gguf_, key)) return std::nullopt;
    const auto at = [&](auto type) {
      return static_cast<const decltype(type)*>(gguf_get_arr_data(gguf_, key))[index];
    };
    switch (gguf_get_arr_type(gguf_, key)) {
      case GGUF_TYPE_UINT32:
        return at(uint32_t{});
      case GGUF_TYPE_INT32:
        return static_cast<uint64_t>(std::max(at(int32_t{}), 0));
      case GGUF_TYPE_BOOL:
        return at(int8_t{}) != 0 ? 1 : 0;
      default:
        return std::nullopt;
    }
  }

  const gguf_context* const gguf_;
  std::string architecture_;
};

// The tensors of a layer that tell its kind.
struct LayerTensors {
  bool k = false;    // attn_k
  bool qkv = false;  // attn_qkv
  bool mla = false;  // attn_kv_a_mqa: a latent KV cache
  bool state = false;

  void Note(std::string_view tensor) {
    k = k || tensor.starts_with("attn_k.");
    qkv = qkv || tensor.starts_with("attn_qkv.");
    mla = mla || tensor.starts_with("attn_kv_a_mqa.");
    state = state || tensor.starts_with("ssm_") || tensor.starts_with("shortconv.");
  }
  // Recurrent layers have a fused projection of that name too.
  bool HasAttention() const { return k || mla || (qkv && !state); }
};

// "blk.12.ffn_up.weight" is of layer 12, and there "ffn_up.weight".
std::optional<size_t> TakeLayer(std::string_view* tensor) {
  constexpr std::string_view kPrefix = "blk.";
  if (!tensor->starts_with(kPrefix)) return std::nullopt;
  tensor->remove_prefix(kPrefix.size());
  size_t layer = 0;
  size_t digits = 0;
  while (digits < tensor->size() && (*tensor)[digits] >= '0' && (*tensor)[digits] <= '9') {
    layer = layer * 10 + static_cast<size_t>((*tensor)[digits++] - '0');
  }
  if (digits == 0 || digits > 6 || digits >= tensor->size()) return std::nullopt;
  tensor->remove_prefix(digits + 1);
  return layer;
}

bool IsExpert(std::string_view tensor) {
  return tensor.starts_with("ffn_") && tensor.find("exps.") != std::string_view::npos;
}

class LayoutReader {
 public:
  LayoutReader(const LayoutMetadata* metadata, ModelLayout* layout)
      : metadata_(metadata), layout_(layout), tensors_(layout->layers.size()) {}

  void AddFile(const gguf_context* gguf) {
    for (int64_t i = 0; i < gguf_get_n_tensors(gguf); ++i) {
      AddTensor(gguf_get_tensor_name(gguf, i), gguf_get_tensor_size(gguf, i));
    }
  }

  void Finish() {
    if (!has_output_) layout_->output_bytes += token_embedding_bytes_;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].HasAttention()) SetCache(i);
      if (tensors_[i].state) layout_->layers[i].state_bytes = StateBytes();
    }
  }

 private:
  void AddTensor(std::string_view name, uint64_t bytes) {
    if (const auto layer = TakeLayer(&name)) {
      if (*layer >= layout_->layers.size()) return;  // an additional one, for drafts
      LayerLayout& one = layout_->layers[*layer];
      one.weight_bytes += bytes;
      if (IsExpert(name)) one.expert_bytes += bytes;
      tensors_[*layer].Note(name);
      return;
    }
    if (name.starts_with("token_embd.")) token_embedding_bytes_ = bytes;
    if (!name.starts_with("output")) return;
    layout_->output_bytes += bytes;
    has_output_ = has_output_ || name.starts_with("output.");
  }

  void SetCache(size_t index) {
    LayerLayout& layer = layout_->layers[index];
    if (tensors_[index].mla) {
      layer.k_elements = metadata_->NumberOr("attention.kv_lora_rank", 0) +
                         metadata_->NumberOr("rope.dimension_count", 0);
      return;
    }
    const uint64_t heads =
        std::max<uint64_t>(metadata_->Number("attention.head_count", index).value_or(1), 1);
    const uint64_t kv_heads = metadata_->Number("attention.head_count_kv", index).value_or(heads);
    const uint64_t usual = layout_->embedding_size / heads;
    layer.k_elements = kv_heads * metadata_->NumberOr("attention.key_length", usual);
    layer.v_elements = kv_heads * metadata_->NumberOr("attention.value_length", usual);
    layer.windowed = IsWindowed(index);
  }

  bool IsWindowed(size_t index) const {
    if (layout_->window_tokens == 0) return false;
    constexpr const char* kPattern = "attention.sliding_window_pattern";
    if (metadata_->IsList(kPattern)) return metadata_->Number(kPattern, index).value_or(0) != 0;
    const uint64_t pattern =
        metadata_->NumberOr(kPattern, BuiltInWindowPattern(metadata_->architecture()));
    return pattern > 0 && index % pattern != pattern - 1;
  }

  // Short convolutions keep their last inputs alone. 32-bit floats;
  // https://arxiv.org/abs/2405.21060, section 7, has the sizes' names.
  uint64_t StateBytes() const {
    if (const auto kernel = metadata_->Number("shortconv.l_cache")) {
      return sizeof(float) * (std::max<uint64_t>(*kernel, 1) - 1) * layout_->embedding_size;
    }
    const uint64_t inner = metadata_->NumberOr("ssm.inner_size", 0);
    const uint64_t state = metadata_->NumberOr("ssm.state_size", 0);
    const uint64_t groups = metadata_->NumberOr("ssm.group_count", 0);
    const uint64_t kernel = std::max<uint64_t>(metadata_->NumberOr("ssm.conv_kernel", 1), 1);
    return sizeof(float) * (inner * state + (kernel - 1) * (inner + 2 * groups * state));
  }

  const LayoutMetadata* const metadata_;
  ModelLayout* const layout_;
  std::vector<LayerTensors> tensors_;
  uint64_t token_embedding_bytes_ = 0;
  bool has_output_ = false;
};

}  // namespace

bool ModelLayout::has_experts() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerLayout& layer) { return layer.expert_bytes > 0; });
}

Result<ModelLayout> ReadModelLayout(const std::string& path) {
  const auto files = OpenGgufFiles(path);
  if (!files) return tl::unexpected(files.error());
  const LayoutMetadata metadata(files->front().gguf.get());
  constexpr uint64_t kLayoutLayersMax = 10'000;  // libllama takes fewer
  const auto layers = metadata.Number("block_count");
  const auto embedding_size = metadata.Number("embedding_length");
  if (!layers || *layers == 0 || *layers > kLayoutLayersMax || !embedding_size) {
    return Fail(ErrorCode::kCorrupt,
                "'" + path + "' does not say how many layers it has and how wide they are");
  }
  ModelLayout layout;
  layout.layers.resize(*layers);
  layout.embedding_size = *embedding_size;
  layout.window_tokens = metadata.NumberOr("attention.sliding_window", 0);
  layout.trained_tokens = metadata.NumberOr("context_length", 0);
  const gguf_context* first = files->front().gguf.get();
  const int64_t tokens = gguf_find_key(first, "tokenizer.ggml.tokens");
  if (tokens >= 0 && gguf_get_kv_type(first, tokens) == GGUF_TYPE_ARRAY) {
    layout.vocabulary_tokens = gguf_get_arr_n(first, tokens);
  }
  LayoutReader reader(&metadata, &layout);
  for (const GgufFile& file : *files) reader.AddFile(file.gguf.get());
  reader.Finish();
  return layout;
}

}  // namespace cairn
