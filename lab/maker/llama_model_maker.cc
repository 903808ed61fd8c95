#include "lab/maker/llama_model_maker.h"

#include <llama.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "base/text.h"
#include "engine/llama/backend/llama_log.h"
#include "engine/llama/model/llama_pointers.h"
#include "lab/maker/encoder_recipe.h"
#include "lab/maker/llama_gguf.h"
#include "lab/maker/model_weights.h"
#include "lab/maker/mtp_weights.h"

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

}  // namespace cairn
