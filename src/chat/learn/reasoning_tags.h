// ReasoningTags: the texts around a model's reasoning in its answers, learned from the chat
// template.

#ifndef CAIRN_CHAT_LEARN_REASONING_TAGS_H_
#define CAIRN_CHAT_LEARN_REASONING_TAGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "chat/text/message.h"

namespace cairn {

// Plain data. White space around a tag is not part of it.
struct ReasoningTags {
  std::string open = "<think>";
  std::string close = "</think>";
  // The template shows them; otherwise they are assumed, and the model may never reason.
  bool learned = false;

  friend bool operator==(const ReasoningTags&, const ReasoningTags&) = default;
};

// Renders small conversations with reasoning in an answer and finds the text around it. A template
// that omits reasoning from every prompt may still name its tags, for example where it splits an
// answer's text at them. `source`: the template's. Any thread.
ReasoningTags LearnReasoningTags(std::string_view source, const RenderConversation& render);

// Returns the texts in the tags that may be control tokens, each once.
std::vector<std::string> ControlTextsOf(const ReasoningTags& tags);

}  // namespace cairn

#endif  // CAIRN_CHAT_LEARN_REASONING_TAGS_H_
