// The metadata of a loaded model's file, as libllama tells them. For src/engine/ only.

#ifndef CAIRN_ENGINE_LLAMA_GGUF_MODEL_METADATA_H_
#define CAIRN_ENGINE_LLAMA_GGUF_MODEL_METADATA_H_

#include <string>

struct llama_model;

namespace cairn {

// Returns the value of `key` as text, at most 1,023 bytes of it; empty if the file has none. Any
// thread.
std::string ModelMetadata(const llama_model* model, const std::string& key);

// "general.architecture"
std::string ArchitectureOf(const llama_model* model);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_GGUF_MODEL_METADATA_H_
