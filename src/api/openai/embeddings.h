// Vectors of texts: POST /v1/embeddings in OpenAI's format, POST /embedding in llama-server's.

#ifndef CAIRN_API_OPENAI_EMBEDDINGS_H_
#define CAIRN_API_OPENAI_EMBEDDINGS_H_

#include <functional>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "engine/embed/embedder.h"
#include "engine/engine.h"

namespace cairn {

// `input` is a text, tokens, or a list of either; `encoding_format` is "float", or "base64" of
// little-endian 32-bit floats. Special tokens in a text are parsed, as in llama-server. If
// `embedder` is null, returns a 501 that names the flag. Polls `gone` between two texts; true
// cancels. Any thread.
ApiResult<std::string> EmbeddingsBody(const Engine& engine, Embedder* embedder,
                                      const std::string& model, std::string_view body,
                                      const std::function<bool()>& gone);

// The same in llama-server's own format: [{"index": 0, "embedding": [[…]]}], with the texts in
// `content` or `input`.
ApiResult<std::string> NativeEmbeddingsBody(const Engine& engine, Embedder* embedder,
                                            std::string_view body,
                                            const std::function<bool()>& gone);

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_EMBEDDINGS_H_
