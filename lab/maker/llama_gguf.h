// GGUF files through libllama and ggml: owners of their objects, and the tensors that libllama
// expects of an architecture. For lab/maker/llama_*.cc only.

#ifndef CAIRN_LAB_MAKER_LLAMA_GGUF_H_
#define CAIRN_LAB_MAKER_LLAMA_GGUF_H_

#include <ggml.h>
#include <gguf.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/llama/backend/llama_log.h"
#include "lab/maker/model_recipe.h"

namespace cairn {

struct GgufDeleter {
  void operator()(gguf_context* gguf) const { gguf_free(gguf); }
};
struct GgmlDeleter {
  void operator()(ggml_context* context) const { ggml_free(context); }
};
using GgufPtr = std::unique_ptr<gguf_context, GgufDeleter>;
using GgmlPtr = std::unique_ptr<ggml_context, GgmlDeleter>;

// Returns a file of these keys and no tensors.
GgufPtr ToGguf(const Metadata& metadata);

// Returns a context with room for the descriptions of `tensors` tensors, without their values.
GgmlPtr TensorContext(size_t tensors);

// The shape of one tensor that libllama expects in the architecture's file.
struct TensorShape {
  std::string name;
  int dimensions;
  std::array<int64_t, GGML_MAX_DIMS> sizes;
};

// Returns the tensors that libllama expects of a model with this metadata. kUnsupported: none.
Result<std::vector<TensorShape>> AskForTensors(gguf_context* metadata,
                                               const std::string& architecture,
                                               const LlamaErrorListener& errors);

// Removes a file, if it exists, when it goes out of scope.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// kInvalidArgument: `path` is a folder, or `temporary`, a file beside it, cannot be written.
Status CheckWritable(const std::string& path, const std::string& temporary);

// Writes metadata and tensors to `path`. kInternal: the write failed, usually for lack of space.
Status WriteGguf(const gguf_context* gguf, const std::string& path);

// Renames the finished file `temporary` to `path`. Returns its size in bytes.
Result<uint64_t> PutInPlace(const std::string& temporary, const std::string& path);

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_LLAMA_GGUF_H_
