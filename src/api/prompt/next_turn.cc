#include "api/prompt/next_turn.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace cairn {
namespace {

// Letters, so that every template treats it as text.
constexpr std::string_view kStandIn = "Next";

void AddPieces(std::vector<AnswerDelta> pieces, Message* message) {
  for (AnswerDelta& piece : pieces) {
    switch (piece.kind) {
      case AnswerDelta::Kind::kReasoning:
        message->reasoning += piece.text;
        break;
      case AnswerDelta::Kind::kContent:
        message->content += piece.text;
        break;
      case AnswerDelta::Kind::kCallBegin:
        message->tool_calls.push_back({.name = std::move(piece.text)});
        break;
      case AnswerDelta::Kind::kCallArguments:
        message->tool_calls.back().arguments += piece.text;
        break;
    }
  }
}

Conversation WithNextTurn(Conversation conversation, Message answer) {
  std::vector<Message> next;
  for (size_t i = 0; i < answer.tool_calls.size(); ++i) {
    ToolCall& call = answer.tool_calls[i];
    call.id = "call_" + std::to_string(i);
    next.push_back({.role = Role::kTool,
                    .content = std::string(kStandIn),
                    .tool_call_id = call.id,
                    .name = call.name});
  }
  if (next.empty()) next.push_back({.role = Role::kUser, .content = std::string(kStandIn)});
  conversation.messages.push_back(std::move(answer));
  std::move(next.begin(), next.end(), std::back_inserter(conversation.messages));
  return conversation;
}

// Whether the client sent reasoning back in the conversation's earlier answers.
struct ClientsWay {
  bool sends_reasoning = false;
  bool drops_reasoning = false;
};

ClientsWay WayOf(const Conversation& conversation) {
  ClientsWay way;
  for (const Message& message : conversation.messages) {
    if (message.role != Role::kAssistant) continue;
    way.sends_reasoning = way.sends_reasoning || !message.reasoning.empty();
    way.drops_reasoning = true;
  }
  way.drops_reasoning = way.drops_reasoning && !way.sends_reasoning;
  return way;
}

}  // namespace

Message AnswerMessage(const AnswerFormat& format, std::string_view text) {
  Message message{.role = Role::kAssistant};
  const auto parser = MakeAnswerParser(format);
  AddPieces(parser->Push(text), &message);
  AddPieces(parser->Finish(), &message);
  return message;
}

std::vector<Conversation> ExpectedConversations(const Conversation& asked, const Message& answer) {
  Message without = answer;
  without.reasoning.clear();
  const ClientsWay way = WayOf(asked);
  std::vector<Conversation> expected;
  if (!way.sends_reasoning || answer.reasoning.empty()) {
    expected.push_back(WithNextTurn(asked, std::move(without)));
  }
  if (!way.drops_reasoning && !answer.reasoning.empty()) {
    expected.push_back(WithNextTurn(asked, answer));
  }
  return expected;
}

}  // namespace cairn
