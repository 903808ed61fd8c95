#include "api/openai/completion_request.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/request/answer_format.h"
#include "api/request/chat_request.h"

namespace cairn {
namespace {

// OpenAI's defaults.
constexpr size_t kOpenAiTokensMax = 16;

// Answers to all prompts of a request together.
constexpr size_t kCompletionAnswersMax = 4096;

void ReadResponseFields(FieldReader* fields, std::vector<std::string>* paths) {
  constexpr size_t kPathsMax = 256;
  const Json* list = fields->Find("response_fields");
  if (list == nullptr) return;
  const std::string expected =
      "a list of at most " + std::to_string(kPathsMax) + " strings, such as \"timings/prompt_n\"";
  if (!list->is_array() || list->size() > kPathsMax)
    return fields->Fail("response_fields", expected);
  for (const Json& path : *list) {
    if (!path.is_string()) return fields->Fail("response_fields", expected);
    paths->push_back(path.get<std::string>());
  }
}

// `echo` with `logprobs` asks for the prompt's log-probabilities, as programs that score texts do.
ApiResult<void> SetPromptLogprobs(CompletionDialect dialect, CompletionRequest* request) {
  if (dialect != CompletionDialect::kOpenAi || !request->echo) return {};
  if (!request->options.logprobs) return {};
  const bool has_media =
      !request->media.empty() ||
      std::any_of(request->more_prompts.begin(), request->more_prompts.end(),
                  [](const CompletionPrompt& prompt) { return !prompt.media.empty(); });
  if (has_media) {
    return tl::unexpected(
        FieldError("logprobs",
                   "absent with 'echo' where the prompt has images or recordings, whose tokens "
                   "have no log-probabilities"));
  }
  request->params.prompt_logprobs = request->options.logprobs;
  request->params.end_logprob = true;
  return {};
}

}  // namespace

ApiResult<CompletionRequest> ParseCompletion(const ChatService& service, const Json& body,
                                             const GenerationParams& defaults,
                                             CompletionDialect dialect, NamespaceId key,
                                             const std::function<bool()>& gone) {
  auto prompts = ReadCompletionPrompts(service, body, key, gone);
  if (!prompts) return tl::unexpected(prompts.error());
  CompletionPrompt& first = prompts->front();
  CompletionRequest request;
  request.prompt = std::move(first.tokens);
  request.shape = std::move(first.shape);
  request.media = std::move(first.media);
  request.prompt_text = std::move(first.text);
  request.more_prompts.assign(std::make_move_iterator(prompts->begin() + 1),
                              std::make_move_iterator(prompts->end()));
  return ParseCompletionFields(body, defaults, dialect, std::move(request), service.grammars());
}

ApiResult<CompletionRequest> ParseCompletionFields(const Json& body,
                                                   const GenerationParams& defaults,
                                                   CompletionDialect dialect,
                                                   CompletionRequest request, GrammarCache* cache) {
  FieldReader fields(body, "");
  request.reuse = defaults.reuse;
  fields.Bool("stream", &request.stream);
  fields.Bool("cache_prompt", &request.reuse);
  fields.Bool("echo", &request.echo);
  if (dialect == CompletionDialect::kNative) {
    ReadResponseFields(&fields, &request.response_fields);
    fields.Number("t_max_predict_ms", -1, 1e12, &request.line_ms_max);
    fields.Bool("return_tokens", &request.return_tokens);
  }
  if (fields.error()) return tl::unexpected(*fields.error());
  auto options =
      ParseAnswerOptions(body, dialect == CompletionDialect::kNative ? LogprobsField::kNative
                                                                     : LogprobsField::kLegacy);
  if (!options) return tl::unexpected(options.error());
  request.options = *options;
  const size_t prompts = request.more_prompts.size() + 1;
  if (prompts * request.options.answers > kCompletionAnswersMax) {
    return tl::unexpected(FieldError("n", "so small that all prompts together get at most " +
                                              std::to_string(kCompletionAnswersMax) + " answers"));
  }
  GenerationParams own = defaults;
  if (dialect == CompletionDialect::kOpenAi && own.tokens_max == SIZE_MAX) {
    own.tokens_max = kOpenAiTokensMax;
  }
  auto params = ParseGenerationParams(body, own);
  if (!params) return tl::unexpected(params.error());
  request.params = std::move(*params);
  if (auto set = SetPromptLogprobs(dialect, &request); !set) return tl::unexpected(set.error());
  const auto grammar = ParseAnswerGrammar(body, &request.loosened, cache);
  if (!grammar) return tl::unexpected(grammar.error());
  if (grammar->empty()) return request;
  auto parsed = ParsedGrammar(cache, *grammar);
  if (!parsed) return tl::unexpected(ToApiError(parsed.error()));
  request.params.sampling.grammar = std::move(*parsed);
  return request;
}

}  // namespace cairn
