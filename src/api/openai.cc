#include "api/openai.h"

#include <utility>
#include <vector>

#include "api/cost_json.h"
#include "api/json.h"

namespace cairn {
namespace {

std::string FinishReasonName(const AnswerEnd& end) {
  if (end.reason == FinishReason::kLength) return "length";
  return end.called_tools ? "tool_calls" : "stop";
}

std::string CallId(const AnswerIdentity& identity, size_t call) {
  return "call_" + identity.id + "-" + std::to_string(call);
}

Json Envelope(const AnswerIdentity& identity, std::string_view object) {
  return {{"id", identity.id},
          {"object", object},
          {"created", identity.created_unix_s},
          {"model", identity.model}};
}

Json Chunk(const AnswerIdentity& identity, Json delta, Json finish_reason) {
  Json chunk = Envelope(identity, "chat.completion.chunk");
  chunk["choices"] = Json::array(
      {{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish_reason)}}});
  return chunk;
}

}  // namespace

ApiResult<std::string> CollectChat(StartedChat chat, const AnswerIdentity& identity,
                                   const std::function<bool()>& gone) {
  const auto whole = CollectAnswer(std::move(chat), gone);
  if (!whole) return tl::unexpected(whole.error());
  Json message = {{"role", "assistant"}, {"content", whole->content}};
  if (!whole->reasoning.empty()) message["reasoning_content"] = whole->reasoning;
  if (!whole->calls.empty()) {
    if (whole->content.empty()) message["content"] = nullptr;
    for (const WholeAnswer::Call& call : whole->calls) {
      message["tool_calls"].push_back(
          {{"id", CallId(identity, message["tool_calls"].size())},
           {"type", "function"},
           {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    }
  }
  Json answer = Envelope(identity, "chat.completion");
  answer["choices"] = Json::array({{{"index", 0},
                                    {"message", std::move(message)},
                                    {"finish_reason", FinishReasonName(whole->end)}}});
  answer["usage"] = UsageJson(whole->end.cost);
  answer["timings"] = TimingsJson(whole->end.cost);
  return ToText(answer);
}

ChatStream::ChatStream(StartedChat chat, AnswerIdentity identity, bool include_usage)
    : reader_(std::move(chat)), identity_(std::move(identity)), include_usage_(include_usage) {}

bool ChatStream::Next(std::string* chunk) {
  const auto step = reader_.Next();
  if (!step || step->progress) return true;
  if (step->error) {
    *chunk += "data: " + ErrorBody(*step->error) + "\n\n";
    return false;
  }
  if (!begun_) {
    begun_ = true;
    AppendDataEvent(Chunk(identity_, {{"role", "assistant"}, {"content", nullptr}}, nullptr),
                    chunk);
  }
  for (const AnswerPiece& piece : step->pieces) AppendPiece(piece, chunk);
  if (!step->end) return true;
  AppendEnd(*step->end, chunk);
  return false;
}

void ChatStream::AppendPiece(const AnswerPiece& piece, std::string* chunk) const {
  Json delta;
  switch (piece.kind) {
    case AnswerPiece::Kind::kReasoning:
      delta["reasoning_content"] = piece.text;
      break;
    case AnswerPiece::Kind::kContent:
      delta["content"] = piece.text;
      break;
    case AnswerPiece::Kind::kCallBegin:
      delta["tool_calls"] =
          Json::array({{{"index", piece.call},
                        {"id", CallId(identity_, piece.call)},
                        {"type", "function"},
                        {"function", {{"name", piece.text}, {"arguments", ""}}}}});
      break;
    case AnswerPiece::Kind::kCallArguments:
      delta["tool_calls"] =
          Json::array({{{"index", piece.call}, {"function", {{"arguments", piece.text}}}}});
      break;
  }
  AppendDataEvent(Chunk(identity_, std::move(delta), nullptr), chunk);
}

void ChatStream::AppendEnd(const AnswerEnd& end, std::string* chunk) const {
  Json finish = Chunk(identity_, Json::object(), FinishReasonName(end));
  if (!include_usage_) finish["timings"] = TimingsJson(end.cost);
  AppendDataEvent(finish, chunk);
  if (include_usage_) {
    Json usage = Envelope(identity_, "chat.completion.chunk");
    usage["choices"] = Json::array();
    usage["usage"] = UsageJson(end.cost);
    usage["timings"] = TimingsJson(end.cost);
    AppendDataEvent(usage, chunk);
  }
  *chunk += "data: [DONE]\n\n";
}

}  // namespace cairn
