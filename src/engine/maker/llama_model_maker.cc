#include "engine/maker/llama_model_maker.h"

#include <ggml.h>
#include <gguf.h>
#include <llama.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/join.h"
#include "engine/llama/backend/llama_log.h"
#include "engine/llama/model/llama_pointers.h"
#include "engine/maker/model_weights.h"

namespace cairn {
namespace {

struct Quant {
  const char* name;
  llama_ftype type;
};

// Those that need no importance matrix.
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

struct GgufDeleter {
  void operator()(gguf_context* gguf) const { gguf_free(gguf); }
};
struct GgmlDeleter {
  void operator()(ggml_context* context) const { ggml_free(context); }
};
using GgufPtr = std::unique_ptr<gguf_context, GgufDeleter>;
using GgmlPtr = std::unique_ptr<ggml_context, GgmlDeleter>;

// Removes a file when it goes out of scope, if it is there.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// One tensor that libllama expects in the architecture's file.
struct TensorShape {
  std::string name;
  int dimensions;
  std::array<int64_t, GGML_MAX_DIMS> sizes;
};

Result<Quant> FindQuant(const std::string& name) {
  for (const Quant& quant : kQuants) {
    if (quant.name == name) return quant;
  }
  return Fail(ErrorCode::kNotFound, "There is no number type \"" + name + "\"; choose one of " +
                                        JoinNames(KnownQuants()) + ".");
}

// GGUF's array element types by ours.
gguf_type ArrayType(int32_t) {
  return GGUF_TYPE_INT32;
}
gguf_type ArrayType(uint32_t) {
  return GGUF_TYPE_UINT32;
}
gguf_type ArrayType(float) {
  return GGUF_TYPE_FLOAT32;
}

void SetValue(gguf_context* gguf, const char* key, uint32_t value) {
  gguf_set_val_u32(gguf, key, value);
}
void SetValue(gguf_context* gguf, const char* key, int32_t value) {
  gguf_set_val_i32(gguf, key, value);
}
void SetValue(gguf_context* gguf, const char* key, float value) {
  gguf_set_val_f32(gguf, key, value);
}
void SetValue(gguf_context* gguf, const char* key, bool value) {
  gguf_set_val_bool(gguf, key, value);
}
void SetValue(gguf_context* gguf, const char* key, const std::string& value) {
  gguf_set_val_str(gguf, key, value.c_str());
}
void SetValue(gguf_context* gguf, const char* key, const std::vector<std::string>& values) {
  std::vector<const char*> texts;
  for (const std::string& value : values) texts.push_back(value.c_str());
  gguf_set_arr_str(gguf, key, texts.data(), texts.size());
}
template <typename T>
void SetValue(gguf_context* gguf, const char* key, const std::vector<T>& values) {
  gguf_set_arr_data(gguf, key, ArrayType(T{}), values.data(), values.size());
}

GgufPtr ToGguf(const Metadata& metadata) {
  GgufPtr gguf(gguf_init_empty());
  for (const auto& [key, value] : metadata) {
    std::visit([&, name = key.c_str()](const auto& v) { SetValue(gguf.get(), name, v); }, value);
  }
  return gguf;
}

// libllama calls this for each tensor of the model it builds. The values stay as they are: the
// model is only asked for its shapes.
void CollectShape(ggml_tensor* tensor, void* user_data) {
  TensorShape shape;
  shape.name = ggml_get_name(tensor);
  shape.dimensions = ggml_n_dims(tensor);
  std::copy(std::begin(tensor->ne), std::end(tensor->ne), shape.sizes.begin());
  static_cast<std::vector<TensorShape>*>(user_data)->push_back(std::move(shape));
}

// Asks libllama which tensors a model with this metadata has.
Result<std::vector<TensorShape>> AskForTensors(gguf_context* metadata,
                                               const std::string& architecture,
                                               const LlamaErrorListener& errors) {
  std::vector<TensorShape> shapes;
  std::string reason;
  ggml_backend_dev_t no_devices[] = {nullptr};
  llama_model_params params = llama_model_default_params();
  params.devices = no_devices;
  params.n_gpu_layers = 0;
  try {
    const LlamaModelPtr model(llama_model_init_from_user(metadata, CollectShape, &shapes, params));
    if (model != nullptr) return shapes;
    reason = errors.Because();
  } catch (const std::exception& e) {
    reason = std::string(": ") + e.what();
  }
  return Fail(ErrorCode::kUnsupported, "libllama cannot build a model of the architecture " +
                                           architecture + reason +
                                           "; try the default sizes or another architecture.");
}

// Writes metadata and weights as float32.
Result<uint64_t> WriteFloats(const ModelRecipe& recipe, GgufPtr gguf,
                             const std::vector<TensorShape>& shapes, const std::string& path) {
  const ggml_init_params params = {ggml_tensor_overhead() * (shapes.size() + 1), nullptr, true};
  const GgmlPtr context(ggml_init(params));
  std::vector<std::vector<float>> weights;  // gguf points into them
  uint64_t parameters = 0;
  for (const TensorShape& shape : shapes) {
    const bool head = recipe.shape.ranks && shape.name == "cls.output.weight";
    if (!head && !WantsTensor(recipe.shape.architecture, shape.name)) continue;
    ggml_tensor* tensor =
        ggml_new_tensor(context.get(), GGML_TYPE_F32, shape.dimensions, shape.sizes.data());
    ggml_set_name(tensor, shape.name.c_str());
    weights.push_back(MakeWeights(recipe.shape.architecture, shape.name,
                                  static_cast<size_t>(tensor->ne[0]),
                                  static_cast<size_t>(ggml_nrows(tensor)), recipe.shape.seed));
    parameters += weights.back().size();
    tensor->data = weights.back().data();
    gguf_add_tensor(gguf.get(), tensor);
  }
  if (!gguf_write_to_file(gguf.get(), path.c_str(), /*only_meta=*/false)) {
    return Fail(ErrorCode::kInternal,
                "Writing " + path + " failed; look whether the disk is full.");
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

Status CheckWritable(const std::string& path, const std::string& temporary) {
  if (std::filesystem::is_directory(path)) {
    return Fail(ErrorCode::kInvalidArgument,
                path + " is a folder; name the file that should be made in it.");
  }
  if (std::ofstream(temporary).is_open()) return {};
  return Fail(ErrorCode::kInvalidArgument, "Cannot write " + path + ": " + std::strerror(errno) +
                                               "; name a file in a folder that you may write to.");
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
  std::error_code error;
  const uint64_t file_bytes = std::filesystem::file_size(result, error);
  if (!error) std::filesystem::rename(result, path, error);
  if (error) {
    return Fail(ErrorCode::kInternal,
                "Cannot rename " + result + " to " + path + ": " + error.message() + ".");
  }
  return WrittenModel{*parameters, file_bytes};
}

}  // namespace cairn
