// A prompt that ends inside the assistant's last message, which the answer then continues:
//
//   {"role": "assistant", "content": "A cairn is"}
//   … <|im_start|>assistant\n<think>\n\n</think>\n\nA cairn is
//                           '---------- prefilled ----------'
//
// The message is rendered with a mark behind its text; what the template writes from the mark on
// (what closes the message) is left out. So the text stands where the template puts it, with closed
// reasoning in front of it where the template shows that. A message that has reasoning and no
// content is continued inside its reasoning. Where a template would show less of the messages
// before (Mistral's shows system text in the last message alone), the text follows the generation
// prompt.

#ifndef CAIRN_CHAT_SPANS_OPEN_MESSAGE_H_
#define CAIRN_CHAT_SPANS_OPEN_MESSAGE_H_

#include "base/result.h"
#include "chat/message.h"
#include "chat/spans/span_cache.h"
#include "chat/template/chat_template.h"
#include "chat/template/prompt_text.h"
#include "chat/template/special_texts.h"

namespace cairn {

// As RenderPrompt, for a conversation whose last message is the assistant's and has content or
// reasoning. `prefilled_bytes` of the result reaches back to where an answer would begin. Any
// thread. Errors: those of ChatTemplate::Render; kInvalidArgument: the template does not print the
// message's text as it came, so nothing could go on from its end.
Result<PromptText> RenderOpenMessage(const ChatTemplate& chat_template,
                                     const SpecialTexts& specials, const Conversation& conversation,
                                     ClientSpans spans = {});

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_OPEN_MESSAGE_H_
