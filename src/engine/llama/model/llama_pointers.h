// LlamaModelPtr, LlamaContextPtr: owners of libllama's objects, for files that do not include
// llama.h.

#ifndef CAIRN_ENGINE_LLAMA_MODEL_LLAMA_POINTERS_H_
#define CAIRN_ENGINE_LLAMA_MODEL_LLAMA_POINTERS_H_

#include <memory>

struct llama_context;
struct llama_model;

namespace cairn {

struct LlamaModelDeleter {
  void operator()(llama_model* model) const;
};
struct LlamaContextDeleter {
  void operator()(llama_context* context) const;
};
using LlamaModelPtr = std::unique_ptr<llama_model, LlamaModelDeleter>;
using LlamaContextPtr = std::unique_ptr<llama_context, LlamaContextDeleter>;

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MODEL_LLAMA_POINTERS_H_
