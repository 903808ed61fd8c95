// Vectors of texts: POST /v1/embeddings in OpenAI's format, POST /embeddings and /embedding in
// llama-server's.

#ifndef CAIRN_API_OPENAI_EMBEDDINGS_H_
#define CAIRN_API_OPENAI_EMBEDDINGS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_error.h"
#include "api/json.h"
#include "api/service/chat_service.h"
#include "base/result.h"
#include "cache/objects/segment_index.h"
#include "engine/embed/embedder.h"
#include "engine/engine.h"
#include "media/medium.h"
#include "sched/media/media_rows_format.h"

namespace cairn {

// Where the media of texts are read, and what encodes them.
struct EmbeddingsMedia {
  const ChatService* service = nullptr;  // null: no text may have media
  NamespaceId key = 0;                   // of the request; see MediaDecoder
  // Returns the rows of a medium. Empty without a projector. Any thread.
  std::function<Result<EncodedPieces>(NamespaceId key, const Medium& medium)> encode = {};
};

// The vectors of a request's texts, in order.
struct EmbeddedTexts {
  std::vector<TextVectors> texts;
  size_t tokens = 0;
  bool base64 = false;
};

// Embeds the texts of a request's body, whatever the form of its answer. With `truncate` a text
// that is too long is cut at its end; otherwise it is a 400. For the rest see EmbeddingsBody.
ApiResult<EmbeddedTexts> EmbedTexts(const Engine& engine, Embedder* embedder, const Json& body,
                                    bool truncate, const std::function<bool()>& gone,
                                    const EmbeddingsMedia& media = {});

// `input` is a text, tokens, or a list of either; a list that contains a number is one text, of
// tokens and texts in this order. A text with media is an object with `prompt_string` and
// `multimodal_data`, as in POST /completion; the content of a message, {"content": [{"type":
// "text", "text": …}]}, is one text. `encoding_format` is "float", or "base64" of little-endian
// 32-bit floats. Special tokens in a text are parsed, as in llama-server. If `embedder` is null,
// returns a 501 that names the flag; if it gives a vector for each token, a 400. Polls `gone`
// between two texts; true cancels. Any thread.
ApiResult<std::string> EmbeddingsBody(const Engine& engine, Embedder* embedder,
                                      const std::string& model, std::string_view body,
                                      const std::function<bool()>& gone,
                                      const EmbeddingsMedia& media = {});

// The same in llama-server's own format: [{"index": 0, "embedding": [[…]]}], with the texts in
// `content` or `input`, and with a vector for each token where the embedder gives them.
ApiResult<std::string> NativeEmbeddingsBody(const Engine& engine, Embedder* embedder,
                                            std::string_view body,
                                            const std::function<bool()>& gone,
                                            const EmbeddingsMedia& media = {});

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_EMBEDDINGS_H_
