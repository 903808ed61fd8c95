#include "api/openai/openai.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/answer/cost_json.h"
#include "api/answer/logprobs_json.h"

namespace cairn {
namespace {

// The API has no name for a cancelled answer, and clients know of "length" that a call in it may be
// incomplete.
std::string FinishReasonName(const AnswerEnd& end, bool legacy_calls) {
  if (end.cut_off()) return "length";
  if (!end.called_tools) return "stop";
  return legacy_calls ? "function_call" : "tool_calls";
}

// Adds what a choice says of its answer's end.
void AddEnd(const AnswerEnd& end, bool legacy_calls, Json* choice) {
  (*choice)["finish_reason"] = FinishReasonName(end, legacy_calls);
  if (end.cancelled()) (*choice)["cancelled"] = true;
}

// `given` is the id that the model wrote, which must come back in its prompt.
std::string CallId(const AnswerIdentity& identity, size_t index, size_t call,
                   const std::string& given) {
  if (!given.empty()) return given;
  const std::string answer = index > 0 ? std::to_string(index) + "-" : "";
  return "call_" + identity.id + "-" + answer + std::to_string(call);
}

Json ChatEnvelope(const AnswerIdentity& identity, std::string_view object) {
  Json envelope = {{"id", identity.id},
                   {"object", object},
                   {"created", identity.created_unix_s},
                   {"model", identity.model}};
  if (!identity.fingerprint.empty()) envelope["system_fingerprint"] = identity.fingerprint;
  return envelope;
}

Json ChatChunk(const AnswerIdentity& identity, size_t index, Json delta, Json finish_reason) {
  Json chunk = ChatEnvelope(identity, "chat.completion.chunk");
  chunk["choices"] = Json::array({{{"index", index},
                                   {"delta", std::move(delta)},
                                   {"finish_reason", std::move(finish_reason)}}});
  return chunk;
}

Json WholeChoice(const AnswerIdentity& identity, size_t index, const WholeAnswer& whole,
                 bool legacy_calls) {
  Json message = {{"role", "assistant"}, {"content", whole.content}};
  if (!whole.reasoning.empty()) message["reasoning_content"] = whole.reasoning;
  if (!whole.calls.empty()) {
    if (whole.content.empty()) message["content"] = nullptr;
    if (legacy_calls) {
      const WholeAnswer::Call& call = whole.calls.front();
      message["function_call"] = {{"name", call.name}, {"arguments", call.arguments}};
    }
    for (const WholeAnswer::Call& call : whole.calls) {
      if (legacy_calls) break;
      message["tool_calls"].push_back(
          {{"id", CallId(identity, index, message["tool_calls"].size(), call.id)},
           {"type", "function"},
           {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    }
  }
  Json choice = {{"index", index}, {"message", std::move(message)}};
  AddEnd(whole.end, legacy_calls, &choice);
  if (!whole.logprobs.empty()) choice["logprobs"] = ChatLogprobsJson(whole.logprobs);
  return choice;
}

// In the older form of calls.
Json LegacyDelta(const AnswerDelta& piece) {
  if (piece.kind == AnswerDelta::Kind::kCallBegin) {
    return {{"function_call", {{"name", piece.text}, {"arguments", ""}}}};
  }
  return {{"function_call", {{"arguments", piece.text}}}};
}

bool IsCall(const AnswerDelta& piece) {
  return piece.kind == AnswerDelta::Kind::kCallBegin ||
         piece.kind == AnswerDelta::Kind::kCallArguments;
}

Json Delta(const AnswerIdentity& identity, size_t index, const AnswerDelta& piece) {
  switch (piece.kind) {
    case AnswerDelta::Kind::kReasoning:
      return {{"reasoning_content", piece.text}};
    case AnswerDelta::Kind::kContent:
      return {{"content", piece.text}};
    case AnswerDelta::Kind::kCallBegin:
      return {
          {"tool_calls", Json::array({{{"index", piece.call},
                                       {"id", CallId(identity, index, piece.call, piece.id)},
                                       {"type", "function"},
                                       {"function", {{"name", piece.text}, {"arguments", ""}}}}})}};
    case AnswerDelta::Kind::kCallArguments:
      return {{"tool_calls",
               Json::array({{{"index", piece.call}, {"function", {{"arguments", piece.text}}}}})}};
  }
  return Json::object();
}

}  // namespace

ApiResult<std::string> CollectChat(StartedChat chat, const AnswerIdentity& identity,
                                   const std::function<bool()>& gone, bool legacy_calls) {
  const auto record = chat.record;
  const auto verbose = chat.verbose;
  const auto answers = CollectAnswers(std::move(chat), gone);
  if (!answers) return tl::unexpected(answers.error());
  Json body = ChatEnvelope(identity, "chat.completion");
  body["choices"] = Json::array();
  GenerationCost cost;
  for (size_t i = 0; i < answers->size(); ++i) {
    body["choices"].push_back(WholeChoice(identity, i, (*answers)[i], legacy_calls));
    AddAnswerCost(i, (*answers)[i].end.cost, &cost);
  }
  body["usage"] = UsageJson(cost);
  body["timings"] = TimingsJson(cost);
  AddExplanation(record, &body);
  if (verbose) body["__verbose"] = *verbose;
  return ToText(body);
}

ChatStream::ChatStream(StartedChat chat, AnswerIdentity identity, const AnswerOptions& options)
    : record_(chat.record),
      verbose_(chat.verbose),
      reader_(std::move(chat)),
      identity_(std::move(identity)),
      options_(options),
      choices_(reader_.answers()) {}

bool ChatStream::Next(std::string* chunk) {
  const auto step = reader_.Next();
  if (!step) return true;
  if (step->error) {
    *chunk += "data: " + ErrorBody(*step->error) + "\n\n";
    return false;
  }
  if (step->progress) {
    if (!options_.progress) return true;
    Json told = ChatChunk(identity_, step->answer, Json::object(), nullptr);
    const AnswerProgress& progress = *step->progress;
    AddProgress(progress.processed_tokens, progress.cost, options_.timings_per_token, &told);
    AppendDataEvent(told, chunk);
    return true;
  }
  AppendStep(*step, chunk);
  if (!step->all_ended) return true;
  if (options_.include_usage) AppendUsage(chunk);
  *chunk += "data: [DONE]\n\n";
  return false;
}

void ChatStream::AddLogprobs(Choice* choice, Json* chunk_choice) const {
  if (choice->logprobs.empty()) return;
  (*chunk_choice)["logprobs"] = ChatLogprobsJson(choice->logprobs);
  choice->logprobs.clear();
}

void ChatStream::AppendChunk(size_t index, Json delta, const GenerationCost& cost,
                             std::string* chunk) {
  Json told = ChatChunk(identity_, index, std::move(delta), nullptr);
  AddLogprobs(&choices_[index], &told["choices"][0]);
  if (options_.timings_per_token) told["timings"] = TimingsJson(cost);
  AppendDataEvent(told, chunk);
}

void ChatStream::AppendStep(const AnswerStep& step, std::string* chunk) {
  Choice& choice = choices_.at(step.answer);
  if (!choice.begun) {
    choice.begun = true;
    AppendDataEvent(
        ChatChunk(identity_, step.answer, {{"role", "assistant"}, {"content", nullptr}}, nullptr),
        chunk);
  }
  std::copy(step.logprobs.begin(), step.logprobs.end(), std::back_inserter(choice.logprobs));
  for (const AnswerDelta& piece : step.pieces) {
    const bool legacy = options_.legacy_calls && IsCall(piece);
    if (legacy && piece.call > 0) continue;
    AppendChunk(step.answer, legacy ? LegacyDelta(piece) : Delta(identity_, step.answer, piece),
                step.cost, chunk);
  }
  if (step.end) AppendEnd(step, chunk);
}

void ChatStream::AppendEnd(const AnswerStep& step, std::string* chunk) {
  AddAnswerCost(step.answer, step.end->cost, &cost_);
  Json finish = ChatChunk(identity_, step.answer, Json::object(), nullptr);
  AddEnd(*step.end, options_.legacy_calls, &finish["choices"][0]);
  AddLogprobs(&choices_[step.answer], &finish["choices"][0]);
  if (step.all_ended && !options_.include_usage) AddTimings(&finish);
  AppendDataEvent(finish, chunk);
}

void ChatStream::AppendUsage(std::string* chunk) const {
  Json usage = ChatEnvelope(identity_, "chat.completion.chunk");
  usage["choices"] = Json::array();
  usage["usage"] = UsageJson(cost_);
  AddTimings(&usage);
  AppendDataEvent(usage, chunk);
}

void ChatStream::AddTimings(Json* event) const {
  (*event)["timings"] = TimingsJson(cost_);
  AddExplanation(record_, event);
  if (verbose_) (*event)["__verbose"] = *verbose_;
}

}  // namespace cairn
