#include "api/ollama/ollama_embed.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "api/json.h"
#include "api/ollama/ollama_models.h"
#include "api/ollama/ollama_request.h"

namespace cairn {
namespace {

// Checks what both requests have, and returns the model's name.
ApiResult<std::string> CheckRequest(const ServedModel& served, const Json& body) {
  auto name = ReadOllamaModel(body);
  if (!name) return name;
  if (const auto there = CheckOllamaModel(served, *name); !there) {
    return tl::unexpected(there.error());
  }
  if (const auto read = ReadKeepAlive(body); !read) return tl::unexpected(read.error());
  if (const auto read = ReadOllamaOptions(body, {}); !read) return tl::unexpected(read.error());
  return name;
}

ApiResult<EmbeddedTexts> Embed(const OllamaEmbedding& embedding, const Json& fields, bool truncate,
                               const std::function<bool()>& gone) {
  if (embedding.embedder != nullptr && !embedding.embedder->pools()) {
    return tl::unexpected(
        ToApiError({ErrorCode::kInvalidArgument,
                    "with --pooling none a text has a vector for each token, which Ollama's format "
                    "cannot hold: use POST /embeddings, or start the server with another "
                    "--pooling"}));
  }
  return EmbedTexts(*embedding.engine, embedding.embedder, fields, truncate, gone);
}

// Returns the texts of `input` as a list; empty if there is nothing to embed.
ApiResult<Json> TextsOf(const Json& body) {
  Json texts = Json::array();
  const Json* input = FieldReader(body, "").Find("input");
  if (input == nullptr || *input == Json("")) return texts;
  if (input->is_string()) {
    texts.push_back(*input);
    return texts;
  }
  const std::string expected = "a string or a list of strings";
  if (!input->is_array()) return tl::unexpected(FieldError("input", expected));
  for (const Json& text : *input) {
    if (!text.is_string()) return tl::unexpected(FieldError("input", expected));
  }
  return *input;
}

}  // namespace

ApiResult<std::string> OllamaEmbedBody(const OllamaEmbedding& embedding, std::string_view body,
                                       const std::function<bool()>& gone) {
  const double begin_ms = embedding.clock->NowMs();
  const auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  const auto name = CheckRequest(*embedding.served, *json);
  if (!name) return tl::unexpected(name.error());
  auto texts = TextsOf(*json);
  if (!texts) return tl::unexpected(texts.error());
  bool truncate = true;
  FieldReader fields(*json, "");
  fields.Bool("truncate", &truncate);
  if (fields.error()) return tl::unexpected(*fields.error());
  EmbeddedTexts embedded;
  if (!texts->empty()) {
    Json asked = {{"input", *std::move(texts)}};
    if (const Json* size = fields.Find("dimensions")) asked["dimensions"] = *size;
    auto made = Embed(embedding, asked, truncate, gone);
    if (!made) return tl::unexpected(made.error());
    embedded = *std::move(made);
  }
  Json vectors = Json::array();
  for (const TextVectors& text : embedded.texts) vectors.push_back(Json(text.front()));
  const int64_t ns = std::llround((embedding.clock->NowMs() - begin_ms) * 1e6);
  return ToText({{"model", *name},
                 {"embeddings", std::move(vectors)},
                 {"total_duration", ns},
                 {"load_duration", 0},
                 {"prompt_eval_count", embedded.tokens}});
}

ApiResult<std::string> OllamaEmbeddingsBody(const OllamaEmbedding& embedding, std::string_view body,
                                            const std::function<bool()>& gone) {
  const auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  const auto name = CheckRequest(*embedding.served, *json);
  if (!name) return tl::unexpected(name.error());
  FieldReader fields(*json, "");
  std::string prompt;
  fields.String("prompt", &prompt);
  if (fields.error()) return tl::unexpected(*fields.error());
  if (prompt.empty()) return ToText({{"embedding", Json::array()}});
  const auto embedded = Embed(embedding, {{"input", prompt}}, true, gone);
  if (!embedded) return tl::unexpected(embedded.error());
  return ToText({{"embedding", Json(embedded->texts.front().front())}});
}

}  // namespace cairn
