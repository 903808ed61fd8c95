#include "api/openai/embeddings.h"

#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "api/json.h"
#include "api/media/base64.h"
#include "api/prompt/prompt_limits.h"

namespace cairn {
namespace {

constexpr size_t kTextsMax = 2048;  // OpenAI's limit

bool IsToken(const Json& value, const Engine& engine) {
  return value.is_number_integer() && value.get<int64_t>() >= 0 &&
         value.get<int64_t>() < static_cast<int64_t>(engine.info().vocab_size);
}

// Appends the tokens of a text.
ApiResult<void> AddText(const Engine& engine, size_t tokens_max, const std::string& place,
                        const std::string& text, Tokens* tokens) {
  const auto fits = CheckEncodedText(engine, tokens_max, text.size(), place);
  if (!fits) return tl::unexpected(fits.error());
  const auto parsed = engine.Tokenize(text, tokens->empty(), true);
  if (!parsed) return tl::unexpected(ToApiError(parsed.error()));
  tokens->insert(tokens->end(), parsed->begin(), parsed->end());
  return {};
}

// Parses a text, or a list of tokens and texts, which are concatenated.
ApiResult<Tokens> ParseText(const Engine& engine, size_t tokens_max, const std::string& place,
                            const Json& input) {
  Tokens tokens;
  if (input.is_string()) {
    const auto added = AddText(engine, tokens_max, place, input.text(), &tokens);
    if (!added) return tl::unexpected(added.error());
  } else if (input.is_array()) {
    for (const Json& part : input) {
      if (IsToken(part, engine)) {
        tokens.push_back(part.get<Token>());
        continue;
      }
      if (!part.is_string()) return tl::unexpected(FieldError(place, "tokens of the model"));
      const auto added = AddText(engine, tokens_max, place, part.text(), &tokens);
      if (!added) return tl::unexpected(added.error());
      if (tokens.size() > tokens_max) break;  // refused below, whatever follows
    }
  } else {
    return tl::unexpected(FieldError(place, "a string, tokens, or a list of either"));
  }
  if (tokens.empty()) return tl::unexpected(FieldError(place, "a text of one token or more"));
  if (tokens.size() > tokens_max) {
    return tl::unexpected(FieldError(place, "of at most " + std::to_string(tokens_max) +
                                                " tokens, not " + std::to_string(tokens.size()) +
                                                "; a larger --ubatch-size takes longer ones"));
  }
  return tokens;
}

ApiResult<std::vector<Tokens>> ParseInput(const Engine& engine, size_t tokens_max,
                                          const Json& input) {
  const bool several = input.is_array() && !input.empty() && !input[0].is_number();
  std::vector<Tokens> texts;
  if (!several) {
    auto text = ParseText(engine, tokens_max, "input", input);
    if (!text) return tl::unexpected(text.error());
    texts.push_back(std::move(*text));
    return texts;
  }
  if (input.size() > kTextsMax) {
    return tl::unexpected(
        FieldError("input", "a list of at most " + std::to_string(kTextsMax) + " texts"));
  }
  for (const Json& one : input) {
    const std::string place = "input[" + std::to_string(texts.size()) + "]";
    auto text = ParseText(engine, tokens_max, place, one);
    if (!text) return tl::unexpected(text.error());
    texts.push_back(std::move(*text));
  }
  return texts;
}

// The numbers in little-endian order, as OpenAI's API has them.
std::string Base64(std::span<const float> vector) {
  Bytes bytes;
  for (const float number : vector) {
    const auto bits = std::bit_cast<uint32_t>(number);
    for (uint32_t shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<uint8_t>(bits >> shift));
    }
  }
  return EncodeBase64(bytes);
}

struct EmbeddingsRequest {
  std::vector<Tokens> texts;
  bool base64 = false;
};

ApiResult<EmbeddingsRequest> ParseRequest(const Engine& engine, const Embedder& embedder,
                                          const Json& body) {
  FieldReader fields(body, "");
  std::string format = "float";
  fields.String("encoding_format", &format);
  if (format != "float" && format != "base64") {
    fields.Fail("encoding_format", "'float' or 'base64'");
  }
  const auto size = static_cast<int64_t>(embedder.size());
  int64_t dimensions = size;
  fields.Integer("dimensions", size, size, &dimensions);
  if (fields.error()) return tl::unexpected(*fields.error());
  const Json* input = fields.Find("input");
  if (input == nullptr) input = fields.Find("content");  // llama-server's field
  if (input == nullptr) {
    return tl::unexpected(FieldError("input", "a string, tokens, or a list of either"));
  }
  auto texts = ParseInput(engine, embedder.tokens_max(), *input);
  if (!texts) return tl::unexpected(texts.error());
  return EmbeddingsRequest{std::move(*texts), format == "base64"};
}

// The vectors of a request's texts, in order.
struct Embedded {
  std::vector<std::vector<float>> vectors;
  size_t tokens = 0;
  bool base64 = false;
};

ApiResult<Embedded> Embed(const Engine& engine, Embedder* embedder, std::string_view body,
                          const std::function<bool()>& gone) {
  if (embedder == nullptr) {
    return tl::unexpected(
        ToApiError({ErrorCode::kUnsupported,
                    "this server does not serve embeddings; start it with --embeddings"}));
  }
  const auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  const auto request = ParseRequest(engine, *embedder, *json);
  if (!request) return tl::unexpected(request.error());
  Embedded embedded;
  embedded.base64 = request->base64;
  for (const Tokens& text : request->texts) {
    if (gone())
      return tl::unexpected(ToApiError({ErrorCode::kCancelled, "the client disconnected"}));
    auto vector = embedder->Embed(text);
    if (!vector) return tl::unexpected(ToApiError(vector.error()));
    embedded.tokens += text.size();
    embedded.vectors.push_back(*std::move(vector));
  }
  return embedded;
}

}  // namespace

ApiResult<std::string> EmbeddingsBody(const Engine& engine, Embedder* embedder,
                                      const std::string& model, std::string_view body,
                                      const std::function<bool()>& gone) {
  const auto embedded = Embed(engine, embedder, body, gone);
  if (!embedded) return tl::unexpected(embedded.error());
  Json data = Json::array();
  for (const std::vector<float>& vector : embedded->vectors) {
    data.push_back({{"object", "embedding"},
                    {"index", data.size()},
                    {"embedding", embedded->base64 ? Json(Base64(vector)) : Json(vector)}});
  }
  return ToText(
      {{"object", "list"},
       {"data", std::move(data)},
       {"model", model},
       {"usage", {{"prompt_tokens", embedded->tokens}, {"total_tokens", embedded->tokens}}}});
}

ApiResult<std::string> NativeEmbeddingsBody(const Engine& engine, Embedder* embedder,
                                            std::string_view body,
                                            const std::function<bool()>& gone) {
  const auto embedded = Embed(engine, embedder, body, gone);
  if (!embedded) return tl::unexpected(embedded.error());
  Json list = Json::array();
  for (const std::vector<float>& vector : embedded->vectors) {
    Json vectors = Json::array();
    vectors.push_back(Json(vector));
    list.push_back({{"index", list.size()}, {"embedding", std::move(vectors)}});
  }
  return ToText(list);
}

}  // namespace cairn
