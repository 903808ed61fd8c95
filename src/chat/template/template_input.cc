#include "chat/template/template_input.h"

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "chat/parse/call_arguments.h"
#include "chat/parse/limited_json.h"
#include "chat/template/template_turns.h"

namespace cairn {
namespace {

// A template may compare every message with every other, which at this number takes most of a
// minute; a context of 262,144 tokens then has 64 tokens for each.
constexpr size_t kMessagesMax = 4'096;

Json TextPart(const std::string& text) {
  return {{"type", "text"}, {"text", text}};
}

// Reasoning that is a part of the content goes before the text.
Json Content(const Message& message, const TemplateCaps& caps) {
  const std::string& text = message.content;
  if (!message.reasoning.empty() && caps.reasoning_field == ReasoningField::kThinkingPart) {
    Json parts = Json::array({{{"type", "thinking"}, {"thinking", message.reasoning}}});
    if (!text.empty()) parts.push_back(TextPart(text));
    return parts;
  }
  if (!message.tool_calls.empty() && text.empty() && caps.null_content) return nullptr;
  if (!caps.typed_content) return text;
  return Json::array({TextPart(text)});
}

void AddReasoning(const Message& message, const TemplateCaps& caps, Json* json) {
  if (message.reasoning.empty()) return;
  if (caps.reasoning_field == ReasoningField::kReasoningContent) {
    (*json)["reasoning_content"] = message.reasoning;
  }
  if (caps.reasoning_field == ReasoningField::kThinking) (*json)["thinking"] = message.reasoning;
}

Json Arguments(const ToolCall& call, const TemplateCaps& caps) {
  if (!caps.object_arguments) return call.arguments;
  return ArgumentsObject(call.arguments);
}

Json ToolCalls(const Message& message, const TemplateCaps& caps) {
  Json calls = Json::array();
  for (const ToolCall& call : message.tool_calls) {
    Json function = {{"name", call.name}, {"arguments", Arguments(call, caps)}};
    calls.push_back({{"id", call.id}, {"type", "function"}, {"function", std::move(function)}});
  }
  return calls;
}

Json OneMessage(const Message& message, const TemplateCaps& caps) {
  Json json = {{"role", RoleName(message.role)}, {"content", Content(message, caps)}};
  AddReasoning(message, caps, &json);
  if (!message.tool_calls.empty()) {
    json["tool_calls"] = ToolCalls(message, caps);
  }
  if (!message.tool_call_id.empty()) json["tool_call_id"] = message.tool_call_id;
  if (!message.name.empty()) json["name"] = message.name;
  return json;
}

// The messages for a template with results_beside_calls.
class MessagesWithResults {
 public:
  explicit MessagesWithResults(const TemplateCaps& caps) : caps_(caps) {}

  void Add(Message message) {
    const bool calls = !message.tool_calls.empty();
    if (open_ && message.role == Role::kTool) return AddResult(message);
    if (open_ && message.role == Role::kAssistant && !calls) return AddReply(message);
    // Such a template shows a text behind the results. One that came before the calls stays there
    // as a message of its own.
    if (calls && !message.content.empty()) {
      messages_.push_back(OneMessage(
          {.role = Role::kAssistant, .content = std::exchange(message.content, {})}, caps_));
    }
    messages_.push_back(OneMessage(message, caps_));
    open_ = calls;
  }

  Json Take() { return std::move(messages_); }

 private:
  Json& Last() { return messages_[messages_.size() - 1]; }

  void AddResult(const Message& result) {
    Json response = Json::object();
    for (const Json& call : Last()["tool_calls"]) {
      if (call["id"] == result.tool_call_id) response["name"] = call["function"]["name"];
    }
    if (!response.contains("name") && !result.name.empty()) response["name"] = result.name;
    response["response"] = result.content;
    Last()["tool_responses"].push_back(std::move(response));
  }

  // The model answers the results in the turn of the calls. The reasoning of that answer has no
  // place: the message's is that of its calls.
  void AddReply(const Message& reply) {
    Last()["content"] = Content({.role = Role::kAssistant, .content = reply.content}, caps_);
    open_ = false;
  }

  const TemplateCaps& caps_;
  Json messages_ = Json::array();
  // The last message has calls, and their results and the answer may follow.
  bool open_ = false;
};

}  // namespace

Result<Json> TemplateMessages(const Conversation& conversation, const TemplateCaps& caps) {
  if (conversation.messages.size() > kMessagesMax) {
    return Fail(ErrorCode::kInvalidArgument,
                "messages has " + std::to_string(conversation.messages.size()) +
                    " entries; at most " + std::to_string(kMessagesMax) + " are taken.");
  }
  std::vector<TemplateTurn> turns = TurnsForTemplate(conversation, caps);
  if (caps.results_beside_calls) {
    MessagesWithResults messages(caps);
    for (TemplateTurn& turn : turns) messages.Add(std::move(turn.message));
    return messages.Take();
  }
  Json json = Json::array();
  for (const TemplateTurn& turn : turns) json.push_back(OneMessage(turn.message, caps));
  return json;
}

Result<Json> TemplateKwargs(const Conversation& conversation) {
  if (conversation.template_kwargs_json.empty()) return Json::object();
  Result<Json> kwargs = ParseLimitedJson(conversation.template_kwargs_json, "chat_template_kwargs");
  if (kwargs && !kwargs->is_object()) {
    return Fail(ErrorCode::kInvalidArgument, "chat_template_kwargs must be an object.");
  }
  return kwargs;
}

}  // namespace cairn
