#include "api/ollama/ollama_answer.h"

#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "api/answer/cost_json.h"
#include "api/answer/logprobs_json.h"
#include "api/ollama/ollama_models.h"
#include "api/openai/completion.h"
#include "api/request/reasoning_request.h"
#include "api/wall_clock.h"
#include "chat/parse/prefilled_parser.h"
#include "chat/parse/shown_reasoning.h"
#include "chat/text/limited_json.h"
#include "engine/embed/embedding_architectures.h"

namespace cairn {
namespace {

int64_t Nanoseconds(double ms) {
  return std::llround(ms * 1e6);
}

Json Line(const OllamaForm& form, std::string_view text) {
  Json line = {{"model", form.model}, {"created_at", OllamaTime(NowUnixS())}};
  if (form.is_chat) {
    line["message"] = {{"role", "assistant"}, {"content", text}};
  } else {
    line["response"] = text;
  }
  line["done"] = false;
  return line;
}

// The object that has an answer's thinking and calls.
Json& MessageOf(const OllamaForm& form, Json* line) {
  return form.is_chat ? (*line)["message"] : *line;
}

// Appends a call to `tool_calls`. One that was cut off is left out: it must not be executed.
bool AddOllamaCall(const OllamaForm& form, const WholeAnswer::Call& call, size_t index,
                   Json* message) {
  auto arguments = ParseLimitedJson(call.arguments.empty() ? "{}" : call.arguments, "arguments");
  if (!arguments || !arguments->is_object()) return false;
  const std::string id =
      call.id.empty() ? "call_" + form.id + "-" + std::to_string(index) : call.id;
  (*message)["tool_calls"].push_back(
      {{"id", id},
       {"function",
        {{"index", index}, {"name", call.name}, {"arguments", std::move(*arguments)}}}});
  return true;
}

void AddLogprobs(std::span<const TokenLogprob> logprobs, Json* line) {
  if (!logprobs.empty()) (*line)["logprobs"] = ChatLogprobsJson(logprobs)["content"];
}

// Completes the last object.
void AddOllamaEnd(const OllamaForm& form, const AnswerEnd& end, const Tokens& tokens,
                  const std::shared_ptr<const RequestRecord>& record, Json* line) {
  const GenerationCost& cost = end.cost;
  (*line)["done"] = true;
  (*line)["done_reason"] = end.cut_off() ? "length" : "stop";
  if (end.cancelled()) (*line)["cancelled"] = true;
  if (form.context) {
    Tokens context = form.prompt;
    context.insert(context.end(), tokens.begin(), tokens.end());
    (*line)["context"] = Json(context);
  }
  (*line)["total_duration"] = Nanoseconds(cost.queue_ms + cost.prompt_ms + cost.generated_ms);
  (*line)["load_duration"] = Nanoseconds(cost.queue_ms);
  (*line)["prompt_eval_count"] = cost.prompt_tokens;
  (*line)["prompt_eval_duration"] = Nanoseconds(cost.prompt_ms);
  (*line)["eval_count"] = cost.generated_tokens;
  (*line)["eval_duration"] = Nanoseconds(cost.generated_ms);
  (*line)["timings"] = TimingsJson(cost);
  AddExplanation(record, line);
}

// A prompt that no template is put around as a whole, and how its answer is read.
struct TextPrompt {
  CompletionRequest request;
  std::unique_ptr<AnswerParser> parser = MakePlainParser();
};

ApiResult<TextPrompt> RawPrompt(const ChatService& service, Message message, NamespaceId key) {
  TextPrompt prompt;
  const std::string text = message.content;
  auto prepared = service.PrepareText(std::move(message.content), std::move(message.media), key);
  if (!prepared) return tl::unexpected(prepared.error());
  prompt.request.prompt = std::move(prepared->tokens);
  prompt.request.shape = std::move(prepared->shape);
  prompt.request.media = std::move(prepared->media);
  prompt.request.prompt_text = text;
  return prompt;
}

// The turn behind the tokens of the earlier ones.
ApiResult<TextPrompt> ContinuedPrompt(const ChatService& service, OllamaRequest* request) {
  const auto vocab_size = static_cast<Token>(service.engine().info().vocab_size);
  for (const Token token : request->context) {
    if (token < vocab_size) continue;
    return tl::unexpected(FieldError("context", "tokens of this model"));
  }
  const auto text = service.Render(request->chat.conversation);
  if (!text) return tl::unexpected(text.error());
  const auto turn = service.limits().Tokenize(TextUse::kPrompt, *text, false, true);
  if (!turn) return tl::unexpected(turn.error());
  TextPrompt prompt;
  Tokens& tokens = prompt.request.prompt;
  tokens = std::move(request->context);
  tokens.insert(tokens.end(), turn->begin(), turn->end());
  prompt.request.shape.tokens = tokens.size();
  const AnswerFormat format = FindAnswerFormat(service.chat_template(), *text, {});
  GenerationParams* const params = &request->chat.params;
  params->control_texts = TagsOf(format);
  params->sampling.grammar_tags = params->control_texts;
  params->reasoning = ReasoningOf(format, params->reasoning);
  prompt.parser = MakePrefilledParser(format, "");
  return prompt;
}

ApiResult<TextPrompt> PromptAround(const ChatService& service, OllamaRequest* request,
                                   const InfillOptions& infill, NamespaceId key) {
  Message& user = request->chat.conversation.messages.back();
  if (request->raw) return RawPrompt(service, std::move(user), key);
  if (request->suffix.empty()) return ContinuedPrompt(service, request);
  auto gap = ParseSuffixCompletion(service, {{"prompt", user.content}, {"suffix", request->suffix}},
                                   request->chat.params, infill);
  if (!gap) return tl::unexpected(gap.error());
  TextPrompt prompt;
  prompt.request = *std::move(gap);
  return prompt;
}

ApiResult<StartedChat> StartText(const ChatService& service, OllamaRequest request,
                                 const InfillOptions& infill, NamespaceId key) {
  if (IsOff(request.chat.conversation.reasoning)) request.chat.params.reasoning.tokens_max = 0;
  auto prompt = PromptAround(service, &request, infill, key);
  if (!prompt) return tl::unexpected(prompt.error());
  CompletionRequest& completion = prompt->request;
  completion.params = std::move(request.chat.params);
  completion.options = request.chat.options;
  completion.reuse = request.chat.reuse;
  completion.loosened = std::move(request.chat.loosened);
  if (!request.chat.grammar.empty()) {
    auto grammar = ParsedGrammar(service.grammars(), request.chat.grammar);
    if (!grammar) return tl::unexpected(ToApiError(grammar.error()));
    completion.params.sampling.grammar = *std::move(grammar);
  }
  auto started =
      StartCompletion(service, std::move(completion), CompletionDialect::kNative, {}, key);
  if (!started) return tl::unexpected(started.error());
  StartedChat chat{.generation = std::move(started->generation),
                   .parser = std::move(prompt->parser)};
  chat.explained = std::move(started->explained);
  return chat;
}

}  // namespace

ApiResult<StartedChat> StartOllama(const ChatService& service, OllamaRequest request,
                                   const InfillOptions& infill, NamespaceId key) {
  if (IsEncoder(service.engine().info().architecture)) {
    return tl::unexpected(ToApiError(
        {ErrorCode::kInvalidArgument,
         "'" + request.model +
             "' does not support chat: it computes vectors or scores of texts; send texts to "
             "/api/embed, or serve another model"}));
  }
  if (request.thinks && !Thinks(service)) {
    return tl::unexpected(
        FieldError("think", "absent or false: '" + request.model + "' does not support thinking"));
  }
  if (request.raw || !request.suffix.empty() || !request.context.empty()) {
    return StartText(service, std::move(request), infill, key);
  }
  return service.Start(std::move(request.chat), key);
}

OllamaForm FormOf(const OllamaRequest& request, bool is_chat) {
  OllamaForm form{.is_chat = is_chat, .model = request.model};
  form.context = !is_chat && !request.raw && request.suffix.empty();
  return form;
}

void NotePrompt(const StartedChat& chat, OllamaForm* form) {
  // Tokens of media mean nothing to a later request.
  form->context = form->context && chat.explained.media.empty();
  if (form->context) form->prompt = chat.explained.tokens;
}

std::string OllamaEmptyBody(const OllamaRequest& request, bool is_chat) {
  Json line = Line({.is_chat = is_chat, .model = request.model}, "");
  line["done"] = true;
  line["done_reason"] = request.unloads ? "unload" : "load";
  return ToText(line) + (request.stream ? "\n" : "");
}

ApiResult<std::string> CollectOllama(StartedChat chat, const OllamaForm& form,
                                     const std::function<bool()>& gone) {
  const auto record = chat.record;
  const auto whole = CollectAnswer(std::move(chat), gone);
  if (!whole) return tl::unexpected(whole.error());
  Json line = Line(form, whole->content);
  Json& message = MessageOf(form, &line);
  if (!whole->reasoning.empty()) message["thinking"] = whole->reasoning;
  size_t calls = 0;
  for (const WholeAnswer::Call& call : whole->calls) {
    if (AddOllamaCall(form, call, calls, &message)) ++calls;
  }
  AddLogprobs(whole->logprobs, &line);
  AddOllamaEnd(form, whole->end, whole->tokens, record, &line);
  return ToText(line);
}

OllamaStream::OllamaStream(StartedChat chat, OllamaForm form)
    : record_(chat.record),
      reader_(std::move(chat)),
      form_(std::move(form)),
      ping_(ToText(Line(form_, "")) + "\n") {}

bool OllamaStream::Next(std::string* chunk) {
  auto step = reader_.Next();
  if (!step) return true;
  if (step->error) {
    *chunk += OllamaErrorBody(*step->error) + "\n";
    return false;
  }
  if (step->progress) return true;
  std::move(step->logprobs.begin(), step->logprobs.end(), std::back_inserter(logprobs_));
  if (form_.context) tokens_.insert(tokens_.end(), step->tokens.begin(), step->tokens.end());
  for (const AnswerDelta& piece : step->pieces) AppendPiece(piece, chunk);
  EndCall(chunk);
  if (!step->end) return true;
  AppendEnd(*step, chunk);
  return false;
}

void OllamaStream::AppendPiece(const AnswerDelta& piece, std::string* chunk) {
  switch (piece.kind) {
    case AnswerDelta::Kind::kReasoning: {
      EndCall(chunk);
      Json line = Line(form_, "");
      MessageOf(form_, &line)["thinking"] = piece.text;
      return AppendLine(std::move(line), chunk);
    }
    case AnswerDelta::Kind::kContent:
      EndCall(chunk);
      return AppendLine(Line(form_, piece.text), chunk);
    case AnswerDelta::Kind::kCallBegin:
      EndCall(chunk);
      call_ = {piece.text, "", piece.id};
      return;
    case AnswerDelta::Kind::kCallArguments:
      call_.arguments += piece.text;
      return;
  }
}

// Calls come whole: these clients know no parts of one.
void OllamaStream::EndCall(std::string* chunk) {
  const WholeAnswer::Call call = std::exchange(call_, {});
  if (call.name.empty()) return;
  Json line = Line(form_, "");
  if (!AddOllamaCall(form_, call, calls_, &MessageOf(form_, &line))) return;
  ++calls_;
  AppendLine(std::move(line), chunk);
}

void OllamaStream::AppendEnd(const AnswerStep& step, std::string* chunk) {
  Json line = Line(form_, "");
  AddOllamaEnd(form_, *step.end, tokens_, record_, &line);
  AppendLine(std::move(line), chunk);
}

void OllamaStream::AppendLine(Json line, std::string* chunk) {
  AddLogprobs(logprobs_, &line);
  logprobs_.clear();
  *chunk += ToText(line) + "\n";
}

}  // namespace cairn
