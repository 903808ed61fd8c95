// EmbedsTexts: the architectures that can compute embeddings of texts.
//
// For other architectures libllama aborts the process, so a server cannot find it out by trying.
// Each listed one was tried in a process of its own, with a model that llama.cpp's test-llama-archs
// made and libllama 0.7.0: a context with embeddings, each pooling, and the same text twice with
// another between gave the same vector. deepseek4 and qwen4exp aborted.

#ifndef CAIRN_ENGINE_EMBED_EMBEDDING_ARCHITECTURES_H_
#define CAIRN_ENGINE_EMBED_EMBEDDING_ARCHITECTURES_H_

#include <string_view>

namespace cairn {

// Threads: any.
bool EmbedsTexts(std::string_view architecture);

}  // namespace cairn

#endif  // CAIRN_ENGINE_EMBED_EMBEDDING_ARCHITECTURES_H_
