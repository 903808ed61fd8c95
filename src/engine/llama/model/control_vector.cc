#include "engine/llama/model/control_vector.h"

#include <ggml.h>
#include <gguf.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string_view>
#include <system_error>

#include "base/hash.h"
#include "base/text.h"
#include "engine/llama/gguf/gguf_files.h"

namespace cairn {
namespace {

constexpr std::string_view kDirection = "direction.";
constexpr int32_t kVectorLayersMax = 4096;  // more than any model has

struct FreeTensors {
  void operator()(ggml_context* tensors) const { ggml_free(tensors); }
};

// A file with the numbers of its tensors.
struct OpenedFile {
  std::unique_ptr<gguf_context, GgufDeleter> gguf;
  std::unique_ptr<ggml_context, FreeTensors> tensors;
};

Result<OpenedFile> OpenFile(const std::string& path) {
  OpenedFile file;
  ggml_context* tensors = nullptr;
  file.gguf.reset(gguf_init_from_file(path.c_str(), {/*no_alloc=*/false, &tensors}));
  file.tensors.reset(tensors);
  if (file.gguf != nullptr && tensors != nullptr) return file;
  return Fail(ErrorCode::kNotFound,
              "--control-vector: '" + path + "' is not there, or is no GGUF file");
}

// Returns the layer of a tensor's name; 0 if it is no direction.
int32_t LayerOf(std::string_view name) {
  if (!name.starts_with(kDirection)) return 0;
  name.remove_prefix(kDirection.size());
  int32_t layer = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), layer);
  const bool is_number = read.ec == std::errc() && read.ptr == name.data() + name.size();
  return is_number && layer > 0 && layer <= kVectorLayersMax ? layer : 0;
}

// Adds the numbers of one tensor, times `scale`. Returns false if it is not as it should be.
bool AddDirection(const ggml_tensor& tensor, int32_t layer, float scale, ControlVector* vector) {
  const auto width = static_cast<size_t>(tensor.ne[0]);
  const bool is_row = tensor.type == GGML_TYPE_F32 && ggml_n_dims(&tensor) == 1 && width > 0;
  if (!is_row || (vector->width != 0 && vector->width != width)) return false;
  vector->width = width;
  const size_t begin = width * static_cast<size_t>(layer - 1);
  vector->rows.resize(std::max(vector->rows.size(), begin + width), 0.0F);
  const auto* const numbers = static_cast<const float*>(tensor.data);
  for (size_t i = 0; i < width; ++i) vector->rows[begin + i] += numbers[i] * scale;
  return true;
}

Status AddFile(const LlamaOptions::ControlFile& file, ControlVector* vector) {
  const auto opened = OpenFile(file.path);
  if (!opened) return tl::unexpected(opened.error());
  size_t directions = 0;
  const int64_t count = gguf_get_n_tensors(opened->gguf.get());
  for (int64_t i = 0; i < count; ++i) {
    const char* const name = gguf_get_tensor_name(opened->gguf.get(), i);
    const int32_t layer = LayerOf(name);
    if (layer == 0) continue;
    const ggml_tensor* const tensor = ggml_get_tensor(opened->tensors.get(), name);
    if (tensor == nullptr || !AddDirection(*tensor, layer, file.scale, vector)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--control-vector: the tensor " + std::string(name) + " of '" + file.path +
                      "' is not a row of 32-bit floats, or of another length than the others");
    }
    ++directions;
  }
  if (directions > 0) return {};
  return Fail(ErrorCode::kInvalidArgument, "--control-vector: '" + file.path +
                                               "' has no tensor direction.1, direction.2, …: it is "
                                               "no control vector");
}

struct Layers {
  int32_t first = 1;
  int32_t last = 0;
};

Layers LayersOf(const LlamaOptions& options, int32_t all) {
  return {std::max(options.control_layer_first, 1),
          options.control_layer_last > 0 ? options.control_layer_last : all};
}

}  // namespace

Result<ControlVector> ReadControlVectors(const std::vector<LlamaOptions::ControlFile>& files) {
  ControlVector vector;
  for (const LlamaOptions::ControlFile& file : files) {
    if (Status added = AddFile(file, &vector); !added) return tl::unexpected(added.error());
  }
  return vector;
}

Status ApplyControlVector(const ControlVector& vector, const LlamaOptions& options,
                          const llama_model* model, llama_context* context) {
  if (vector.empty()) return {};
  if (static_cast<size_t>(llama_model_n_embd(model)) != vector.width) {
    return Fail(ErrorCode::kInvalidArgument,
                "--control-vector is of another model: its rows have " +
                    std::to_string(vector.width) + " numbers, and this model's hidden states " +
                    std::to_string(llama_model_n_embd(model)));
  }
  const Layers layers = LayersOf(options, llama_model_n_layer(model));
  if (llama_set_adapter_cvec(context, vector.rows.data(), vector.rows.size(),
                             static_cast<int32_t>(vector.width), layers.first, layers.last) == 0) {
    return {};
  }
  return Fail(ErrorCode::kInvalidArgument, "libllama cannot apply --control-vector to this model");
}

std::string ControlVectorFact(const ControlVector& vector, const LlamaOptions& options) {
  if (vector.empty()) return "";
  const uint64_t hash = Hash64(vector.rows.data(), vector.rows.size() * sizeof(float));
  return HexText(hash) + " in layers " + std::to_string(options.control_layer_first) + " to " +
         std::to_string(options.control_layer_last);
}

}  // namespace cairn
