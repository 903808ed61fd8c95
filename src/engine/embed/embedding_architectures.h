// EmbedsTexts: the architectures that can compute embeddings of texts. IsEncoder: those of them
// that do nothing else.
//
// For other architectures libllama aborts the process, so a server cannot find it out by trying.
// Each decoder was tried in a process of its own, with a model that llama.cpp's test-llama-archs
// made and libllama 0.7.0: a context with embeddings, each pooling, and the same text twice with
// another between gave the same vector. deepseek4 and qwen4exp aborted. The encoders were tried
// likewise with models of our maker, and a test compares each with libllama used directly.

#ifndef CAIRN_ENGINE_EMBED_EMBEDDING_ARCHITECTURES_H_
#define CAIRN_ENGINE_EMBED_EMBEDDING_ARCHITECTURES_H_

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace cairn {

// Threads: any.
bool EmbedsTexts(std::string_view architecture);

// Whether its models read a complete text at once and keep no memory of it: they compute vectors
// and scores, and write no text.
bool IsEncoder(std::string_view architecture);

// Returns the error of requests that want an answer of an encoder.
Error WritesNoAnswers();

// The kinds of models that a caller can use.
enum class ModelKinds : uint8_t {
  kDecoders,  // models that write text
  kAll,       // and encoders
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_EMBED_EMBEDDING_ARCHITECTURES_H_
