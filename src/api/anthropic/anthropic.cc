#include "api/anthropic/anthropic.h"

#include <algorithm>
#include <utility>

#include "api/anthropic/anthropic_request.h"
#include "api/anthropic/context_management.h"
#include "base/hash.h"
#include "base/text.h"
#include "chat/text/limited_json.h"

namespace cairn {
namespace {

constexpr std::string_view kPingEvent = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

std::string MessagesErrorType(int status) {
  switch (status) {
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
    case 529:
      return "overloaded_error";
    default:
      return status < 500 ? ErrorType(status) : "api_error";
  }
}

// The API has no name for a cancelled answer. "max_tokens" is how it says that an answer is cut
// off, and an error would make clients ask again.
std::string StopReason(const AnswerEnd& end) {
  if (end.cut_off()) {
    return end.context_full ? "model_context_window_exceeded" : "max_tokens";
  }
  if (!end.stop_text.empty()) return "stop_sequence";
  return end.called_tools ? "tool_use" : "end_turn";
}

Json StopSequence(const AnswerEnd& end) {
  return end.stop_text.empty() ? Json() : Json(end.stop_text);
}

// Returns the number of prefilled tokens before `end`.
size_t ReadBefore(size_t end, const GenerationCost& cost) {
  end = std::min(end, cost.prompt_tokens);
  return end > cost.reused_tokens ? end - cost.reused_tokens : 0;
}

Json MessageUsage(const GenerationCost& cost, const std::vector<ClientMark>& marks) {
  size_t last = 0;
  size_t last_long = 0;  // of those with a longer ttl than the default
  for (const ClientMark& mark : marks) {
    last = std::max(last, mark.position);
    if (mark.keep_ms > ClientMark().keep_ms) last_long = std::max(last_long, mark.position);
  }
  const size_t written = ReadBefore(last, cost);
  const size_t written_long = ReadBefore(last_long, cost);
  return {{"input_tokens", cost.prefill_tokens() - written},
          {"cache_creation_input_tokens", written},
          {"cache_read_input_tokens", cost.reused_tokens},
          {"cache_creation",
           {{"ephemeral_5m_input_tokens", written - written_long},
            {"ephemeral_1h_input_tokens", written_long}}},
          {"output_tokens", cost.generated_tokens},
          {"output_tokens_details", {{"thinking_tokens", cost.reasoning_tokens}}}};
}

Json MessageEnvelope(const AnswerIdentity& identity, const GenerationCost& cost,
                     const std::vector<ClientMark>& marks) {
  return {{"id", identity.id},        {"type", "message"},
          {"role", "assistant"},      {"model", identity.model},
          {"content", Json::array()}, {"stop_reason", nullptr},
          {"stop_sequence", nullptr}, {"usage", MessageUsage(cost, marks)}};
}

// Clients that sent no edits are told nothing.
void AddEdits(const AppliedEdits& edits, Json* answer) {
  if (edits.asked) (*answer)["context_management"] = AppliedEditsJson(edits);
}

// Clients require call ids that are unique in the whole conversation.
std::string ToolUseId(const AnswerIdentity& identity, size_t call) {
  return "toolu_" + identity.id + "-" + std::to_string(call);
}

// Clients take a thinking block without a signature for one that must not be sent back, and the
// model then loses its reasoning within a tool loop. What the signature says does not matter: a
// request's are ignored.
std::string SignatureOf(std::string_view thinking) {
  const Bits128 hash = Hash128(thinking.data(), thinking.size());
  return HexText(hash.high) + HexText(hash.low);
}

Json ThinkingBlock(const std::string& thinking, const std::string& signature) {
  return {{"type", "thinking"}, {"thinking", thinking}, {"signature", signature}};
}

Json TextBlock(const std::string& text) {
  return {{"type", "text"}, {"text", text}};
}

Json ToolUseBlock(std::string id, const std::string& name, Json input) {
  return {{"type", "tool_use"}, {"id", std::move(id)}, {"name", name}, {"input", std::move(input)}};
}

// The type in `data` is also the event's name.
void AppendEvent(const Json& data, std::string* chunk) {
  *chunk += "event: " + data["type"].get<std::string>() + "\ndata: " + ToText(data) + "\n\n";
}

}  // namespace

std::string MessagesErrorBody(const ApiError& error) {
  const std::string message = error.context_tokens == 0
                                  ? ShownErrorText(error.message)
                                  : "prompt is too long: " + std::to_string(error.prompt_tokens) +
                                        " tokens > " + std::to_string(error.context_tokens) +
                                        " maximum";
  return ToText({{"type", "error"},
                 {"error", {{"type", MessagesErrorType(error.status)}, {"message", message}}}});
}

ApiResult<std::string> CountTokensBody(const ChatService& service, std::string_view body,
                                       NamespaceId name_space, const std::function<bool()>& gone) {
  const auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  const auto conversation = ParseMessagesConversation(*json, service.MediaRulesUntil(gone));
  if (!conversation) return tl::unexpected(conversation.error());
  const auto tokens = service.PromptTokens(*conversation, name_space);
  if (!tokens) return tl::unexpected(tokens.error());
  Json counted = {{"input_tokens", tokens->size()}};
  if (conversation->edits.asked) {
    Conversation original = *conversation;
    original.edits = {};
    const auto all = service.PromptTokens(original, name_space);
    if (!all) return tl::unexpected(all.error());
    counted["context_management"]["original_input_tokens"] = all->size();
  }
  return ToText(counted);
}

ApiResult<std::string> CollectMessage(StartedChat chat, const AnswerIdentity& identity,
                                      const std::function<bool()>& gone) {
  const std::vector<ClientMark> marks = chat.marks;
  const AppliedEdits edits = chat.edits;
  const auto record = chat.record;
  const auto whole = CollectAnswer(std::move(chat), gone);
  if (!whole) return tl::unexpected(whole.error());
  Json message = MessageEnvelope(identity, whole->end.cost, marks);
  Json& content = message["content"];
  if (!whole->reasoning.empty()) {
    content.push_back(ThinkingBlock(whole->reasoning, SignatureOf(whole->reasoning)));
  }
  if (!whole->content.empty()) content.push_back(TextBlock(whole->content));
  for (size_t i = 0; i < whole->calls.size(); ++i) {
    const WholeAnswer::Call& call = whole->calls[i];
    auto input = ParseLimitedJson(call.arguments.empty() ? "{}" : call.arguments, "input");
    // max_tokens cut the call off, and an incomplete call must not be executed.
    if (!input || !input->is_object()) continue;
    content.push_back(ToolUseBlock(ToolUseId(identity, i), call.name, std::move(*input)));
  }
  message["stop_reason"] = StopReason(whole->end);
  message["stop_sequence"] = StopSequence(whole->end);
  AddEdits(edits, &message);
  AddExplanation(record, &message);
  return ToText(message);
}

MessageStream::MessageStream(StartedChat chat, AnswerIdentity identity)
    : marks_(chat.marks),
      edits_(chat.edits),
      record_(chat.record),
      reader_(std::move(chat)),
      identity_(std::move(identity)) {}

std::string_view MessageStream::ping() const {
  // No event may come before message_start.
  return begun_ ? kPingEvent : ": ping\n\n";
}

void MessageStream::Begin(const GenerationCost& cost, std::string* chunk) {
  begun_ = cost;
  GenerationCost prompt = cost;
  prompt.generated_tokens = 0;
  prompt.reasoning_tokens = 0;
  AppendEvent({{"type", "message_start"}, {"message", MessageEnvelope(identity_, prompt, marks_)}},
              chunk);
  *chunk += kPingEvent;
}

bool MessageStream::Next(std::string* chunk) {
  const auto step = reader_.Next();
  if (!step) return true;
  if (step->error) {
    *chunk += "event: error\ndata: " + MessagesErrorBody(*step->error) + "\n\n";
    return false;
  }
  if (!begun_ && step->progress) Begin(step->progress->cost, chunk);
  if (!begun_) Begin(step->end ? step->end->cost : GenerationCost(), chunk);
  if (step->progress) return true;
  for (const AnswerDelta& piece : step->pieces) AppendPiece(piece, chunk);
  if (!step->end) return true;
  CloseBlock(chunk);
  GenerationCost cost = step->end->cost;
  if (begun_->prompt_tokens > 0) cost.reused_tokens = begun_->reused_tokens;
  Json delta = {
      {"type", "message_delta"},
      {"delta",
       {{"stop_reason", StopReason(*step->end)}, {"stop_sequence", StopSequence(*step->end)}}},
      {"usage", MessageUsage(cost, marks_)}};
  AddEdits(edits_, &delta);
  AddExplanation(record_, &delta);
  AppendEvent(delta, chunk);
  AppendEvent({{"type", "message_stop"}}, chunk);
  return false;
}

void MessageStream::AppendPiece(const AnswerDelta& piece, std::string* chunk) {
  switch (piece.kind) {
    case AnswerDelta::Kind::kReasoning:
      if (open_ != Block::kThinking) OpenBlock(Block::kThinking, ThinkingBlock("", ""), chunk);
      thinking_ += piece.text;
      return AppendDelta({{"type", "thinking_delta"}, {"thinking", piece.text}}, chunk);
    case AnswerDelta::Kind::kContent:
      if (open_ != Block::kText) OpenBlock(Block::kText, TextBlock(""), chunk);
      return AppendDelta({{"type", "text_delta"}, {"text", piece.text}}, chunk);
    case AnswerDelta::Kind::kCallBegin:
      return OpenBlock(Block::kToolUse,
                       ToolUseBlock(ToolUseId(identity_, piece.call), piece.text, Json::object()),
                       chunk);
    case AnswerDelta::Kind::kCallArguments:
      return AppendDelta({{"type", "input_json_delta"}, {"partial_json", piece.text}}, chunk);
  }
}

void MessageStream::OpenBlock(Block block, Json content, std::string* chunk) {
  CloseBlock(chunk);
  open_ = block;
  AppendEvent(
      {{"type", "content_block_start"}, {"index", index_}, {"content_block", std::move(content)}},
      chunk);
}

void MessageStream::CloseBlock(std::string* chunk) {
  if (open_ == Block::kNone) return;
  if (open_ == Block::kThinking) {
    const std::string signature = SignatureOf(std::exchange(thinking_, {}));
    AppendDelta({{"type", "signature_delta"}, {"signature", signature}}, chunk);
  }
  AppendEvent({{"type", "content_block_stop"}, {"index", index_}}, chunk);
  open_ = Block::kNone;
  ++index_;
}

void MessageStream::AppendDelta(Json delta, std::string* chunk) const {
  AppendEvent({{"type", "content_block_delta"}, {"index", index_}, {"delta", std::move(delta)}},
              chunk);
}

}  // namespace cairn
