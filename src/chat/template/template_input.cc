#include "chat/template/template_input.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "chat/template/template_turns.h"
#include "chat/text/call_arguments.h"
#include "chat/text/limited_json.h"
#include "jinja/template.h"

namespace cairn {
namespace {

// A template may compare every message with every other, which at this number takes most of a
// minute; a context of 262,144 tokens then has 64 tokens for each.
constexpr size_t kMessagesMax = 4'096;

Json TextPart(const std::string& text) {
  return {{"type", "text"}, {"text", text}};
}

void Tell(std::string member, size_t item, const std::vector<TextPiece>& pieces,
          TemplateMessage* message) {
  message->texts.push_back({std::move(member), item, pieces});
}

// Reasoning that is a part of the content goes before the text.
void SetContent(const TemplateTurn& turn, const TemplateCaps& caps, TemplateMessage* message) {
  Json& content = message->json["content"];
  const std::string& text = turn.message.content;
  const std::string& reasoning = turn.message.reasoning;
  std::erase_if(message->texts,
                [](const TemplateMessage::Pieces& known) { return known.member == "content"; });
  if (!reasoning.empty() && caps.reasoning_field == ReasoningField::kThinkingPart) {
    content = Json::array({{{"type", "thinking"}, {"thinking", reasoning}}});
    Tell("content", 0, turn.reasoning, message);
    if (text.empty()) return;
    content.push_back(TextPart(text));
    return Tell("content", 1, turn.content, message);
  }
  if (!turn.message.tool_calls.empty() && text.empty() && caps.null_content) {
    content = nullptr;
    return;
  }
  content = caps.typed_content ? Json::array({TextPart(text)}) : Json(text);
  Tell("content", 0, turn.content, message);
}

void AddReasoning(const TemplateTurn& turn, const TemplateCaps& caps, TemplateMessage* message) {
  if (turn.message.reasoning.empty() || caps.reasoning_field == ReasoningField::kThinkingPart) {
    return;
  }
  const char* const member =
      caps.reasoning_field == ReasoningField::kReasoningContent ? "reasoning_content" : "thinking";
  message->json[member] = turn.message.reasoning;
  Tell(member, 0, turn.reasoning, message);
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

TemplateMessage OneMessage(const TemplateTurn& turn, const TemplateCaps& caps) {
  const Message& message = turn.message;
  TemplateMessage made{
      .json = {{"role", RoleName(message.role)}}, .index = turn.index, .callers = turn.callers};
  SetContent(turn, caps, &made);
  AddReasoning(turn, caps, &made);
  if (!message.tool_calls.empty()) made.json["tool_calls"] = ToolCalls(message, caps);
  if (!message.tool_call_id.empty()) made.json["tool_call_id"] = message.tool_call_id;
  if (!message.name.empty()) made.json["name"] = message.name;
  return made;
}

// The messages for a template with results_beside_calls.
class MessagesWithResults {
 public:
  explicit MessagesWithResults(const TemplateCaps& caps) : caps_(caps) {}

  void Add(TemplateTurn turn) {
    const Role role = turn.message.role;
    const bool calls = !turn.message.tool_calls.empty();
    if (open_ && role == Role::kTool) return AddResult(turn);
    if (open_ && role == Role::kAssistant && !calls) return AddReply(std::move(turn));
    // Such a template shows a text behind the results. One that came before the calls stays there
    // as a message of its own.
    if (calls && !turn.message.content.empty()) {
      const TemplateTurn text = {
          .message = {.role = Role::kAssistant, .content = std::exchange(turn.message.content, {})},
          .index = turn.index,
          .content = std::exchange(turn.content, {})};
      messages_.push_back(OneMessage(text, caps_));
    }
    messages_.push_back(OneMessage(turn, caps_));
    open_ = calls;
  }

  std::vector<TemplateMessage> Take() { return std::move(messages_); }

 private:
  void AddResult(const TemplateTurn& turn) {
    const Message& result = turn.message;
    TemplateMessage& last = messages_.back();
    Json response = Json::object();
    for (const Json& call : last.json["tool_calls"]) {
      if (call["id"] == result.tool_call_id) response["name"] = call["function"]["name"];
    }
    if (!response.contains("name") && !result.name.empty()) response["name"] = result.name;
    response["response"] = result.content;
    Json& responses = last.json["tool_responses"];
    Tell("tool_responses", responses.size(), turn.content, &last);
    responses.push_back(std::move(response));
  }

  // The model answers the results in the turn of the calls. The reasoning of that answer has no
  // place: the message's is that of its calls.
  void AddReply(TemplateTurn reply) {
    reply.message.reasoning.clear();
    SetContent(reply, caps_, &messages_.back());
    open_ = false;
  }

  const TemplateCaps& caps_;
  std::vector<TemplateMessage> messages_;
  // The last message has calls, and their results and the answer may follow.
  bool open_ = false;
};

// An entry as a value.
class MessageValue {
 public:
  MessageValue(jinja::Heap* heap, const TemplateMessage& message, TextSources* sources)
      : heap_(*heap), message_(message), sources_(*sources) {}

  jinja::Value Make() const {
    jinja::DictObject* const dict = NewDict(message_.json);
    for (const auto& [name, value] : message_.json.items()) {
      Set(name, value.is_array() ? List(name, value) : Member(name, 0, value), dict);
    }
    return jinja::Value::Of(jinja::Kind::kDict, dict);
  }

 private:
  jinja::DictObject* NewDict(const Json& json) const {
    heap_.Step();
    heap_.Charge(json.size() * 2 * sizeof(jinja::Value));
    return heap_.New<jinja::DictObject>();
  }

  void Set(const std::string& name, const jinja::Value& value, jinja::DictObject* dict) const {
    dict->Set(jinja::MakeText(&heap_, name), value);
  }

  jinja::Value List(const std::string& name, const Json& list) const {
    std::vector<jinja::Value> items;
    items.reserve(list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      if (!list[i].is_object()) {
        items.push_back(Member(name, i, list[i]));
        continue;
      }
      jinja::DictObject* const dict = NewDict(list[i]);
      for (const auto& [key, value] : list[i].items()) {
        Set(key, name == "tool_calls" ? OfCall(key, i, value) : OfPart(name, key, i, value), dict);
      }
      items.push_back(jinja::Value::Of(jinja::Kind::kDict, dict));
    }
    return jinja::MakeList(&heap_, std::move(items));
  }

  // A member of a part of the content, or of a result beside its call.
  jinja::Value OfPart(const std::string& name, const std::string& key, size_t item,
                      const Json& value) const {
    if (key == "type") return ValueWithSource(&heap_, value, {}, &sources_);
    const bool said = key != "name";
    return said ? Member(name, item, value) : Other(value, message_.index);
  }

  jinja::Value OfCall(const std::string& key, size_t item, const Json& value) const {
    if (key == "type") return ValueWithSource(&heap_, value, {}, &sources_);
    const size_t caller = item < message_.callers.size() ? message_.callers[item] : kNoMessage;
    if (!value.is_object()) return Other(value, caller);
    jinja::DictObject* const dict = NewDict(value);
    for (const auto& [name, inner] : value.items()) {
      const TextField field = name == "arguments" ? TextField::kArguments : TextField::kOther;
      Set(name, ValueWithSource(&heap_, inner, {field, caller}, &sources_), dict);
    }
    return jinja::Value::Of(jinja::Kind::kDict, dict);
  }

  jinja::Value Member(const std::string& name, size_t item, const Json& value) const {
    if (!value.is_string()) return Other(value, message_.index);
    for (const TemplateMessage::Pieces& known : message_.texts) {
      if (known.item == item && known.member == name) return OfPieces(value.text(), known.pieces);
    }
    return Other(value, message_.index);
  }

  jinja::Value Other(const Json& value, size_t message) const {
    return ValueWithSource(&heap_, value, {TextField::kOther, message}, &sources_);
  }

  jinja::Value OfPieces(std::string_view text, const std::vector<TextPiece>& pieces) const {
    jinja::TextBuilder made(&heap_);
    for (size_t i = 0; i < pieces.size(); ++i) {
      const size_t end = i + 1 < pieces.size() ? pieces[i + 1].begin : text.size();
      const std::string_view bytes = text.substr(pieces[i].begin, end - pieces[i].begin);
      const int32_t source = sources_.Of(pieces[i].source);
      if (bytes.empty()) {
        made.AppendEmpty(source, pieces[i].offset);
      } else {
        made.AppendRun(bytes, source, pieces[i].offset, false);
      }
    }
    return jinja::Value::Of(made.Build());
  }

  jinja::Heap& heap_;
  const TemplateMessage& message_;
  TextSources& sources_;
};

}  // namespace

Result<std::vector<TemplateMessage>> TemplateMessages(const Conversation& conversation,
                                                      const TemplateCaps& caps) {
  if (conversation.messages.size() > kMessagesMax) {
    return Fail(ErrorCode::kInvalidArgument,
                "messages has " + std::to_string(conversation.messages.size()) +
                    " entries; at most " + std::to_string(kMessagesMax) + " are taken.");
  }
  std::vector<TemplateTurn> turns = TurnsForTemplate(conversation, caps);
  if (caps.results_beside_calls) {
    MessagesWithResults messages(caps);
    for (TemplateTurn& turn : turns) messages.Add(std::move(turn));
    return messages.Take();
  }
  std::vector<TemplateMessage> messages;
  messages.reserve(turns.size());
  for (const TemplateTurn& turn : turns) messages.push_back(OneMessage(turn, caps));
  return messages;
}

jinja::Value ValueOfMessage(jinja::Heap* heap, const TemplateMessage& message,
                            TextSources* sources) {
  return MessageValue(heap, message, sources).Make();
}

jinja::Value ValueWithSource(jinja::Heap* heap, const Json& json, const TextSource& source,
                             TextSources* sources) {
  return jinja::ValueOfJson(heap, json, [&](const std::string&) { return sources->Of(source); });
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
