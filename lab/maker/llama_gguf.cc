#include "lab/maker/llama_gguf.h"

#include <llama.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <variant>

#include "engine/llama/model/llama_pointers.h"

namespace cairn {
namespace {

// libllama calls this for each tensor of the model it builds. It leaves the values as they are:
// only the shapes are wanted.
void CollectShape(ggml_tensor* tensor, void* user_data) {
  TensorShape shape;
  shape.name = ggml_get_name(tensor);
  shape.dimensions = ggml_n_dims(tensor);
  std::copy(std::begin(tensor->ne), std::end(tensor->ne), shape.sizes.begin());
  static_cast<std::vector<TensorShape>*>(user_data)->push_back(std::move(shape));
}

// GGUF's array element type for each of ours.
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

}  // namespace

GgufPtr ToGguf(const Metadata& metadata) {
  GgufPtr gguf(gguf_init_empty());
  for (const auto& [key, value] : metadata) {
    std::visit([&, name = key.c_str()](const auto& v) { SetValue(gguf.get(), name, v); }, value);
  }
  return gguf;
}

GgmlPtr TensorContext(size_t tensors) {
  const ggml_init_params params = {ggml_tensor_overhead() * (tensors + 1), nullptr, true};
  return GgmlPtr(ggml_init(params));
}

Result<std::vector<TensorShape>> AskForTensors(gguf_context* metadata,
                                               const std::string& architecture,
                                               const LlamaErrorListener& errors) {
  std::vector<TensorShape> shapes;
  std::string reason;
  ggml_backend_dev_t no_devices[] = {nullptr};
  llama_model_params params = llama_model_default_params();
  params.devices = no_devices;
  params.n_gpu_layers = 0;
  params.load_mtp = true;  // without it libllama leaves the heads' tensors out
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

TemporaryFile::TemporaryFile(std::string path) : path_(std::move(path)) {}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
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

Status WriteGguf(const gguf_context* gguf, const std::string& path) {
  if (gguf_write_to_file(gguf, path.c_str(), /*only_meta=*/false)) return {};
  return Fail(ErrorCode::kInternal, "Writing " + path + " failed; look whether the disk is full.");
}

Result<uint64_t> PutInPlace(const std::string& temporary, const std::string& path) {
  std::error_code error;
  const uint64_t file_bytes = std::filesystem::file_size(temporary, error);
  if (!error) std::filesystem::rename(temporary, path, error);
  if (!error) return file_bytes;
  return Fail(ErrorCode::kInternal,
              "Cannot rename " + temporary + " to " + path + ": " + error.message() + ".");
}

}  // namespace cairn
