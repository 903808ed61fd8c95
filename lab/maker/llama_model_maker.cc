#include "lab/maker/llama_model_maker.h"

#include <llama.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "engine/llama/backend/llama_log.h"
#include "engine/llama/model/llama_pointers.h"
#include "lab/maker/encoder_recipe.h"
#include "lab/maker/llama_gguf.h"
#include "lab/maker/model_weights.h"

namespace cairn {
namespace {

struct Quant {
  const char* name;
  llama_ftype type;
};

// The types that need no importance matrix.
constexpr std::array<Quant, 12> kQuants = {{
    {"f32", LLAMA_FTYPE_ALL_F32},
    {"f16", LLAMA_FTYPE_MOSTLY_F16},
    {"bf16", LLAMA_FTYPE_MOSTLY_BF16},
    {"q8_0", LLAMA_FTYPE_MOSTLY_Q8_0},
    {"q6_k", LLAMA_FTYPE_MOSTLY_Q6_K},
    {"q5_0", LLAMA_FTYPE_MOSTLY_Q5_0},
    {"q5_k", LLAMA_FTYPE_MOSTLY_Q5_K_M},
    {"q4_0", LLAMA_FTYPE_MOSTLY_Q4_0},
    {"q4_1", LLAMA_FTYPE_MOSTLY_Q4_1},
    {"q4_k", LLAMA_FTYPE_MOSTLY_Q4_K_M},
    {"q3_k", LLAMA_FTYPE_MOSTLY_Q3_K_M},
    {"q2_k", LLAMA_FTYPE_MOSTLY_Q2_K},
}};

Result<Quant> FindQuant(const std::string& name) {
  for (const Quant& quant : kQuants) {
    if (quant.name == name) return quant;
  }
  return Fail(ErrorCode::kNotFound, "There is no number type \"" + name + "\"; choose one of " +
                                        JoinNames(KnownQuants()) + ".");
}

// A model that ranks has a head, and no projection of embeddings (libllama 0.8 asks for both).
bool Wants(const ModelShape& shape, std::string_view tensor) {
  const std::vector<std::string> encoders = KnownEncoders();
  if (std::find(encoders.begin(), encoders.end(), shape.architecture) != encoders.end()) {
    return EncoderWantsTensor(shape, tensor);
  }
  if (IsHeadTensor(tensor)) return HeadWantsTensor(shape, tensor);
  if (shape.ranks && tensor == "cls.output.weight") return true;
  if (shape.ranks && tensor.starts_with("dense_")) return false;
  return WantsTensor(shape.architecture, tensor);
}

// Writes metadata and weights as float32.
Result<uint64_t> WriteFloats(const ModelRecipe& recipe, GgufPtr gguf,
                             const std::vector<TensorShape>& shapes, const std::string& path) {
  const GgmlPtr context = TensorContext(shapes.size());
  std::vector<std::vector<float>> weights;  // gguf points into them
  uint64_t parameters = 0;
  for (const TensorShape& shape : shapes) {
    if (!Wants(recipe.shape, shape.name)) continue;
    ggml_tensor* tensor =
        ggml_new_tensor(context.get(), GGML_TYPE_F32, shape.dimensions, shape.sizes.data());
    ggml_set_name(tensor, shape.name.c_str());
    weights.push_back(WeightsWithHead(recipe.shape, shape.name, static_cast<size_t>(tensor->ne[0]),
                                      static_cast<size_t>(ggml_nrows(tensor))));
    parameters += weights.back().size();
    tensor->data = weights.back().data();
    gguf_add_tensor(gguf.get(), tensor);
  }
  if (const Status written = WriteGguf(gguf.get(), path); !written) {
    return tl::unexpected<Error>(written.error());
  }
  return parameters;
}

Status Quantize(const std::string& from, const std::string& to, llama_ftype type,
                const LlamaErrorListener& errors) {
  llama_model_quantize_params params = llama_model_quantize_default_params();
  params.ftype = type;
  std::string reason;
  try {
    if (llama_model_quantize(from.c_str(), to.c_str(), &params) == 0) return {};
    reason = errors.Because();
  } catch (const std::exception& e) {
    reason = std::string(": ") + e.what();
  }
  return Fail(ErrorCode::kInternal, "libllama could not quantise the model" + reason +
                                        "; look whether the disk is full.");
}

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

std::vector<std::string> KnownQuants() {
  std::vector<std::string> names;
  for (const Quant& quant : kQuants) names.emplace_back(quant.name);
  return names;
}

Result<WrittenModel> WriteModel(const ModelRecipe& recipe, const std::string& path,
                                const WriteOptions& options) {
  const Result<Quant> quant = FindQuant(options.quant);
  if (!quant) return tl::unexpected<Error>(quant.error());
  const std::string temporary = path + "." + std::to_string(getpid()) + ".tmp";
  const TemporaryFile floats(temporary);
  const TemporaryFile quantized(temporary + "2");
  if (Status status = CheckWritable(path, floats.path()); !status) {
    return tl::unexpected<Error>(status.error());
  }

  const LlamaErrorListener errors(options.log);
  GgufPtr gguf = ToGguf(recipe.metadata);
  const auto shapes = AskForTensors(gguf.get(), recipe.shape.architecture, errors);
  if (!shapes) return tl::unexpected<Error>(shapes.error());
  const bool is_float = quant->type == LLAMA_FTYPE_ALL_F32;
  if (is_float) gguf_set_val_u32(gguf.get(), "general.file_type", LLAMA_FTYPE_ALL_F32);
  const Result<uint64_t> parameters = WriteFloats(recipe, std::move(gguf), *shapes, floats.path());
  if (!parameters) return tl::unexpected<Error>(parameters.error());
  if (!is_float) {
    const Status status = Quantize(floats.path(), quantized.path(), quant->type, errors);
    if (!status) return tl::unexpected<Error>(status.error());
  }

  const std::string& result = is_float ? floats.path() : quantized.path();
  const Result<uint64_t> file_bytes = PutInPlace(result, path);
  if (!file_bytes) return tl::unexpected<Error>(file_bytes.error());
  return WrittenModel{*parameters, *file_bytes};
}

Result<WrittenModel> WriteProjector(const ProjectorRecipe& recipe, const std::string& path) {
  const TemporaryFile file(path + "." + std::to_string(getpid()) + ".tmp");
  if (Status status = CheckWritable(path, file.path()); !status) {
    return tl::unexpected<Error>(status.error());
  }
  const GgufPtr gguf = ToGguf(recipe.metadata);
  const GgmlPtr context = TensorContext(recipe.tensors.size());
  std::vector<std::vector<float>> weights;  // gguf points into them
  WrittenModel written;
  for (const ProjectorTensor& planned : recipe.tensors) {
    ggml_tensor* tensor = ggml_new_tensor(
        context.get(), GGML_TYPE_F32, static_cast<int>(planned.sizes.size()), planned.sizes.data());
    ggml_set_name(tensor, planned.name.c_str());
    size_t row_size = 1;
    for (size_t i = 0; i < planned.summed; ++i) row_size *= planned.sizes[i];
    const auto values = static_cast<size_t>(ggml_nelements(tensor));
    weights.push_back(
        MakeWeights("clip", planned.name, row_size, values / row_size, recipe.shape.seed));
    tensor->data = weights.back().data();
    gguf_add_tensor(gguf.get(), tensor);
    written.parameters += values;
  }
  if (const Status done = WriteGguf(gguf.get(), file.path()); !done) {
    return tl::unexpected<Error>(done.error());
  }
  const Result<uint64_t> file_bytes = PutInPlace(file.path(), path);
  if (!file_bytes) return tl::unexpected<Error>(file_bytes.error());
  written.file_bytes = *file_bytes;
  return written;
}

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
