#include "chat/spans/open_message.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/white_space.h"
#include "chat/parse/reasoning.h"

namespace cairn {
namespace {

// In the private use area, and different from the stand-ins for special texts.
constexpr std::string_view kMarkEdge = "\xF4\x8F\xB4\x80";

// The texts that may show in a prompt.
std::vector<std::string_view> TextsOf(const Conversation& conversation) {
  std::vector<std::string_view> texts = {conversation.tools.text(),
                                         conversation.template_kwargs_json};
  for (const Message& message : conversation.messages) {
    texts.push_back(message.content);
    texts.push_back(message.reasoning);
    for (const ToolCall& call : message.tool_calls) texts.push_back(call.arguments);
  }
  return texts;
}

// Returns a mark that does not occur in the conversation. It hangs on all of its texts, so a client
// cannot write a list of marks that would have to be searched for one after the other.
std::string FreshMark(const Conversation& conversation) {
  const std::vector<std::string_view> texts = TextsOf(conversation);
  for (uint64_t hash = 0;;) {
    for (const std::string_view text : texts) hash = Hash64(text, hash);
    std::string mark(kMarkEdge);
    mark += std::to_string(hash);
    mark += kMarkEdge;
    const bool is_in = std::any_of(texts.begin(), texts.end(), [&](std::string_view text) {
      return text.find(mark) != std::string_view::npos;
    });
    if (!is_in) return mark;
  }
}

size_t CommonBytes(std::string_view a, std::string_view b) {
  const auto diverged = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<size_t>(diverged.first - a.begin());
}

// Returns `text` up to `end`, or up to the tag that contains `end`.
size_t OutsideTags(std::string_view text, size_t end) {
  const std::string_view front = text.substr(0, end);
  for (const auto& [opens, closes] : {std::pair{'<', '>'}, {'[', ']'}}) {
    const size_t open = front.rfind(opens);
    if (open != std::string_view::npos && front.find(closes, open) == std::string_view::npos) {
      return open;
    }
  }
  return end;
}

// Returns how many bytes of `asked`, the prompt of the messages before the open one, are a prefix
// of `prompt`. Returns nullopt if `prompt` lacks part of the message that is answered: some
// templates show system text or tools in a message only while it is the last one.
std::optional<size_t> CommonFront(const PromptText& asked, std::string_view answered,
                                  std::string_view prompt) {
  const size_t all = asked.shape.last_message_end;
  const std::string_view messages = std::string_view(asked.text).substr(0, all);
  const size_t common = CommonBytes(messages, prompt);
  if (common == all) return common;
  const size_t text = messages.rfind(answered);
  if (text == std::string_view::npos || text + answered.size() > common) return std::nullopt;
  return OutsideTags(prompt, common);
}

TextShape ShapeUpTo(const TextShape& known, size_t end) {
  TextShape shape = known;
  if (shape.header_end > end) shape.header_end = 0;
  std::erase_if(shape.spans, [&](const TextSpan& span) { return span.begin > end; });
  if (!shape.spans.empty()) shape.spans.back().end = std::min(shape.spans.back().end, end);
  shape.last_message_end = end;
  return shape;
}

Error CannotContinue() {
  return {
      ErrorCode::kInvalidArgument,
      "the chat template does not print the last message of the assistant as it came, so it "
      "cannot be continued: leave out white space around it, or send a message of the user last"};
}

// Appends the last `bytes` of `prompt` to the generation prompt of `asked`.
Result<PromptText> BehindGenerationPrompt(const ReasoningTags& tags, PromptText asked,
                                          const PromptText& prompt, size_t bytes) {
  const std::string_view generation_prompt =
      std::string_view(asked.text).substr(asked.shape.last_message_end);
  if (OpensReasoning(tags, generation_prompt)) return tl::unexpected(CannotContinue());
  const size_t from = prompt.text.size() - bytes;
  for (const TextRange& literal : prompt.literals) {
    if (literal.begin < from) continue;
    const size_t begin = literal.begin - from + asked.text.size();
    asked.literals.push_back({begin, begin + literal.end - literal.begin});
  }
  asked.text += std::string_view(prompt.text).substr(from);
  asked.prefilled_bytes = bytes;
  return asked;
}

}  // namespace

Result<PromptText> RenderOpenMessage(const ChatTemplate& chat_template,
                                     const SpecialTexts& specials, const Conversation& conversation,
                                     ClientSpans spans) {
  Conversation marked = conversation;
  Message& last = marked.messages.back();
  std::string& open_text = last.content.empty() ? last.reasoning : last.content;
  const std::string mark = FreshMark(conversation);
  const std::string prefilled = open_text;
  open_text += mark;
  auto prompt = RenderText(chat_template, specials, marked, /*add_generation_prompt=*/false);
  if (!prompt) return prompt;
  const size_t end = prompt->text.rfind(mark);
  const std::string_view kept = std::string_view(prompt->text).substr(0, end);
  if (end == std::string::npos || !kept.ends_with(prefilled)) {
    return tl::unexpected(CannotContinue());
  }
  prompt->text.resize(end);
  const auto is_cut = [&](const auto& range) { return range.begin >= end; };
  std::erase_if(prompt->literals, is_cut);
  std::erase_if(prompt->media, is_cut);
  prompt->prefilled_bytes = prefilled.size();

  Conversation before = conversation;
  before.messages.pop_back();
  if (before.messages.empty()) {
    prompt->shape.last_message_end = end - prefilled.size();
    return prompt;
  }
  auto asked = RenderPrompt(chat_template, specials, before, spans);
  if (!asked) return asked;
  const auto common = CommonFront(*asked, Trimmed(before.messages.back().content), prompt->text);
  if (!common) {
    if (conversation.messages.back().content.empty()) return tl::unexpected(CannotContinue());
    return BehindGenerationPrompt(chat_template.reasoning_tags(), std::move(*asked), *prompt,
                                  prefilled.size());
  }
  const size_t message_begin = std::min(*common, end - prefilled.size());
  prompt->shape = ShapeUpTo(asked->shape, message_begin);
  if (message_begin < asked->shape.last_message_end) return prompt;
  const std::string_view message = std::string_view(prompt->text).substr(message_begin);
  const std::string_view opening = std::string_view(asked->text).substr(message_begin);
  const size_t agreed = CommonBytes(opening, message);
  const size_t answer_begin = agreed == opening.size() ? agreed : OutsideTags(message, agreed);
  prompt->prefilled_bytes = std::max(prefilled.size(), message.size() - answer_begin);
  return prompt;
}

}  // namespace cairn
