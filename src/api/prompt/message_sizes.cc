#include "api/prompt/message_sizes.h"

#include <algorithm>
#include <optional>
#include <string>

namespace cairn {
namespace {

// Assumed tokens if they cannot be found from the template.
constexpr size_t kAroundMessage = 16;
constexpr size_t kAroundAll = 32;
constexpr size_t kAroundCall = 24;
// Assumed share of the tools' text that a template prints, if it cannot be rendered.
constexpr size_t kToolsPercent = 125;
// Budget in bytes for texts whose sizes are kept.
constexpr size_t kKeptBytesMax = size_t{32} << 20U;

std::string KeyOf(NamespaceId name_space, char kind, std::string_view text) {
  std::string key = std::to_string(name_space);
  key += kind;
  key += text;
  return key;
}

// Returns the tokens of a rendered conversation; nullopt if it cannot be rendered.
std::optional<size_t> RenderedTokens(const Engine& engine, const ChatTemplate& chat_template,
                                     const Conversation& conversation) {
  const auto text = chat_template.Render(conversation, true);
  if (!text) return std::nullopt;
  const auto tokens = engine.Tokenize(*text, true, true);
  return tokens ? std::optional(tokens->size()) : std::nullopt;
}

Message Called() {
  Message message{.role = Role::kAssistant};
  message.tool_calls.push_back({"call00001", "read", R"({"path": "x"})"});
  return message;
}

Message Answered() {
  return {.role = Role::kTool, .content = "x", .tool_call_id = "call00001", .name = "read"};
}

// Returns so many questions with their answers and a last one, behind which are so many calls with
// their results.
Conversation Talk(size_t turns, size_t calls) {
  Conversation conversation;
  for (size_t i = 0; i < turns; ++i) {
    conversation.messages.push_back({.role = Role::kUser, .content = "x"});
    conversation.messages.push_back({.role = Role::kAssistant, .content = "x"});
  }
  conversation.messages.push_back({.role = Role::kUser, .content = "x"});
  for (size_t i = 0; i < calls; ++i) {
    conversation.messages.push_back(Called());
    conversation.messages.push_back(Answered());
  }
  return conversation;
}

// Returns the content without the markers of media.
std::string PlainText(const Message& message) {
  std::string text;
  size_t at = 0;
  for (const MarkedMedium& marked : message.media) {
    text += message.content.substr(at, marked.begin - at);
    at = marked.end;
  }
  return text + message.content.substr(at);
}

}  // namespace

MessageSizes::MessageSizes(const Engine* engine, const ChatTemplate* chat_template)
    : engine_(engine), template_(chat_template), kept_(kKeptBytesMax) {}

const MessageSizes::Around& MessageSizes::around() const {
  std::call_once(measured_, [&] { around_ = Measured(); });
  return around_;
}

MessageSizes::Around MessageSizes::Measured() const {
  Around around{kAroundAll, kAroundMessage, kAroundCall};
  const auto rendered = [&](size_t turns, size_t calls) {
    return RenderedTokens(*engine_, *template_, Talk(turns, calls));
  };
  const auto few = rendered(1, 0);
  const auto more = rendered(2, 0);
  if (!few || !more || *more < *few) return around;
  around.message = (*more - *few + 1) / 2;  // including the one token of each message
  around.all = *few - std::min(*few, 3 * around.message) + around.message;
  const auto one_call = rendered(1, 1);
  const auto two_calls = rendered(1, 2);
  if (!one_call || !two_calls || *two_calls < *one_call) return around;
  // The texts of a call and of its result, and the two messages, count themselves.
  const size_t counted = 2 * around.message + TextsOf(0, Called()) + TextsOf(0, Answered());
  around.call = *two_calls - *one_call - std::min(*two_calls - *one_call, counted);
  return around;
}

size_t MessageSizes::Of(NamespaceId name_space, const Message& message) const {
  const Around& each = around();
  return each.message + message.tool_calls.size() * each.call + TextsOf(name_space, message);
}

size_t MessageSizes::TextsOf(NamespaceId name_space, const Message& message) const {
  size_t tokens = OfText(name_space, message.reasoning) + OfText(name_space, message.name) +
                  OfContent(name_space, message);
  for (const ToolCall& call : message.tool_calls) {
    tokens += OfText(name_space, call.name) + OfText(name_space, call.arguments);
  }
  return tokens;
}

size_t MessageSizes::OfContent(NamespaceId name_space, const Message& message) const {
  if (message.media.empty()) return OfText(name_space, message.content);
  return OfText(name_space, PlainText(message));
}

size_t MessageSizes::OfText(NamespaceId name_space, std::string_view text) const {
  if (text.empty()) return 0;
  std::string key = KeyOf(name_space, 't', text);
  if (const auto known = kept_.Find(key)) return *known;
  if (const size_t least = LeastOfLong(text); least > 0) return least;
  const auto tokens = engine_->Tokenize(text, false, false);
  // A text that cannot be tokenized is refused later, with the reason.
  const size_t size = tokens ? tokens->size() : text.size();
  kept_.Keep(std::move(key), size, 0);
  return size;
}

size_t MessageSizes::LeastOfLong(std::string_view text) const {
  const size_t token_bytes_max = engine_->info().token_bytes_max;
  const size_t least = token_bytes_max == 0 ? 0 : text.size() / token_bytes_max;
  return least >= engine_->context_tokens() ? least : 0;
}

size_t MessageSizes::OfTools(NamespaceId name_space, const Tools& tools) const {
  if (tools.empty()) return 0;
  std::string key = KeyOf(name_space, 'f', tools.text());
  if (const auto known = kept_.Find(key)) return *known;
  if (const size_t least = LeastOfLong(tools.text()); least > 0) return least;
  Conversation offered = Talk(0, 0);
  offered.tools = tools;
  const auto with = RenderedTokens(*engine_, *template_, offered);
  const auto without = RenderedTokens(*engine_, *template_, Talk(0, 0));
  const bool measured = with && without && *with > *without;
  const size_t size =
      measured ? *with - *without : OfText(name_space, tools.text()) * kToolsPercent / 100;
  kept_.Keep(std::move(key), size, 0);
  return size;
}

}  // namespace cairn
