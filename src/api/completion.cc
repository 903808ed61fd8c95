#include "api/completion.h"

#include <utility>

#include "api/answer_reader.h"
#include "api/chat_request.h"
#include "api/cost_json.h"

namespace cairn {
namespace {

// OpenAI's, where a request does not say.
constexpr size_t kOpenAiTokensMax = 16;

bool IsToken(const Json& value, const Engine& engine) {
  return value.is_number_integer() && value.get<int64_t>() >= 0 &&
         value.get<int64_t>() < static_cast<int64_t>(engine.info().vocab_size);
}

// Texts are joined to what stands before them; the first may get the model's BOS.
ApiResult<Tokens> PromptTokens(const Engine& engine, const Json& prompt) {
  const std::string expected = "a string, or a list of tokens and strings of one prompt";
  const Json parts = prompt.is_array() ? prompt : Json::array({prompt});
  Tokens tokens;
  for (const Json& part : parts) {
    if (IsToken(part, engine)) {
      tokens.push_back(part.get<Token>());
      continue;
    }
    if (!part.is_string()) return tl::unexpected(FieldError("prompt", expected));
    const bool first = tokens.empty() && engine.info().adds_bos;
    const auto more = engine.Tokenize(part.get<std::string>(), first, true);
    if (!more) return tl::unexpected(ToApiError(more.error()));
    tokens.insert(tokens.end(), more->begin(), more->end());
  }
  if (tokens.empty()) return tl::unexpected(FieldError("prompt", "a prompt of one token or more"));
  return tokens;
}

bool HasSeveralPrompts(const Json& prompt) {
  if (!prompt.is_array()) return false;
  size_t texts = 0;
  for (const Json& part : prompt) {
    if (part.is_array()) return true;
    if (part.is_string()) ++texts;
  }
  return texts > 1 && texts == prompt.size();
}

std::string FinishName(const GenerationEvent& event) {
  return event.reason == FinishReason::kLength ? "length" : "stop";
}

// llama-server's word for what ended the answer.
std::string StopType(const GenerationEvent& event) {
  if (event.reason == FinishReason::kLength) return "limit";
  if (event.reason == FinishReason::kCancelled) return "none";
  return event.stop_text.empty() ? "eos" : "word";
}

Json OpenAiChunk(const StartedCompletion& started, const std::string& text, Json finish) {
  return {{"id", started.identity.id},
          {"object", "text_completion"},
          {"created", started.identity.created_unix_s},
          {"model", started.identity.model},
          {"choices", Json::array({{{"index", 0},
                                    {"text", text},
                                    {"logprobs", nullptr},
                                    {"finish_reason", std::move(finish)}}})}};
}

Json NativeEnd(const StartedCompletion& started, const std::string& text,
               const GenerationEvent& event) {
  const GenerationCost& cost = event.cost;
  return {{"index", 0},
          {"content", text},
          {"tokens", Json::array()},
          {"stop", true},
          {"model", started.identity.model},
          {"prompt", started.prompt_text},
          {"stop_type", StopType(event)},
          {"stopping_word", event.stop_text},
          {"truncated", false},
          {"has_new_line", text.find('\n') != std::string::npos},
          {"tokens_evaluated", cost.prompt_tokens},
          {"tokens_predicted", cost.generated_tokens},
          {"tokens_cached", cost.prompt_tokens + cost.generated_tokens},
          {"timings", TimingsJson(cost)}};
}

Json Whole(const StartedCompletion& started, const std::string& text,
           const GenerationEvent& event) {
  if (started.dialect == CompletionDialect::kNative) return NativeEnd(started, text, event);
  const std::string before = started.echo ? started.prompt_text : "";
  Json whole = OpenAiChunk(started, before + text, FinishName(event));
  whole["usage"] = UsageJson(event.cost);
  whole["timings"] = TimingsJson(event.cost);
  return whole;
}

void AppendText(const StartedCompletion& started, const std::string& text, std::string* chunk) {
  if (text.empty()) return;
  if (started.dialect == CompletionDialect::kOpenAi) {
    return AppendDataEvent(OpenAiChunk(started, text, nullptr), chunk);
  }
  AppendDataEvent({{"index", 0}, {"content", text}, {"tokens", Json::array()}, {"stop", false}},
                  chunk);
}

void AppendEnd(const StartedCompletion& started, const GenerationEvent& event, std::string* chunk) {
  if (started.dialect == CompletionDialect::kNative) {
    return AppendDataEvent(NativeEnd(started, "", event), chunk);
  }
  Json end = OpenAiChunk(started, "", FinishName(event));
  if (!started.include_usage) end["timings"] = TimingsJson(event.cost);
  AppendDataEvent(end, chunk);
  if (started.include_usage) {
    Json usage = OpenAiChunk(started, "", nullptr);
    usage["choices"] = Json::array();
    usage["usage"] = UsageJson(event.cost);
    usage["timings"] = TimingsJson(event.cost);
    AppendDataEvent(usage, chunk);
  }
  *chunk += "data: [DONE]\n\n";
}

}  // namespace

ApiResult<CompletionRequest> ParseCompletion(const Engine& engine, const Json& body,
                                             const GenerationParams& defaults,
                                             CompletionDialect dialect) {
  CompletionRequest request;
  FieldReader fields(body, "");
  const Json* prompt = fields.Find("prompt");
  if (prompt == nullptr) return tl::unexpected(FieldError("prompt", "a string or tokens"));
  if (HasSeveralPrompts(*prompt)) {
    return tl::unexpected(FieldError("prompt", "one prompt, not several: send a request for each"));
  }
  auto tokens = PromptTokens(engine, *prompt);
  if (!tokens) return tl::unexpected(tokens.error());
  request.prompt = std::move(*tokens);
  if (prompt->is_string()) request.prompt_text = prompt->get<std::string>();
  fields.Bool("stream", &request.stream);
  fields.Bool("cache_prompt", &request.reuse);
  fields.Bool("echo", &request.echo);
  if (const Json* options = fields.Find("stream_options"); options && options->is_object()) {
    FieldReader inner(*options, "stream_options.");
    inner.Bool("include_usage", &request.include_usage);
    if (inner.error()) return tl::unexpected(*inner.error());
  }
  if (fields.error()) return tl::unexpected(*fields.error());
  GenerationParams own = defaults;
  if (dialect == CompletionDialect::kOpenAi && own.tokens_max == SIZE_MAX) {
    own.tokens_max = kOpenAiTokensMax;
  }
  auto params = ParseGenerationParams(body, own);
  if (!params) return tl::unexpected(params.error());
  request.params = std::move(*params);
  const auto grammar = ParseAnswerGrammar(body);
  if (!grammar) return tl::unexpected(grammar.error());
  if (grammar->empty()) return request;
  auto parsed = Grammar::Parse(*grammar);
  if (!parsed) return tl::unexpected(ToApiError(parsed.error()));
  request.params.sampling.grammar = std::move(*parsed);
  return request;
}

ApiResult<StartedCompletion> StartCompletion(const ChatService& service, CompletionRequest request,
                                             CompletionDialect dialect, AnswerIdentity identity,
                                             NamespaceId name_space) {
  StartedCompletion started;
  started.dialect = dialect;
  started.identity = std::move(identity);
  started.prompt_text = std::move(request.prompt_text);
  started.include_usage = request.include_usage;
  started.echo = request.echo;
  GenerationRequest generation;
  generation.name_space = name_space;
  generation.shape.tokens = request.prompt.size();
  generation.prompt = std::move(request.prompt);
  generation.params = std::move(request.params);
  generation.reuse = request.reuse;
  auto submitted = service.Submit(std::move(generation));
  if (!submitted) return tl::unexpected(submitted.error());
  started.generation = std::move(*submitted);
  return started;
}

ApiResult<std::string> CollectCompletion(const StartedCompletion& started,
                                         const std::function<bool()>& gone) {
  std::string text;
  while (true) {
    if (gone()) started.generation->Cancel();
    const auto event = started.generation->Next(kAnswerWait);
    if (!event) continue;
    if (event->kind == GenerationEvent::Kind::kFailed) {
      return tl::unexpected(ToApiError(event->error));
    }
    text += event->text;
    if (event->kind == GenerationEvent::Kind::kDone) return ToText(Whole(started, text, *event));
  }
}

bool CompletionStream::Next(std::string* chunk) {
  const auto event = started_.generation->Next(kAnswerWait);
  if (!event || event->kind == GenerationEvent::Kind::kProgress) return true;
  if (event->kind == GenerationEvent::Kind::kFailed) {
    *chunk += "data: " + ErrorBody(ToApiError(event->error)) + "\n\n";
    return false;
  }
  if (!begun_) {
    begun_ = true;
    if (started_.echo) AppendText(started_, started_.prompt_text, chunk);
  }
  AppendText(started_, event->text, chunk);
  if (event->kind != GenerationEvent::Kind::kDone) return true;
  AppendEnd(started_, *event, chunk);
  return false;
}

}  // namespace cairn
