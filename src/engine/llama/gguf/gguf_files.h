// GgufFiles: the metadata and the tables of tensors of a model's files. A split model's first file
// implies its siblings.
//
// Threads: any. For src/engine/ only: files that include it see ggml's types.

#ifndef CAIRN_ENGINE_LLAMA_GGUF_GGUF_FILES_H_
#define CAIRN_ENGINE_LLAMA_GGUF_GGUF_FILES_H_

#include <gguf.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace cairn {

struct GgufDeleter {
  void operator()(gguf_context* gguf) const { gguf_free(gguf); }
};

struct GgufFile {
  std::string path;
  std::unique_ptr<gguf_context, GgufDeleter> gguf;  // never null
};

// Opens one file, without its tensors' data. kNotFound if it cannot be read.
Result<GgufFile> OpenGgufFile(std::string path);

// Opens the model's files in order, without their tensors' data. kNotFound if one cannot be read.
Result<std::vector<GgufFile>> OpenGgufFiles(const std::string& path);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_GGUF_GGUF_FILES_H_
