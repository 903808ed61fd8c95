#include "api/openai/embeddings.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "api/json.h"
#include "api/media/base64.h"
#include "api/media/media_reader.h"
#include "api/media/placed_medium.h"
#include "api/openai/completion_prompt.h"
#include "api/prompt/prompt_limits.h"

namespace cairn {
namespace {

constexpr size_t kInputTextsMax = 2048;  // OpenAI's limit
// One answer has no more numbers; its JSON takes some 40 bytes for each. A vector for each token
// can reach this limit.
constexpr size_t kNumbersMax = size_t{1} << 24;

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

// A text to embed.
struct EmbeddingsText {
  Tokens tokens;
  std::vector<PlacedMedium> media;
};

// Parses the texts of one request.
class TextReader {
 public:
  // With `truncate` a text that is too long loses its end.
  TextReader(const Engine& engine, size_t tokens_max, bool truncate, const EmbeddingsMedia& media,
             const std::function<bool()>& gone)
      : engine_(engine), tokens_max_(tokens_max), truncate_(truncate), media_(media) {
    if (media.service != nullptr) rules_ = media.service->MediaRulesUntil(gone);
  }

  ApiResult<std::vector<EmbeddingsText>> ReadInput(const Json& input) {
    // As in llama-server, one number makes a list the parts of one text.
    const bool several =
        input.is_array() && !input.empty() &&
        std::none_of(input.begin(), input.end(), [](const Json& one) { return one.is_number(); });
    std::vector<EmbeddingsText> texts;
    if (!several) {
      auto text = Read("input", input);
      if (!text) return tl::unexpected(text.error());
      texts.push_back(std::move(*text));
      return texts;
    }
    if (input.size() > kInputTextsMax) {
      return tl::unexpected(
          FieldError("input", "a list of at most " + std::to_string(kInputTextsMax) + " texts"));
    }
    for (const Json& one : input) {
      auto text = Read("input[" + std::to_string(texts.size()) + "]", one);
      if (!text) return tl::unexpected(text.error());
      texts.push_back(std::move(*text));
    }
    return texts;
  }

 private:
  ApiResult<EmbeddingsText> Read(const std::string& place, const Json& input) {
    EmbeddingsText text;
    const auto added =
        input.is_object() ? AddObject(place, input, &text) : AddParts(place, input, &text.tokens);
    if (!added) return tl::unexpected(added.error());
    if (text.tokens.empty()) {
      return tl::unexpected(FieldError(place, "a text of one token or more"));
    }
    if (truncate_ && text.media.empty()) {
      if (const auto cut = Truncate(&text.tokens); !cut) return tl::unexpected(cut.error());
    }
    if (text.tokens.size() > tokens_max_) {
      return tl::unexpected(FieldError(place, "of at most " + std::to_string(tokens_max_) +
                                                  " tokens; one of " +
                                                  std::to_string(text.tokens.size()) +
                                                  " is too large for the context (--ctx-size)"));
    }
    return text;
  }

  // Appends a text, or a list of tokens and texts.
  ApiResult<void> AddParts(const std::string& place, const Json& input, Tokens* tokens) const {
    if (input.is_string()) return AddText(engine_, tokens_max_, place, input.text(), tokens);
    if (!input.is_array()) {
      return tl::unexpected(FieldError(
          place,
          "a string, tokens, a list of either, or an object with a string 'prompt_string' and, for "
          "images and audio, a list 'multimodal_data'"));
    }
    for (const Json& part : input) {
      if (IsTokenId(part, engine_)) {
        tokens->push_back(part.get<Token>());
        continue;
      }
      if (!part.is_string()) return tl::unexpected(FieldError(place, "tokens of the model"));
      const auto added = AddText(engine_, tokens_max_, place, part.text(), tokens);
      if (!added) return added;
      if (tokens->size() > tokens_max_) break;  // refused later, whatever follows
    }
    return {};
  }

  // Appends the text of a message's content: a list of parts.
  ApiResult<void> AddContent(const std::string& place, const Json& content, Tokens* tokens) const {
    std::string text;
    for (const Json& part : content) {
      const bool is_text = part.is_object() && part.value("type", Json()) == "text" &&
                           part.contains("text") && part["text"].is_string();
      if (!is_text) {
        return tl::unexpected(FieldError(
            place + ".content",
            "parts of the type 'text'; images and audio are taken as 'multimodal_data' beside "
            "'prompt_string'"));
      }
      text += part["text"].text();
    }
    return AddText(engine_, tokens_max_, place, text, tokens);
  }

  ApiResult<void> AddObject(const std::string& place, const Json& object, EmbeddingsText* text) {
    const FieldReader fields(object, "");
    const Json* const content = fields.Find("content");
    if (content != nullptr && content->is_array()) {
      return AddContent(place, *content, &text->tokens);
    }
    const Json* const words = fields.Find("prompt_string");
    const bool has_media = fields.Find("multimodal_data") != nullptr;
    if (!has_media && words != nullptr && words->is_string()) {
      return AddText(engine_, tokens_max_, place, words->text(), &text->tokens);
    }
    if (media_.service == nullptr || words == nullptr) {
      return AddParts(place, Json(), nullptr);  // says what is taken
    }
    auto prompt = ReadPromptObject(*media_.service, object, place, media_.key, &files_);
    if (!prompt) return tl::unexpected(prompt.error());
    text->tokens = std::move(prompt->tokens);
    text->media = std::move(prompt->media);
    return AddEnd(&text->tokens);
  }

  // Leaves the beginning of a text that is too long, and the tokens that the model has behind each.
  ApiResult<void> Truncate(Tokens* tokens) const {
    if (tokens->size() <= tokens_max_) return {};
    Tokens end;
    if (const auto added = AddEnd(&end); !added) return added;
    if (end.size() >= tokens_max_) return {};
    tokens->resize(tokens_max_ - end.size());
    tokens->insert(tokens->end(), end.begin(), end.end());
    return {};
  }

  // Appends the tokens that the model has behind each text.
  ApiResult<void> AddEnd(Tokens* tokens) const {
    const auto around = engine_.Tokenize("", true, true);
    if (!around) return tl::unexpected(ToApiError(around.error()));
    const size_t before = engine_.info().adds_bos ? 1 : 0;
    for (size_t i = before; i < around->size(); ++i) tokens->push_back((*around)[i]);
    return {};
  }

  const Engine& engine_;
  const size_t tokens_max_;
  const bool truncate_;
  const EmbeddingsMedia& media_;
  MediaRules rules_;
  MediaReader files_{rules_};
};

// Returns the vectors of a text with media, which are encoded for it.
Result<TextVectors> EmbedWithMedia(Embedder* embedder, const EmbeddingsText& text,
                                   const EmbeddingsMedia& media) {
  const TokenSpan tokens = text.tokens;
  std::map<const Medium*, EncodedPieces> rows;
  std::vector<TextPart> parts;
  size_t at = 0;
  for (const PlacedMedium& placed : text.media) {
    auto found = rows.find(placed.medium.get());
    if (found == rows.end()) {
      auto encoded = media.encode(media.key, *placed.medium);
      if (!encoded) return tl::unexpected(encoded.error());
      found = rows.emplace(placed.medium.get(), *std::move(encoded)).first;
    }
    const EncodedPieces& pieces = found->second;
    for (size_t i = 0; i < placed.rows.size(); ++i) {
      const TokenRange& range = placed.rows[i];
      if (i >= pieces.size() || pieces[i]->rows != range.end - range.begin) {
        return Fail(ErrorCode::kInternal, "the projector gave other rows than it had announced");
      }
      parts.push_back({tokens.subspan(at, range.begin - at)});
      parts.push_back({{}, pieces[i].get()});
      at = range.end;
    }
  }
  parts.push_back({tokens.subspan(at)});
  return embedder->EmbedParts(parts);
}

// Appends the vectors of the texts from texts[vectors->size()] on: of one with media, or of all up
// to the next one with media, which are computed together.
Status EmbedNext(Embedder* embedder, std::span<const EmbeddingsText> texts,
                 const EmbeddingsMedia& media, const std::function<bool()>& gone,
                 std::vector<TextVectors>* vectors) {
  texts = texts.subspan(vectors->size());
  if (!texts.front().media.empty()) {
    auto one = EmbedWithMedia(embedder, texts.front(), media);
    if (!one) return tl::unexpected(one.error());
    vectors->push_back(*std::move(one));
    return {};
  }
  std::vector<TokenSpan> together;
  for (const EmbeddingsText& text : texts) {
    if (!text.media.empty()) break;
    together.emplace_back(text.tokens);
  }
  auto all = embedder->EmbedAll(together, gone);
  if (!all) return tl::unexpected(all.error());
  std::move(all->begin(), all->end(), std::back_inserter(*vectors));
  return {};
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
  std::vector<EmbeddingsText> texts;
  bool base64 = false;
};

ApiResult<void> CheckNumbers(const Embedder& embedder, const std::vector<EmbeddingsText>& texts) {
  size_t vectors = 0;
  for (const EmbeddingsText& text : texts) {
    vectors += embedder.pools() ? 1 : text.tokens.size();
  }
  const size_t vectors_max = kNumbersMax / std::max<size_t>(embedder.size(), 1);
  if (vectors <= vectors_max) return {};
  return tl::unexpected(FieldError("input", "of at most " + std::to_string(vectors_max) +
                                                (embedder.pools() ? " texts" : " tokens") +
                                                " together; send fewer texts at once"));
}

ApiResult<EmbeddingsRequest> ParseEmbeddingsRequest(const Embedder& embedder, const Json& body,
                                                    TextReader* reader) {
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
  auto texts = reader->ReadInput(*input);
  if (!texts) return tl::unexpected(texts.error());
  if (const auto fits = CheckNumbers(embedder, *texts); !fits) {
    return tl::unexpected(fits.error());
  }
  return EmbeddingsRequest{std::move(*texts), format == "base64"};
}

}  // namespace

ApiResult<EmbeddedTexts> EmbedTexts(const Engine& engine, Embedder* embedder, const Json& body,
                                    bool truncate, const std::function<bool()>& gone,
                                    const EmbeddingsMedia& media) {
  if (embedder == nullptr) {
    return tl::unexpected(
        ToApiError({ErrorCode::kUnsupported,
                    "this server does not serve embeddings; start it with --embeddings (a model "
                    "that ranks has none: use /v1/rerank)"}));
  }
  TextReader reader(engine, embedder->tokens_max(), truncate, media, gone);
  const auto request = ParseEmbeddingsRequest(*embedder, body, &reader);
  if (!request) return tl::unexpected(request.error());
  EmbeddedTexts embedded;
  embedded.base64 = request->base64;
  while (embedded.texts.size() < request->texts.size()) {
    if (gone())
      return tl::unexpected(ToApiError({ErrorCode::kCancelled, "the client disconnected"}));
    const Status next = EmbedNext(embedder, request->texts, media, gone, &embedded.texts);
    if (!next) return tl::unexpected(ToApiError(next.error()));
  }
  for (const EmbeddingsText& text : request->texts) embedded.tokens += text.tokens.size();
  return embedded;
}

ApiResult<std::string> EmbeddingsBody(const Engine& engine, Embedder* embedder,
                                      const std::string& model, std::string_view body,
                                      const std::function<bool()>& gone,
                                      const EmbeddingsMedia& media) {
  if (embedder != nullptr && !embedder->pools()) {
    ApiError error = ToApiError(
        {ErrorCode::kInvalidArgument,
         "with --pooling none a text has a vector for each token, which OpenAI's format cannot "
         "hold: use POST /embeddings, or start the server with another --pooling"});
    return tl::unexpected(std::move(error));
  }
  const auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  const auto embedded = EmbedTexts(engine, embedder, *json, false, gone, media);
  if (!embedded) return tl::unexpected(embedded.error());
  Json data = Json::array();
  for (const TextVectors& text : embedded->texts) {
    const std::vector<float>& vector = text.front();
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
                                            const std::function<bool()>& gone,
                                            const EmbeddingsMedia& media) {
  const auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  const auto embedded = EmbedTexts(engine, embedder, *json, false, gone, media);
  if (!embedded) return tl::unexpected(embedded.error());
  Json list = Json::array();
  for (const TextVectors& text : embedded->texts) {
    Json vectors = Json::array();
    for (const std::vector<float>& vector : text) vectors.push_back(Json(vector));
    list.push_back({{"index", list.size()}, {"embedding", std::move(vectors)}});
  }
  return ToText(list);
}

}  // namespace cairn
