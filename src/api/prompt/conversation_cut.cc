#include "api/prompt/conversation_cut.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cairn {
namespace {

// Assumed tokens around a message if they cannot be found from the template.
constexpr size_t kAroundMessage = 16;
constexpr size_t kAroundAll = 32;
// Assumed tokens around a call's name and arguments.
constexpr size_t kAroundCall = 24;
// Templates print tools with additional white space: assumed share of their text.
constexpr size_t kToolsPercent = 125;
constexpr size_t kAnswerTokensMax = 1024;
constexpr size_t kWindowParts = 8;
// Budget in bytes for texts whose sizes are kept.
constexpr size_t kSizedBytesMax = size_t{32} << 20U;

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

ConversationCut::ConversationCut(const Engine* engine, const ChatTemplate* chat_template)
    : engine_(engine), around_all_(kAroundAll), around_message_(kAroundMessage) {
  const auto tokens_with = [&](size_t turns) -> std::optional<size_t> {
    Conversation conversation;
    for (size_t i = 0; i < turns; ++i) {
      conversation.messages.push_back({.role = Role::kUser, .content = "x"});
      conversation.messages.push_back({.role = Role::kAssistant, .content = "x"});
    }
    conversation.messages.push_back({.role = Role::kUser, .content = "x"});
    const auto text = chat_template->Render(conversation, true);
    if (!text) return std::nullopt;
    const auto tokens = engine->Tokenize(*text, true, true);
    return tokens ? std::optional(tokens->size()) : std::nullopt;
  };
  const auto few = tokens_with(1);
  const auto more = tokens_with(2);
  if (!few || !more || *more < *few) return;
  around_message_ = (*more - *few + 1) / 2;  // including the one token of each message
  around_all_ = *few - std::min(*few, 3 * around_message_) + around_message_;
}

ConversationCut::Applied ConversationCut::Apply(Conversation* conversation,
                                                size_t tightness) const {
  const Found found = Find(*conversation, tightness);
  Drop(found.header_messages, found.cut.start, conversation);
  return {found.cut.start, found.cut.start != found.before.start};
}

std::optional<Conversation> ConversationCut::Planned(Conversation conversation) const {
  const Found found = Find(conversation, 0);
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

ConversationCut::Found ConversationCut::Find(const Conversation& conversation,
                                             size_t tightness) const {
  Found found;
  found.header_messages = MessagesBeforeUser(conversation);
  const WindowRules rules = RulesOf(tightness);
  size_t bytes_at_most = around_all_ + conversation.tools.text().size() * 2;
  for (const Message& message : conversation.messages) {
    bytes_at_most +=
        around_message_ + MessageBytes(message) + message.tool_calls.size() * kAroundCall;
  }
  // A token has at least one byte.
  if (bytes_at_most * 10 < rules.window_tokens * 8) return found;
  std::vector<SizedMessage> messages;
  size_t last_answer = 0;
  for (size_t i = found.header_messages; i < conversation.messages.size(); ++i) {
    const Message& message = conversation.messages[i];
    if (message.role == Role::kAssistant) last_answer = messages.size();
    messages.push_back({SizeOf(message), message.role == Role::kUser});
  }
  const size_t header = HeaderSize(conversation, found.header_messages);
  found.cut = CutToWindow(header, messages, rules);
  found.before = CutToWindow(header, std::span(messages).first(last_answer), rules);
  return found;
}

size_t ConversationCut::SizeOf(const Message& message) const {
  size_t tokens = around_message_ + TokensOf(message.content) + TokensOf(message.reasoning) +
                  TokensOf(message.name);
  for (const ToolCall& call : message.tool_calls) {
    tokens += kAroundCall + TokensOf(call.name) + TokensOf(call.arguments);
  }
  return tokens;
}

size_t ConversationCut::HeaderSize(const Conversation& conversation, size_t header_messages) const {
  size_t tokens = around_all_ + TokensOf(conversation.tools.text()) * kToolsPercent / 100;
  for (size_t i = 0; i < header_messages; ++i) tokens += SizeOf(conversation.messages[i]);
  return tokens;
}

size_t ConversationCut::TokensOf(std::string_view text) const {
  if (text.empty()) return 0;
  // A text that cannot fit need not be tokenized to be dropped.
  const size_t token_bytes_max = engine_->info().token_bytes_max;
  const size_t least = token_bytes_max == 0 ? 0 : text.size() / token_bytes_max;
  if (least >= engine_->context_tokens()) return least;
  {
    const MutexLock lock(mutex_);
    const auto known = sizes_.find(std::string(text));
    if (known != sizes_.end()) return known->second;
  }
  const auto tokens = engine_->Tokenize(text, false, false);
  // A text that cannot be tokenized is refused later, with the reason.
  const size_t size = tokens ? tokens->size() : text.size();
  const MutexLock lock(mutex_);
  if (sized_bytes_ > kSizedBytesMax) {
    sizes_.clear();
    sized_bytes_ = 0;
  }
  if (sizes_.emplace(text, size).second) sized_bytes_ += text.size();
  return size;
}

}  // namespace cairn
