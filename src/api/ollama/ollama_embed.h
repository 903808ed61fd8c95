// Vectors of texts in Ollama's form: POST /api/embed, and POST /api/embeddings, its older form of
// one text.
//
//   {"input": ["a", "b"]}  ->  {"model": "m", "embeddings": [[…], […]], "prompt_eval_count": 9, …}
//   {"prompt": "a"}        ->  {"embedding": […]}
//
// Nothing to embed gives no vectors, as in Ollama, whose clients load a model by that. Too long a
// text is cut at its end unless `truncate` is false.
//
// Threads: any.

#ifndef CAIRN_API_OLLAMA_OLLAMA_EMBED_H_
#define CAIRN_API_OLLAMA_OLLAMA_EMBED_H_

#include <functional>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "api/llama_server/native.h"
#include "api/openai/embeddings.h"
#include "base/clock.h"

namespace cairn {

struct OllamaEmbedding {
  const Engine* engine = nullptr;
  Embedder* embedder = nullptr;  // null: the server does not embed
  const ServedModel* served = nullptr;
  const Clock* clock = nullptr;  // for the durations in the answer
};

// See EmbeddingsBody for `gone`.
ApiResult<std::string> OllamaEmbedBody(const OllamaEmbedding& embedding, std::string_view body,
                                       const std::function<bool()>& gone);
ApiResult<std::string> OllamaEmbeddingsBody(const OllamaEmbedding& embedding, std::string_view body,
                                            const std::function<bool()>& gone);

}  // namespace cairn

#endif  // CAIRN_API_OLLAMA_OLLAMA_EMBED_H_
