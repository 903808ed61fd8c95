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

}  // namespace

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
