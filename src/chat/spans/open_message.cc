#include "chat/spans/open_message.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "chat/parse/reasoning.h"
#include "chat/template/rendered_text.h"

namespace cairn {
namespace {

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
  for (TextRange& said : shape.said) {
    if (said.end > end) said = {};
  }
  std::erase_if(shape.spans, [&](const TextSpan& span) { return span.begin > end; });
  if (!shape.spans.empty()) shape.spans.back().end = std::min(shape.spans.back().end, end);
  shape.last_message_end = end;
  return shape;
}

// The end of the last bytes of a source in the text, and in the source; nullopt if they are
// changed.
std::optional<std::pair<size_t, size_t>> LastShown(const RenderedText& rendered,
                                                   const TextSource& wanted) {
  for (size_t i = rendered.runs.size(); i-- > 0;) {
    const jinja::Run& run = rendered.runs[i];
    const TextSource* const source = rendered.SourceOf(run);
    const size_t end = rendered.EndOf(i);
    if (source == nullptr || source->field != wanted.field || source->message != wanted.message ||
        end == run.begin) {
      continue;
    }
    if (run.changed) return std::nullopt;
    return std::pair{end, run.offset + (end - run.begin)};
  }
  return std::nullopt;
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
                                     size_t shape_bytes_max) {
  const Message& last = conversation.messages.back();
  const bool in_content = !last.content.empty();
  const std::string& prefilled = in_content ? last.content : last.reasoning;
  auto rendered = chat_template.RenderWithOrigins(conversation, /*add_generation_prompt=*/false);
  if (!rendered) return tl::unexpected(rendered.error());
  const TextSource open = {in_content ? TextField::kContent : TextField::kReasoning,
                           conversation.messages.size() - 1};
  const auto shown = LastShown(*rendered, open);
  if (!shown) return tl::unexpected(CannotContinue());
  const auto [shown_end, field_end] = *shown;
  PromptText prompt = PromptOf(*std::move(rendered), specials, conversation);
  prompt.text.resize(shown_end);
  const std::string_view trimmed_away = std::string_view(prefilled).substr(field_end);
  if (Trimmed(trimmed_away).empty()) prompt.text += trimmed_away;
  if (!prompt.text.ends_with(prefilled)) return tl::unexpected(CannotContinue());
  const size_t end = prompt.text.size();
  const auto is_cut = [&](const auto& range) { return range.begin >= end; };
  std::erase_if(prompt.literals, is_cut);
  std::erase_if(prompt.media, is_cut);
  prompt.prefilled_bytes = prefilled.size();

  Conversation before = conversation;
  before.messages.pop_back();
  if (before.messages.empty()) {
    prompt.shape.last_message_end = end - prefilled.size();
    return prompt;
  }
  auto asked = RenderPrompt(chat_template, specials, before, shape_bytes_max);
  if (!asked) return asked;
  const auto common = CommonFront(*asked, Trimmed(before.messages.back().content), prompt.text);
  if (!common) {
    if (conversation.messages.back().content.empty()) return tl::unexpected(CannotContinue());
    return BehindGenerationPrompt(chat_template.reasoning_tags(), std::move(*asked), prompt,
                                  prefilled.size());
  }
  const size_t message_begin = std::min(*common, end - prefilled.size());
  prompt.shape = ShapeUpTo(asked->shape, message_begin);
  if (message_begin < asked->shape.last_message_end) return prompt;
  const std::string_view message = std::string_view(prompt.text).substr(message_begin);
  const std::string_view opening = std::string_view(asked->text).substr(message_begin);
  const size_t agreed = CommonBytes(opening, message);
  const size_t answer_begin = agreed == opening.size() ? agreed : OutsideTags(message, agreed);
  prompt.prefilled_bytes = std::max(prefilled.size(), message.size() - answer_begin);
  return prompt;
}

}  // namespace cairn
