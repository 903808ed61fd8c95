#include "lab/maker/llama_adapter_maker.h"

#include <unistd.h>

#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "lab/maker/llama_gguf.h"
#include "lab/maker/model_weights.h"

namespace cairn {
namespace {

// The tensors that libllama multiplies with adapters on every architecture that has them.
bool IsAdapted(const TensorShape& shape) {
  constexpr std::array<std::string_view, 5> kEnds = {".attn_q.weight", ".attn_output.weight",
                                                     ".ffn_up.weight", ".ffn_down.weight",
                                                     ".ffn_gate.weight"};
  bool ends = false;
  for (const std::string_view end : kEnds) {
    ends = ends || std::string_view(shape.name).ends_with(end);
  }
  return ends && shape.dimensions == 2;
}

// Even values in [-range, range], which depend on the name and the seed alone.
std::vector<float> Drawn(const std::string& name, size_t count, double range, uint64_t seed) {
  std::vector<float> values(count);
  uint64_t state = Hash64(name, seed);
  for (float& value : values) {
    state = HashMix(state, 1);
    const double unit = static_cast<double>(state >> 11U) / static_cast<double>(1ULL << 53U);
    value = static_cast<float>((2 * unit - 1) * range);
  }
  return values;
}

class AdapterFile {
 public:
  AdapterFile(gguf_context* gguf, size_t tensors) : gguf_(gguf), context_(TensorContext(tensors)) {}

  void Add(const std::string& name, int64_t row, int64_t rows, std::vector<float> values) {
    ggml_tensor* const tensor = ggml_new_tensor_2d(context_.get(), GGML_TYPE_F32, row, rows);
    ggml_set_name(tensor, name.c_str());
    values_.push_back(std::move(values));
    tensor->data = values_.back().data();
    gguf_add_tensor(gguf_, tensor);
  }

 private:
  gguf_context* const gguf_;
  const GgmlPtr context_;
  std::vector<std::vector<float>> values_;  // gguf points into them
};

}  // namespace

Status WriteAdapter(const ModelRecipe& recipe, const AdapterShape& shape, const std::string& path,
                    const LogSink& log) {
  const TemporaryFile temporary(path + "." + std::to_string(getpid()) + ".tmp");
  if (Status status = CheckWritable(path, temporary.path()); !status) return status;
  const LlamaErrorListener errors(log);
  const std::string& architecture = recipe.shape.architecture;
  const GgufPtr model = ToGguf(recipe.metadata);
  const auto tensors = AskForTensors(model.get(), architecture, errors);
  if (!tensors) return tl::unexpected<Error>(tensors.error());

  const GgufPtr gguf = ToGguf({{"general.type", std::string("adapter")},
                               {"general.architecture", architecture},
                               {"adapter.type", std::string("lora")},
                               {"adapter.lora.alpha", static_cast<float>(shape.rank)}});
  AdapterFile file(gguf.get(), 2 * tensors->size());
  const int64_t rank = shape.rank;
  for (const TensorShape& tensor : *tensors) {
    if (!IsAdapted(tensor) || !WantsTensor(architecture, tensor.name)) continue;
    const int64_t in = tensor.sizes[0];
    const int64_t out = tensor.sizes[1];
    // The product of the two has entries of about `strength` divided by the square root of `in`.
    file.Add(tensor.name + ".lora_a", in, rank,
             Drawn(tensor.name + "a", static_cast<size_t>(in * rank),
                   std::sqrt(3.0 / static_cast<double>(in)), shape.seed));
    file.Add(tensor.name + ".lora_b", rank, out,
             Drawn(tensor.name + "b", static_cast<size_t>(rank * out),
                   shape.strength * std::sqrt(3.0 / static_cast<double>(rank)), shape.seed));
  }
  if (gguf_get_n_tensors(gguf.get()) == 0) {
    return Fail(ErrorCode::kUnsupported,
                "no weights of " + architecture + " are among those that an adapter is made for");
  }
  if (Status written = WriteGguf(gguf.get(), temporary.path()); !written) return written;
  const auto put = PutInPlace(temporary.path(), path);
  if (!put) return tl::unexpected<Error>(put.error());
  return {};
}

}  // namespace cairn
