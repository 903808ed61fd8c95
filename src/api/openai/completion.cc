#include "api/openai/completion.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/answer/answer_reader.h"
#include "api/llama_server/cost_json.h"
#include "api/llama_server/settings_json.h"
#include "api/openai/chat_request.h"
#include "api/openai/completion_prompt.h"

namespace cairn {
namespace {

// OpenAI's defaults.
constexpr size_t kOpenAiTokensMax = 16;

// As in chat, a cancelled answer is one that was cut off.
std::string FinishName(const GenerationEvent& event) {
  return event.reason == FinishReason::kStop ? "stop" : "length";
}

// Adds what a choice says of a cancelled answer.
void AddCancelled(const GenerationEvent& event, Json* choice) {
  if (event.reason == FinishReason::kCancelled) (*choice)["cancelled"] = true;
}

// llama-server's name of the finish reason.
std::string StopType(const GenerationEvent& event) {
  if (event.reason == FinishReason::kLength) return "limit";
  if (event.reason == FinishReason::kCancelled) return "none";
  return event.stop_text.empty() ? "eos" : "word";
}

// One complete answer.
struct WholeText {
  std::string text;
  std::vector<TokenLogprob> logprobs;
  GenerationEvent end;
};

Json OpenAiChoice(size_t index, const std::string& text, Json logprobs, Json finish) {
  return {{"index", index},
          {"text", text},
          {"logprobs", std::move(logprobs)},
          {"finish_reason", std::move(finish)}};
}

Json OpenAiEnvelope(const StartedCompletion& started, Json choices) {
  return {{"id", started.identity.id},
          {"object", "text_completion"},
          {"created", started.identity.created_unix_s},
          {"model", started.identity.model},
          {"choices", std::move(choices)}};
}

Json NativeEvent(size_t index, const std::string& text) {
  return {{"index", index}, {"content", text}, {"tokens", Json::array()}, {"stop", false}};
}

// Adds `timings`, and `cairn` if it was requested.
void AddTimings(const StartedCompletion& started, const GenerationCost& cost, Json* told) {
  (*told)["timings"] = TimingsJson(cost);
  AddExplanation(started.record, told);
}

Json NativeEnd(const StartedCompletion& started, const std::string& text,
               const GenerationEvent& event) {
  const GenerationCost& cost = event.cost;
  Json end = {{"index", event.answer},
              {"content", text},
              {"tokens", Json::array()},
              {"id_slot", event.slot},
              {"stop", true},
              {"model", started.identity.model},
              {"prompt", started.prompt_text},
              {"generation_settings", SettingsJson(started.params)},
              {"stop_type", StopType(event)},
              {"stopping_word", event.stop_text},
              {"truncated", cost.shifted_tokens > 0},
              {"has_new_line", text.find('\n') != std::string::npos},
              {"tokens_evaluated", cost.prompt_tokens},
              {"tokens_predicted", cost.generated_tokens},
              {"tokens_cached", cost.prompt_tokens + cost.generated_tokens}};
  AddTimings(started, cost, &end);
  return end;
}

std::string OpenAiWhole(const StartedCompletion& started, const std::vector<WholeText>& answers) {
  Json choices = Json::array();
  GenerationCost cost;
  const std::string before = started.echo ? started.prompt_text : "";
  for (const WholeText& answer : answers) {
    const size_t index = choices.size();
    Json logprobs;
    if (started.options.logprobs) logprobs = LegacyLogprobs().Next(answer.logprobs);
    choices.push_back(
        OpenAiChoice(index, before + answer.text, std::move(logprobs), FinishName(answer.end)));
    AddCancelled(answer.end, &choices[index]);
    AddAnswerCost(index, answer.end.cost, &cost);
  }
  Json whole = OpenAiEnvelope(started, std::move(choices));
  whole["usage"] = UsageJson(cost);
  AddTimings(started, cost, &whole);
  return ToText(whole);
}

// Returns the value at `path`, whose steps are separated by slashes. Null if there is none.
const Json* FindPath(const Json& whole, std::string_view path) {
  const Json* found = &whole;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const auto step = found->find(std::string(path.substr(begin, end - begin)));
    if (!found->is_object() || step == found->end()) return nullptr;
    found = &*step;
    begin = end + 1;
  }
  return found;
}

// Returns the requested parts of an answer by their paths; missing ones are left out.
Json OnlyFields(Json whole, const std::vector<std::string>& paths) {
  if (paths.empty()) return whole;
  Json parts = Json::object();
  for (const std::string& path : paths) {
    if (const Json* found = FindPath(whole, path)) parts[path] = *found;
  }
  return parts;
}

std::string NativeWhole(const StartedCompletion& started, const std::vector<WholeText>& answers) {
  Json list = Json::array();
  for (const WholeText& answer : answers) {
    Json whole = NativeEnd(started, answer.text, answer.end);
    if (started.options.logprobs) {
      whole["completion_probabilities"] = NativeProbabilitiesJson(answer.logprobs);
    }
    list.push_back(OnlyFields(std::move(whole), started.response_fields));
  }
  return ToText(list.size() == 1 ? list[0] : list);
}

Json ProgressEvent(const StartedCompletion& started, const GenerationEvent& event) {
  Json told = started.dialect == CompletionDialect::kNative
                  ? NativeEvent(event.answer, "")
                  : OpenAiEnvelope(started,
                                   Json::array({OpenAiChoice(event.answer, "", nullptr, nullptr)}));
  told["prompt_progress"] = ProgressJson(event.processed_tokens, event.cost);
  return told;
}

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

}  // namespace

ApiResult<CompletionRequest> ParseCompletion(const ChatService& service, const Json& body,
                                             const GenerationParams& defaults,
                                             CompletionDialect dialect, NamespaceId key) {
  auto prompt = ReadCompletionPrompt(service, body, key);
  if (!prompt) return tl::unexpected(prompt.error());
  CompletionRequest request;
  request.prompt = std::move(prompt->tokens);
  request.shape = std::move(prompt->shape);
  request.media = std::move(prompt->media);
  request.prompt_text = std::move(prompt->text);
  return ParseCompletionFields(body, defaults, dialect, std::move(request));
}

ApiResult<CompletionRequest> ParseCompletionFields(const Json& body,
                                                   const GenerationParams& defaults,
                                                   CompletionDialect dialect,
                                                   CompletionRequest request) {
  FieldReader fields(body, "");
  fields.Bool("stream", &request.stream);
  fields.Bool("cache_prompt", &request.reuse);
  fields.Bool("echo", &request.echo);
  if (dialect == CompletionDialect::kNative) {
    ReadResponseFields(&fields, &request.response_fields);
    fields.Number("t_max_predict_ms", -1, 1e12, &request.line_ms_max);
  }
  if (fields.error()) return tl::unexpected(*fields.error());
  auto options =
      ParseAnswerOptions(body, dialect == CompletionDialect::kNative ? LogprobsField::kNative
                                                                     : LogprobsField::kLegacy);
  if (!options) return tl::unexpected(options.error());
  request.options = *options;
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
                                             NamespaceId key) {
  const auto name_space = service.WithAdaptersOf(request.options, key);
  if (!name_space) return tl::unexpected(name_space.error());
  StartedCompletion started;
  started.dialect = dialect;
  started.identity = std::move(identity);
  started.prompt_text = std::move(request.prompt_text);
  started.params = request.params;
  started.options = request.options;
  started.echo = request.echo;
  started.response_fields = std::move(request.response_fields);
  started.line_ms_max = request.line_ms_max;
  GenerationRequest generation;
  generation.name_space = *name_space;
  generation.shape = std::move(request.shape);
  generation.prompt = std::move(request.prompt);
  generation.media = PiecesOf(request.media);
  started.explained.tokens = generation.prompt;
  for (const std::string& piece : TokenPieces(service.engine(), generation.prompt, request.media)) {
    started.explained.text += piece;
  }
  started.explained.media = std::move(request.media);
  generation.params = std::move(request.params);
  generation.reuse = request.reuse;
  ApplyAnswerOptions(request.options, &generation);
  auto submitted = service.Submit(std::move(generation));
  if (!submitted) return tl::unexpected(submitted.error());
  started.generation = std::move(*submitted);
  return started;
}

void LineDeadline::See(Generation* generation, GenerationEvent* event) {
  const bool done = event->kind == GenerationEvent::Kind::kDone;
  if (done && ended_ && event->reason == FinishReason::kCancelled) {
    event->reason = FinishReason::kLength;
  }
  if (ms_max_ <= 0 || ended_ || event->kind != GenerationEvent::Kind::kText) return;
  has_line_ = has_line_ || event->text.find('\n') != std::string::npos;
  if (!has_line_ || event->cost.generated_ms <= ms_max_) return;
  ended_ = true;
  generation->Cancel();
}

ApiResult<std::string> CollectCompletion(const StartedCompletion& started,
                                         const std::function<bool()>& gone) {
  std::vector<WholeText> answers(started.options.answers);
  LineDeadline deadline(started.line_ms_max);
  for (size_t ended = 0; ended < answers.size();) {
    if (gone()) started.generation->Abandon();
    auto next = NextEvent(started.generation.get());
    if (!next) return tl::unexpected(next.error());
    auto& event = *next;
    if (!event) continue;
    deadline.See(started.generation.get(), &*event);
    WholeText& answer = answers.at(event->answer);
    answer.text += event->text;
    std::move(event->logprobs.begin(), event->logprobs.end(), std::back_inserter(answer.logprobs));
    if (event->kind != GenerationEvent::Kind::kDone) continue;
    answer.end = std::move(*event);
    ++ended;
  }
  return started.dialect == CompletionDialect::kNative ? NativeWhole(started, answers)
                                                       : OpenAiWhole(started, answers);
}

bool CompletionStream::Next(std::string* chunk) {
  auto next = NextEvent(started_.generation.get());
  if (!next) {
    *chunk += "data: " + ErrorBody(next.error()) + "\n\n";
    return false;
  }
  auto& event = *next;
  if (!event) return true;
  deadline_.See(started_.generation.get(), &*event);
  if (event->kind == GenerationEvent::Kind::kProgress) {
    if (started_.options.progress) AppendDataEvent(ProgressEvent(started_, *event), chunk);
    return true;
  }
  Choice& choice = choices_.at(event->answer);
  if (!choice.begun) {
    choice.begun = true;
    if (started_.echo && !started_.prompt_text.empty()) {
      GenerationEvent prompt;
      prompt.answer = event->answer;
      prompt.text = started_.prompt_text;
      AppendText(prompt, chunk);
    }
  }
  if (event->kind == GenerationEvent::Kind::kText) AppendText(*event, chunk);
  if (event->kind != GenerationEvent::Kind::kDone) return true;
  AppendEnd(*event, chunk);
  return ended_ < choices_.size();
}

void CompletionStream::AppendText(const GenerationEvent& event, std::string* chunk) {
  const bool native = started_.dialect == CompletionDialect::kNative;
  Json told;
  if (native) {
    told = NativeEvent(event.answer, event.text);
    if (!event.logprobs.empty()) {
      told["completion_probabilities"] = NativeProbabilitiesJson(event.logprobs);
    }
  } else {
    Json logprobs;
    if (!event.logprobs.empty()) logprobs = choices_[event.answer].logprobs.Next(event.logprobs);
    told = OpenAiEnvelope(
        started_,
        Json::array({OpenAiChoice(event.answer, event.text, std::move(logprobs), nullptr)}));
  }
  if (started_.options.timings_per_token) told["timings"] = TimingsJson(event.cost);
  AppendDataEvent(told, chunk);
}

void CompletionStream::AppendEnd(const GenerationEvent& event, std::string* chunk) {
  AddAnswerCost(event.answer, event.cost, &cost_);
  ++ended_;
  if (started_.dialect == CompletionDialect::kNative) {
    return AppendDataEvent(OnlyFields(NativeEnd(started_, "", event), started_.response_fields),
                           chunk);
  }
  const bool last = ended_ == choices_.size();
  Json end = OpenAiEnvelope(
      started_, Json::array({OpenAiChoice(event.answer, "", nullptr, FinishName(event))}));
  AddCancelled(event, &end["choices"][0]);
  if (last && !started_.options.include_usage) AddTimings(started_, cost_, &end);
  AppendDataEvent(end, chunk);
  if (!last) return;
  if (started_.options.include_usage) {
    Json usage = OpenAiEnvelope(started_, Json::array());
    usage["usage"] = UsageJson(cost_);
    AddTimings(started_, cost_, &usage);
    AppendDataEvent(usage, chunk);
  }
  *chunk += "data: [DONE]\n\n";
}

}  // namespace cairn
