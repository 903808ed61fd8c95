#include "api/prompt/conversation_cut.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cairn {
namespace {

constexpr size_t kAnswerTokensMax = 1024;
constexpr size_t kWindowParts = 8;

size_t MessageBytes(const Message& message) {
  size_t bytes = message.content.size() + message.reasoning.size() + message.name.size();
  for (const ToolCall& call : message.tool_calls) {
    bytes += call.name.size() + call.arguments.size();
  }
  return bytes;
}

size_t MessagesBeforeUser(const Conversation& conversation) {
  const auto& messages = conversation.messages;
  const auto first = std::find_if(messages.begin(), messages.end(), [](const Message& message) {
    return message.role == Role::kUser;
  });
  return static_cast<size_t>(first - messages.begin());
}

void Drop(size_t begin, size_t count, Conversation* conversation) {
  const auto first = conversation->messages.begin() + static_cast<ptrdiff_t>(begin);
  conversation->messages.erase(first, first + static_cast<ptrdiff_t>(count));
}

}  // namespace

ConversationCut::Applied ConversationCut::Apply(NamespaceId name_space, Conversation* conversation,
                                                size_t tightness) const {
  const Found found = Find(name_space, *conversation, tightness);
  Drop(found.header_messages, found.cut.start, conversation);
  return {found.cut.start, found.cut.start != found.before.start};
}

std::optional<Conversation> ConversationCut::Planned(NamespaceId name_space,
                                                     Conversation conversation) const {
  const Found found = Find(name_space, conversation, 0);
  if (!found.cut.planned) return std::nullopt;
  Drop(found.header_messages, *found.cut.planned, &conversation);
  return conversation;
}

WindowRules ConversationCut::RulesOf(size_t tightness) const {
  WindowRules rules;
  rules.window_tokens = engine_->context_tokens() * (kWindowParts - tightness) / kWindowParts;
  rules.answer_tokens = std::min(rules.window_tokens / kWindowParts, kAnswerTokensMax);
  return rules;
}

ConversationCut::Found ConversationCut::Find(NamespaceId name_space,
                                             const Conversation& conversation,
                                             size_t tightness) const {
  Found found;
  found.header_messages = MessagesBeforeUser(conversation);
  const WindowRules rules = RulesOf(tightness);
  size_t bytes_at_most = sizes_->around_all() + conversation.tools.text().size() * 2;
  for (const Message& message : conversation.messages) {
    bytes_at_most += sizes_->around_message() + MessageBytes(message) +
                     message.tool_calls.size() * sizes_->around_call();
  }
  // A token has at least one byte.
  if (bytes_at_most * 10 < rules.window_tokens * 8) return found;
  std::vector<SizedMessage> messages;
  size_t last_answer = 0;
  for (size_t i = found.header_messages; i < conversation.messages.size(); ++i) {
    const Message& message = conversation.messages[i];
    if (message.role == Role::kAssistant) last_answer = messages.size();
    messages.push_back({sizes_->Of(name_space, message), message.role == Role::kUser});
  }
  const size_t header = HeaderSize(name_space, conversation, found.header_messages);
  found.cut = CutToWindow(header, messages, rules);
  found.before = CutToWindow(header, std::span(messages).first(last_answer), rules);
  return found;
}

size_t ConversationCut::HeaderSize(NamespaceId name_space, const Conversation& conversation,
                                   size_t header_messages) const {
  size_t tokens = sizes_->around_all() + sizes_->OfTools(name_space, conversation.tools);
  for (size_t i = 0; i < header_messages; ++i) {
    tokens += sizes_->Of(name_space, conversation.messages[i]);
  }
  return tokens;
}

}  // namespace cairn
