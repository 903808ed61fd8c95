#include "api/openai/completion.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "api/answer/answer_reader.h"
#include "api/answer/cost_json.h"
#include "api/request/settings_json.h"

namespace cairn {
namespace {

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
  Tokens tokens;
  std::vector<TokenLogprob> logprobs;
  GenerationEvent end;
};

// Everything that came of the answers and the prompts.
struct Collected {
  std::vector<WholeText> answers;
  std::vector<std::vector<TokenLogprob>> prompt_logprobs;  // by prompt
};

Json OpenAiChoice(size_t index, const std::string& text, Json logprobs, Json finish) {
  return {{"index", index},
          {"text", text},
          {"logprobs", std::move(logprobs)},
          {"finish_reason", std::move(finish)}};
}

Json OpenAiEnvelope(const StartedCompletion& started, Json choices) {
  const AnswerIdentity& identity = started.identity;
  Json envelope = {{"id", identity.id},
                   {"object", "text_completion"},
                   {"created", identity.created_unix_s},
                   {"model", identity.model}};
  if (!identity.fingerprint.empty()) envelope["system_fingerprint"] = identity.fingerprint;
  envelope["choices"] = std::move(choices);
  return envelope;
}

Json NativeEvent(const GenerationEvent& event) {
  return {{"index", event.answer},
          {"content", event.text},
          {"tokens", Json(event.tokens)},
          {"stop", false}};
}

// Adds `timings`, and `cairn` if it was requested.
void AddTimings(const StartedCompletion& started, const GenerationCost& cost, Json* told) {
  (*told)["timings"] = TimingsJson(cost);
  AddExplanation(started.record, told);
}

// `text` and `tokens` are those of a whole answer, or empty at the end of a stream.
Json NativeEnd(const StartedCompletion& started, const std::string& text, const Tokens& tokens,
               const GenerationEvent& event) {
  const GenerationCost& cost = event.cost;
  Json end = {{"index", event.answer},
              {"content", text},
              {"tokens", Json(tokens)},
              {"id_slot", event.slot},
              {"stop", true},
              {"model", started.identity.model},
              {"prompt", started.PromptOf(event.answer).text},
              {"generation_settings", SettingsJson(started.params)},
              {"stop_type", StopType(event)},
              {"stopping_word", event.stop_text},
              {"truncated", cost.shifted_tokens > 0 || event.context_full},
              {"has_new_line", text.find('\n') != std::string::npos},
              {"tokens_evaluated", cost.prompt_tokens},
              {"tokens_predicted", cost.generated_tokens},
              {"tokens_cached", cost.prompt_tokens + cost.generated_tokens}};
  AddTimings(started, cost, &end);
  return end;
}

// The log-probabilities of an answer, after those of its prompt if they were requested.
Json WholeLogprobs(const StartedCompletion& started, const Collected& collected, size_t answer) {
  if (!started.options.logprobs) return {};
  LegacyLogprobs legacy;
  const std::vector<TokenLogprob>& logprobs = collected.answers[answer].logprobs;
  if (!started.echo) return legacy.Next(logprobs);
  const ShownPrompt& prompt = started.PromptOf(answer);
  Json lists = legacy.OfPrompt(prompt.first, prompt.first_in_text,
                               collected.prompt_logprobs.at(answer / started.options.answers));
  legacy.Append(logprobs, &lists);
  return lists;
}

// The log-probability per token.
double Likeliness(const WholeText& answer) {
  double sum = 0;
  for (const TokenLogprob& token : answer.logprobs) sum += token.sampled.logprob;
  return answer.logprobs.empty() ? 0 : sum / static_cast<double>(answer.logprobs.size());
}

// Whether each answer is one of those to its prompt that are returned.
std::vector<bool> KeptAnswers(const StartedCompletion& started, const Collected& collected) {
  const AnswerOptions& options = started.options;
  if (options.answers_kept == 0) return std::vector<bool>(collected.answers.size(), true);
  std::vector<bool> kept;
  std::vector<double> to_one_prompt;
  for (const WholeText& answer : collected.answers) {
    to_one_prompt.push_back(Likeliness(answer));
    if (to_one_prompt.size() < options.answers) continue;
    for (const bool is : KeepHighest(to_one_prompt, options.answers_kept)) kept.push_back(is);
    to_one_prompt.clear();
  }
  return kept;
}

std::string OpenAiWhole(const StartedCompletion& started, const Collected& collected) {
  Json choices = Json::array();
  CompletionCosts costs(started.prompts.size(), started.options.answers);
  const std::vector<bool> kept = KeptAnswers(started, collected);
  for (size_t i = 0; i < collected.answers.size(); ++i) {
    const WholeText& answer = collected.answers[i];
    costs.Add(i, answer.end.cost);
    if (!kept.at(i)) continue;
    const size_t index = choices.size();
    const std::string before = started.echo ? started.PromptOf(i).text : "";
    choices.push_back(OpenAiChoice(index, before + answer.text,
                                   WholeLogprobs(started, collected, i), FinishName(answer.end)));
    AddCancelled(answer.end, &choices[index]);
  }
  Json whole = OpenAiEnvelope(started, std::move(choices));
  whole["usage"] = UsageJson(costs.Total());
  AddTimings(started, costs.Total(), &whole);
  if (started.is_verbose) {
    const WholeText& first = collected.answers.front();
    whole["__verbose"] = NativeEnd(started, first.text, first.tokens, first.end);
  }
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

Json Probabilities(const StartedCompletion& started, std::span<const TokenLogprob> logprobs) {
  return started.options.sampled_probs ? SampledProbabilitiesJson(logprobs)
                                       : NativeProbabilitiesJson(logprobs);
}

std::string NativeWhole(const StartedCompletion& started, const std::vector<WholeText>& answers) {
  Json list = Json::array();
  for (const WholeText& answer : answers) {
    const Tokens tokens = started.return_tokens ? answer.tokens : Tokens();
    Json whole = NativeEnd(started, answer.text, tokens, answer.end);
    if (started.options.logprobs) {
      whole["completion_probabilities"] = Probabilities(started, answer.logprobs);
    }
    list.push_back(OnlyFields(std::move(whole), started.response_fields));
  }
  return ToText(list.size() == 1 ? list[0] : list);
}

Json ProgressEvent(const StartedCompletion& started, const GenerationEvent& event) {
  Json told = started.dialect == CompletionDialect::kNative
                  ? NativeEvent(event)
                  : OpenAiEnvelope(started,
                                   Json::array({OpenAiChoice(event.answer, "", nullptr, nullptr)}));
  AddProgress(event.processed_tokens, event.cost, started.options.timings_per_token, &told);
  return told;
}

// Returns the prompt as its answers show it, and sets `explained` to it.
ShownPrompt ShowPrompt(const Engine& engine, const CompletionPrompt& prompt,
                       CompletionDialect dialect, ExplainedPrompt* explained) {
  const std::vector<std::string> pieces = TokenPieces(engine, prompt.tokens, prompt.media);
  explained->tokens = prompt.tokens;
  explained->media = prompt.media;
  for (const std::string& piece : pieces) explained->text += piece;
  ShownPrompt shown;
  shown.first = {prompt.tokens.front(), pieces.front(), 0};
  // A server that adds BOS shows it in llama-server's dialect. OpenAI's `echo` repeats what the
  // client sent.
  const bool as_sent = dialect == CompletionDialect::kOpenAi || !prompt.media.empty();
  shown.text = as_sent && !prompt.text.empty() ? prompt.text : explained->text;
  shown.first_in_text = shown.text.starts_with(pieces.front());
  return shown;
}

}  // namespace

ApiResult<StartedCompletion> StartCompletion(const ChatService& service, CompletionRequest request,
                                             CompletionDialect dialect, AnswerIdentity identity,
                                             NamespaceId key) {
  const auto name_space = service.WithAdaptersOf(request.options, key);
  if (!name_space) return tl::unexpected(name_space.error());
  if (auto settled = service.SettleBiases(&request.params); !settled) {
    return tl::unexpected(settled.error());
  }
  auto noted = service.NoteLoosened(request.loosened);
  if (!noted) return tl::unexpected(noted.error());
  StartedCompletion started;
  started.explained.loosened.assign(request.loosened.begin(), request.loosened.end());
  started.dialect = dialect;
  started.identity = std::move(identity);
  started.params = request.params;
  started.options = request.options;
  started.is_verbose = service.is_verbose(request.options);
  started.echo = request.echo;
  started.return_tokens = request.return_tokens;
  started.response_fields = std::move(request.response_fields);
  started.line_ms_max = request.line_ms_max;
  started.prompts.clear();
  std::vector<CompletionPrompt> prompts;
  prompts.push_back({std::move(request.prompt), std::move(request.shape), std::move(request.media),
                     std::move(request.prompt_text)});
  std::move(request.more_prompts.begin(), request.more_prompts.end(), std::back_inserter(prompts));
  std::vector<GenerationRequest> generations;
  for (CompletionPrompt& prompt : prompts) {
    ExplainedPrompt explained;
    started.prompts.push_back(ShowPrompt(service.engine(), prompt, dialect, &explained));
    if (generations.empty()) started.explained = std::move(explained);
    GenerationRequest& generation = generations.emplace_back();
    generation.name_space = *name_space;
    generation.shape = std::move(prompt.shape);
    generation.prompt = std::move(prompt.tokens);
    generation.media = PiecesOf(prompt.media);
    generation.params = request.params;
    generation.reuse = request.reuse;
    ApplyAnswerOptions(request.options, &generation);
    if (generations.size() > 1) generation.slot.reset();
  }
  const bool several = generations.size() > 1;
  if (several) started.batch = std::make_shared<PromptBatch>(&service, std::move(generations));
  auto submitted = several ? started.batch->Begin() : service.Submit(std::move(generations[0]));
  if (!submitted) return tl::unexpected(submitted.error());
  started.generation = std::move(*submitted);
  return started;
}

std::vector<bool> KeepHighest(const std::vector<double>& figures, size_t kept) {
  std::vector<size_t> order(figures.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t one, size_t other) { return figures[one] > figures[other]; });
  std::vector<bool> is_kept(figures.size());
  for (size_t i = 0; i < std::min(kept, order.size()); ++i) is_kept[order[i]] = true;
  return is_kept;
}

void CompletionCosts::Add(size_t answer, const GenerationCost& cost) {
  AddAnswerCost(answer % answers_, cost, &costs_.at(answer / answers_));
}

GenerationCost CompletionCosts::Total() const {
  GenerationCost total;
  for (const GenerationCost& cost : costs_) AddPromptCost(cost, &total);
  return total;
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
  Collected collected{std::vector<WholeText>(started.answers()),
                      std::vector<std::vector<TokenLogprob>>(started.prompts.size())};
  LineDeadline deadline(started.line_ms_max);
  for (size_t ended = 0; ended < collected.answers.size();) {
    if (gone()) started.generation->Abandon();
    auto next = NextEvent(started.generation.get());
    if (!next) return tl::unexpected(next.error());
    auto& event = *next;
    if (!event) continue;
    deadline.See(started.generation.get(), &*event);
    if (started.batch) started.batch->See(*event);
    if (!event->prompt_logprobs.empty()) {
      collected.prompt_logprobs.at(event->answer / started.options.answers) =
          std::move(event->prompt_logprobs);
    }
    WholeText& answer = collected.answers.at(event->answer);
    answer.text += event->text;
    answer.tokens.insert(answer.tokens.end(), event->tokens.begin(), event->tokens.end());
    std::move(event->logprobs.begin(), event->logprobs.end(), std::back_inserter(answer.logprobs));
    if (event->kind != GenerationEvent::Kind::kDone) continue;
    answer.end = std::move(*event);
    ++ended;
  }
  return started.dialect == CompletionDialect::kNative ? NativeWhole(started, collected.answers)
                                                       : OpenAiWhole(started, collected);
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
  if (started_.batch) started_.batch->See(*event);
  if (event->kind == GenerationEvent::Kind::kProgress) {
    if (started_.options.progress) AppendDataEvent(ProgressEvent(started_, *event), chunk);
    return true;
  }
  const bool has_prompt = !event->prompt_logprobs.empty();
  if (has_prompt) {
    prompt_logprobs_.at(event->answer / started_.options.answers) =
        std::move(event->prompt_logprobs);
  }
  Choice& choice = choices_.at(event->answer);
  if (!choice.begun) AppendPrompt(event->answer, chunk);
  choice.begun = true;
  if (has_prompt) return true;
  if (event->kind == GenerationEvent::Kind::kText) AppendText(*event, chunk);
  if (event->kind != GenerationEvent::Kind::kDone) return true;
  AppendEnd(*event, chunk);
  return ended_ < choices_.size();
}

void CompletionStream::AppendPrompt(size_t answer, std::string* chunk) {
  const ShownPrompt& prompt = started_.PromptOf(answer);
  if (!started_.echo || prompt.text.empty()) return;
  if (started_.dialect == CompletionDialect::kNative) {
    GenerationEvent shown;
    shown.answer = answer;
    shown.text = prompt.text;
    return AppendDataEvent(NativeEvent(shown), chunk);
  }
  Json logprobs;
  if (started_.params.prompt_logprobs) {
    logprobs = choices_[answer].logprobs.OfPrompt(
        prompt.first, prompt.first_in_text, prompt_logprobs_.at(answer / started_.options.answers));
  }
  AppendDataEvent(
      OpenAiEnvelope(
          started_, Json::array({OpenAiChoice(answer, prompt.text, std::move(logprobs), nullptr)})),
      chunk);
}

void CompletionStream::AppendText(const GenerationEvent& event, std::string* chunk) {
  const bool native = started_.dialect == CompletionDialect::kNative;
  Json told;
  if (native) {
    told = NativeEvent(event);
    if (!event.logprobs.empty()) {
      told["completion_probabilities"] = Probabilities(started_, event.logprobs);
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
  costs_.Add(event.answer, event.cost);
  ++ended_;
  if (started_.dialect == CompletionDialect::kNative) {
    return AppendDataEvent(OnlyFields(NativeEnd(started_, "", {}, event), started_.response_fields),
                           chunk);
  }
  const bool last = ended_ == choices_.size();
  Json end = OpenAiEnvelope(
      started_, Json::array({OpenAiChoice(event.answer, "", nullptr, FinishName(event))}));
  AddCancelled(event, &end["choices"][0]);
  if (last && !started_.options.include_usage) AddTimings(started_, costs_.Total(), &end);
  AppendDataEvent(end, chunk);
  if (!last) return;
  if (started_.options.include_usage) {
    Json usage = OpenAiEnvelope(started_, Json::array());
    usage["usage"] = UsageJson(costs_.Total());
    AddTimings(started_, costs_.Total(), &usage);
    AppendDataEvent(usage, chunk);
  }
  *chunk += "data: [DONE]\n\n";
}

}  // namespace cairn
