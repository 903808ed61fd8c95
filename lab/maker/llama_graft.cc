#include "lab/maker/llama_graft.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/llama/backend/llama_log.h"
#include "lab/maker/llama_gguf.h"
#include "lab/maker/model_weights.h"

namespace cairn {
namespace {

constexpr const char* kFrame = "falcon-h1";
constexpr std::string_view kKeys = "llama.";

// A state of 256 KiB per layer, from few inner values with a long state each: the projections in
// and out, which take most of the time, grow with the number of inner values only.
constexpr uint32_t kStateHeads = 4;
constexpr uint32_t kInnerSize = 256;
constexpr uint32_t kGraftStateSize = 256;
constexpr uint32_t kGraftConvKernel = 4;
constexpr uint32_t kGroups = 1;
constexpr uint64_t kSeed = 1;

struct Source {
  GgufPtr gguf;
  GgmlPtr tensors;

  const ggml_tensor* Find(const std::string& name) const {
    return ggml_get_tensor(tensors.get(), name.c_str());
  }
  uint32_t Number(const char* key, uint32_t otherwise) const {
    const int64_t id = gguf_find_key(gguf.get(), key);
    if (id < 0 || gguf_get_kv_type(gguf.get(), id) != GGUF_TYPE_UINT32) return otherwise;
    return gguf_get_val_u32(gguf.get(), id);
  }
  std::string Text(const char* key) const {
    const int64_t id = gguf_find_key(gguf.get(), key);
    if (id < 0 || gguf_get_kv_type(gguf.get(), id) != GGUF_TYPE_STRING) return "";
    return gguf_get_val_str(gguf.get(), id);
  }
};

struct Rope {
  size_t head_size = 0;
  size_t rotated = 0;  // values at the beginning of each head
};

tl::unexpected<Error> Unsupported(const std::string& what) {
  return Fail(ErrorCode::kUnsupported, what + "; it cannot be grafted.");
}

Result<Source> ReadSource(const std::string& path) {
  ggml_context* tensors = nullptr;
  Source source;
  source.gguf.reset(gguf_init_from_file(path.c_str(), {/*no_alloc=*/false, &tensors}));
  source.tensors.reset(tensors);
  if (source.gguf == nullptr) {
    return Fail(ErrorCode::kNotFound, path + " cannot be read, or is no GGUF file.");
  }
  const std::string architecture = source.Text("general.architecture");
  if (architecture == "llama") return source;
  return Unsupported(path + " has the architecture " + architecture + " and not llama");
}

// Copies a value of the source to the frame's key, with the architecture's name replaced.
Status AddFramesValue(const gguf_context* from, int64_t id, const std::string& key,
                      gguf_context* to) {
  switch (gguf_get_kv_type(from, id)) {
    case GGUF_TYPE_UINT32:
      gguf_set_val_u32(to, key.c_str(), gguf_get_val_u32(from, id));
      return {};
    case GGUF_TYPE_INT32:
      gguf_set_val_i32(to, key.c_str(), gguf_get_val_i32(from, id));
      return {};
    case GGUF_TYPE_FLOAT32:
      gguf_set_val_f32(to, key.c_str(), gguf_get_val_f32(from, id));
      return {};
    case GGUF_TYPE_BOOL:
      gguf_set_val_bool(to, key.c_str(), gguf_get_val_bool(from, id));
      return {};
    case GGUF_TYPE_STRING:
      gguf_set_val_str(to, key.c_str(), gguf_get_val_str(from, id));
      return {};
    default:
      return Unsupported(std::string("The model says ") + gguf_get_key(from, id) + " by the layer");
  }
}

Result<GgufPtr> MakeMetadata(const Source& source) {
  GgufPtr gguf(gguf_init_empty());
  gguf_set_kv(gguf.get(), source.gguf.get());
  for (int64_t id = 0; id < gguf_get_n_kv(source.gguf.get()); ++id) {
    const std::string key = gguf_get_key(source.gguf.get(), id);
    if (!key.starts_with(kKeys)) continue;
    gguf_remove_key(gguf.get(), key.c_str());
    const std::string renamed = kFrame + key.substr(kKeys.size() - 1);
    const Status added = AddFramesValue(source.gguf.get(), id, renamed, gguf.get());
    if (!added) return tl::unexpected<Error>(added.error());
  }
  gguf_set_val_str(gguf.get(), "general.architecture", kFrame);
  const std::string name = source.Text("general.name") + " in a hybrid frame (falcon-h1)";
  gguf_set_val_str(gguf.get(), "general.name", name.c_str());
  gguf_set_val_u32(gguf.get(), "falcon-h1.ssm.conv_kernel", kGraftConvKernel);
  gguf_set_val_u32(gguf.get(), "falcon-h1.ssm.inner_size", kInnerSize);
  gguf_set_val_u32(gguf.get(), "falcon-h1.ssm.state_size", kGraftStateSize);
  gguf_set_val_u32(gguf.get(), "falcon-h1.ssm.time_step_rank", kStateHeads);
  gguf_set_val_u32(gguf.get(), "falcon-h1.ssm.group_count", kGroups);
  return gguf;
}

Rope RopeOf(const Source& source) {
  const uint32_t heads = std::max(1U, source.Number("llama.attention.head_count", 1));
  const uint32_t width = source.Number("llama.embedding_length", 0);
  const uint32_t head_size = source.Number("llama.attention.key_length", width / heads);
  return {head_size, source.Number("llama.rope.dimension_count", head_size)};
}

// llama rotates neighbours (0 and 1, 2 and 3 …), falcon-h1 the first half with the second.
std::vector<char> InHalves(const ggml_tensor& tensor, const Rope& rope) {
  std::vector<char> rows(ggml_nbytes(&tensor));
  const size_t row_bytes = tensor.nb[1];
  const auto count = static_cast<size_t>(ggml_nrows(&tensor));
  for (size_t row = 0; row < count; ++row) {
    const size_t in_head = row % rope.head_size;
    size_t from = in_head;
    if (in_head < rope.rotated) {
      const size_t half = rope.rotated / 2;
      from = in_head < half ? 2 * in_head : 2 * (in_head - half) + 1;
    }
    std::memcpy(rows.data() + row * row_bytes,
                static_cast<const char*>(tensor.data) + (row - in_head + from) * row_bytes,
                row_bytes);
  }
  return rows;
}

// The output file: tensors of the source, and those of the branch.
class Graft {
 public:
  Graft(const Source& source, size_t tensors)
      : source_(source), rope_(RopeOf(source)), context_(TensorContext(tensors)) {}

  Status Add(const TensorShape& shape, gguf_context* gguf) {
    if (Contains(shape.name, ".ssm_")) {
      AddBranch(shape, gguf);
      return {};
    }
    const ggml_tensor* original = source_.Find(shape.name);
    // falcon-h1's names lack the ending ".weight".
    if (original == nullptr) original = source_.Find(shape.name + ".weight");
    if (original == nullptr) {
      // Without an output matrix, both architectures use the embedding.
      if (shape.name == "output.weight") return {};
      return Unsupported("The model has no " + shape.name);
    }
    if (!std::equal(shape.sizes.begin(), shape.sizes.end(), original->ne)) {
      return Unsupported("The model's " + shape.name + " has another shape than falcon-h1's");
    }
    ggml_tensor* tensor = New(shape, original->type);
    tensor->data = original->data;
    if (Contains(shape.name, ".attn_q.") || Contains(shape.name, ".attn_k.")) {
      values_.push_back(InHalves(*original, rope_));
      tensor->data = values_.back().data();
    }
    gguf_add_tensor(gguf, tensor);
    used_.insert(ggml_get_name(original));
    return {};
  }

  // Returns a tensor of the source that was not used; empty if all were.
  std::string LeftOver() const {
    for (int64_t i = 0; i < gguf_get_n_tensors(source_.gguf.get()); ++i) {
      const char* name = gguf_get_tensor_name(source_.gguf.get(), i);
      if (!used_.contains(name)) return name;
    }
    return "";
  }

 private:
  ggml_tensor* New(const TensorShape& shape, ggml_type type) {
    ggml_tensor* tensor =
        ggml_new_tensor(context_.get(), type, shape.dimensions, shape.sizes.data());
    ggml_set_name(tensor, shape.name.c_str());
    return tensor;
  }

  // Quantises the matrices, as in usual models; the other tensors are small.
  void AddBranch(const TensorShape& shape, gguf_context* gguf) {
    const bool output = Contains(shape.name, ".ssm_out.");
    const bool matrix = output || Contains(shape.name, ".ssm_in.");
    const bool quantised = matrix && shape.sizes[0] % ggml_blck_size(GGML_TYPE_Q8_0) == 0;
    ggml_tensor* tensor = New(shape, quantised ? GGML_TYPE_Q8_0 : GGML_TYPE_F32);
    const auto row_size = static_cast<size_t>(tensor->ne[0]);
    const auto rows = static_cast<size_t>(ggml_nrows(tensor));
    std::vector<float> weights = MakeWeights(kFrame, shape.name, row_size, rows, kSeed);
    if (output) std::fill(weights.begin(), weights.end(), 0.0F);
    values_.emplace_back(ggml_nbytes(tensor));
    ggml_quantize_chunk(tensor->type, weights.data(), values_.back().data(), 0,
                        static_cast<int64_t>(rows), tensor->ne[0], nullptr);
    tensor->data = values_.back().data();
    gguf_add_tensor(gguf, tensor);
  }

  const Source& source_;
  const Rope rope_;
  const GgmlPtr context_;
  std::vector<std::vector<char>> values_;  // gguf points into them
  std::set<std::string> used_;
};

// Returns the bytes of one sequence's states and convolutions, in float32.
uint64_t StateBytes(uint32_t layers) {
  const uint64_t convolved = kInnerSize + 2 * kGroups * kGraftStateSize;
  const uint64_t values =
      uint64_t{kInnerSize} * kGraftStateSize + (kGraftConvKernel - 1) * convolved;
  return layers * values * sizeof(float);
}

}  // namespace

Result<GraftedModel> GraftModel(const std::string& from, const std::string& to,
                                const LogSink& log) {
  const TemporaryFile file(to + "." + std::to_string(getpid()) + ".tmp");
  if (Status status = CheckWritable(to, file.path()); !status) {
    return tl::unexpected<Error>(status.error());
  }
  const LlamaErrorListener errors(log);
  const Result<Source> source = ReadSource(from);
  if (!source) return tl::unexpected<Error>(source.error());
  const Result<GgufPtr> gguf = MakeMetadata(*source);
  if (!gguf) return tl::unexpected<Error>(gguf.error());
  const auto shapes = AskForTensors(gguf->get(), kFrame, errors);
  if (!shapes) return tl::unexpected<Error>(shapes.error());
  Graft graft(*source, shapes->size());
  for (const TensorShape& shape : *shapes) {
    if (!WantsTensor(kFrame, shape.name)) continue;
    const Status added = graft.Add(shape, gguf->get());
    if (!added) return tl::unexpected<Error>(added.error());
  }
  if (const std::string name = graft.LeftOver(); !name.empty()) {
    return Unsupported("The model has " + name + ", for which falcon-h1 has no place");
  }
  if (const Status written = WriteGguf(gguf->get(), file.path()); !written) {
    return tl::unexpected<Error>(written.error());
  }
  const Result<uint64_t> file_bytes = PutInPlace(file.path(), to);
  if (!file_bytes) return tl::unexpected<Error>(file_bytes.error());
  const uint32_t layers = source->Number("llama.block_count", 0);
  return GraftedModel{source->Text("general.name"), layers, StateBytes(layers), *file_bytes};
}

}  // namespace cairn
