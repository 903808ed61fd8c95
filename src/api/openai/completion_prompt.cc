#include "api/openai/completion_prompt.h"

#include <cstdint>
#include <utility>

#include "api/media/media_reader.h"
#include "api/prompt/prompt_limits.h"

namespace cairn {
namespace {

// All prompts of a request are held until they are answered.
constexpr size_t kTokensMax = size_t{4} << 20U;

// Whether the list is of texts, lists or objects, which are prompts of their own.
bool IsListOfPrompts(const Json& prompt) {
  if (!prompt.is_array()) return false;
  size_t texts = 0;
  for (const Json& part : prompt) {
    if (part.is_array() || part.is_object()) return true;
    if (part.is_string()) ++texts;
  }
  return texts > 0 && texts == prompt.size();
}

// Texts are appended to the tokens before them; the first may get the model's BOS.
ApiResult<Tokens> TokensOf(const ChatService& service, const Json& parts,
                           const std::string& place) {
  const Engine& engine = service.engine();
  const PromptLimits& limits = service.limits();
  Tokens tokens;
  for (const Json& part : parts) {
    if (IsTokenId(part, engine)) {
      tokens.push_back(part.get<Token>());
    } else if (part.is_string()) {
      const bool first = tokens.empty() && engine.info().adds_bos;
      const auto more = limits.Tokenize(TextUse::kPrompt, part.text(), first, true);
      if (!more) return tl::unexpected(more.error());
      tokens.insert(tokens.end(), more->begin(), more->end());
    } else {
      return tl::unexpected(FieldError(place, "a list of tokens and strings of one prompt"));
    }
    const bool last = &part == &parts.back();
    if (auto fits = limits.CheckTokens(TextUse::kPrompt, tokens.size(), !last); !fits) {
      return tl::unexpected(fits.error());
    }
  }
  return tokens;
}

struct MarkedText {
  std::string text;
  MarkedMedia media;
};

// Puts each medium where the client's next marker is.
ApiResult<MarkedText> WithMedia(const std::string& text, const std::vector<MediumPtr>& media,
                                const std::string& place) {
  MarkedText marked;
  size_t count = 0;
  size_t at = 0;
  for (size_t found = text.find(kNextMediumMarker); found != std::string::npos;
       found = text.find(kNextMediumMarker, at)) {
    marked.text.append(text, at, found - at);
    if (count < media.size()) AppendMarker(media[count], &marked.text, &marked.media);
    ++count;
    at = found + kNextMediumMarker.size();
  }
  if (count != media.size()) {
    return tl::unexpected(FieldError(place + ".prompt_string",
                                     "a string with a marker " + std::string(kNextMediumMarker) +
                                         " for each item of 'multimodal_data': it has " +
                                         std::to_string(count) + ", and there are " +
                                         std::to_string(media.size()) + " items"));
  }
  marked.text.append(text, at, std::string::npos);
  return marked;
}

// Reads the files of `multimodal_data`.
ApiResult<std::vector<MediumPtr>> ReadMedia(const Json& data, const std::string& place,
                                            MediaReader* reader) {
  if (!data.is_array()) {
    return tl::unexpected(FieldError(place, "a list of images and audio files as base64"));
  }
  std::vector<MediumPtr> media;
  for (const Json& item : data) {
    const std::string item_place = place + "[" + std::to_string(media.size()) + "]";
    if (!item.is_string()) {
      return tl::unexpected(FieldError(item_place, "an image or an audio file as base64"));
    }
    auto medium = reader->ReadBase64OfAnyKind(item.text(), item_place);
    if (!medium) return tl::unexpected(medium.error());
    media.push_back(*std::move(medium));
  }
  return media;
}

// Who reads a prompt, and for whom.
struct PromptReading {
  const ChatService& service;
  NamespaceId key = 0;
  MediaReader* media = nullptr;
};

// `text` is the prompt as the client wrote it.
ApiResult<CompletionPrompt> OfText(const PromptReading& reading, std::string text,
                                   MarkedText marked) {
  auto prepared =
      reading.service.PrepareText(std::move(marked.text), std::move(marked.media), reading.key);
  if (!prepared) return tl::unexpected(prepared.error());
  return CompletionPrompt{.tokens = std::move(prepared->tokens),
                          .shape = std::move(prepared->shape),
                          .media = std::move(prepared->media),
                          .text = std::move(text)};
}

ApiResult<CompletionPrompt> OfObject(const PromptReading& reading, const Json& prompt,
                                     const std::string& place) {
  const FieldReader fields(prompt, "");
  const Json* text = fields.Find("prompt_string");
  if (text == nullptr || !text->is_string()) {
    return tl::unexpected(FieldError(
        place,
        "a string, tokens, or an object with a string 'prompt_string' and, for images and "
        "audio, a list 'multimodal_data'"));
  }
  const std::string& written = text->text();
  const Json* data = fields.Find("multimodal_data");
  // Without data a marker is only text, as in llama-server.
  if (data == nullptr) return OfText(reading, written, {written, {}});
  const auto media = ReadMedia(*data, place + ".multimodal_data", reading.media);
  if (!media) return tl::unexpected(media.error());
  auto marked = WithMedia(written, *media, place);
  if (!marked) return tl::unexpected(marked.error());
  return OfText(reading, written, *std::move(marked));
}

ApiResult<CompletionPrompt> OfOne(const PromptReading& reading, const Json& prompt,
                                  const std::string& place) {
  if (prompt.is_object()) return OfObject(reading, prompt, place);
  if (prompt.is_string()) return OfText(reading, prompt.text(), {prompt.text(), {}});
  if (!prompt.is_array()) {
    return tl::unexpected(
        FieldError(place,
                   "a string, a list of tokens and strings of one prompt, or an object with "
                   "'prompt_string'"));
  }
  auto tokens = TokensOf(reading.service, prompt, place);
  if (!tokens) return tl::unexpected(tokens.error());
  CompletionPrompt read{.tokens = *std::move(tokens)};
  read.shape.tokens = read.tokens.size();
  return read;
}

}  // namespace

ApiResult<CompletionPrompt> ReadPromptObject(const ChatService& service, const Json& prompt,
                                             const std::string& place, NamespaceId key,
                                             MediaReader* media) {
  return OfObject({service, key, media}, prompt, place);
}

ApiResult<std::vector<CompletionPrompt>> ReadCompletionPrompts(const ChatService& service,
                                                               const Json& body, NamespaceId key,
                                                               const std::function<bool()>& gone) {
  const std::string place = "prompt";
  const Json* prompt = FieldReader(body, "").Find(place);
  if (prompt == nullptr) return tl::unexpected(FieldError(place, "a string or tokens"));
  const bool list = IsListOfPrompts(*prompt);
  if (list && prompt->size() > kPromptsMax) {
    return tl::unexpected(
        FieldError(place, "at most " + std::to_string(kPromptsMax) + " prompts in one request"));
  }
  const MediaRules rules = service.MediaRulesUntil(gone);
  MediaReader media(rules);  // its limits are those of all prompts together
  const PromptReading reading{service, key, &media};
  std::vector<CompletionPrompt> prompts;
  size_t tokens = 0;
  for (size_t i = 0; i < (list ? prompt->size() : 1); ++i) {
    const std::string own_place = list ? place + "[" + std::to_string(i) + "]" : place;
    auto read = OfOne(reading, list ? (*prompt)[i] : *prompt, own_place);
    if (!read) {
      // A prompt that is too long does not know its place.
      if (list && read.error().field.empty() && !read.error().message.starts_with(own_place)) {
        read.error().message = own_place + ": " + read.error().message;
      }
      return tl::unexpected(read.error());
    }
    if (read->tokens.empty()) {
      return tl::unexpected(FieldError(place, "a prompt of one token or more"));
    }
    tokens += read->tokens.size();
    if (list && tokens > kTokensMax) {
      return tl::unexpected(FieldError(
          place, "a list of at most " + std::to_string(kTokensMax) + " tokens together"));
    }
    prompts.push_back(*std::move(read));
  }
  return prompts;
}

}  // namespace cairn
