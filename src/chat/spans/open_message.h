// A prompt that ends inside the assistant's last message, which the answer then continues:
//
//   {"role": "assistant", "content": "A cairn is"}
//   … <|im_start|>assistant\n<think>\n\n</think>\n\nA cairn is
//                           '---------- prefilled ----------'
//
// What the template writes behind the last byte of the message's text (which closes the message) is
// removed. So the text is where the template puts it, after closed reasoning if the template shows
// that. White space at its end comes back if the template trimmed it. A message with reasoning and
// no content is continued inside its reasoning. If a template would show less of the earlier
// messages (Mistral's shows system text in the last message only), the text follows the generation
// prompt.

#ifndef CAIRN_CHAT_SPANS_OPEN_MESSAGE_H_
#define CAIRN_CHAT_SPANS_OPEN_MESSAGE_H_

#include <cstddef>
#include <limits>

#include "base/result.h"
#include "chat/spans/prompt_text.h"
#include "chat/spans/special_texts.h"
#include "chat/template/chat_template.h"
#include "chat/text/message.h"

namespace cairn {

// As RenderPrompt, for a conversation whose last message is the assistant's and has content or
// reasoning. `prefilled_bytes` of the result extends back to where an answer would begin. Any
// thread. Returns the errors of ChatTemplate::Render, and kInvalidArgument if the template does not
// print the message's text unchanged, so that an answer could not continue at its end.
Result<PromptText> RenderOpenMessage(const ChatTemplate& chat_template,
                                     const SpecialTexts& specials, const Conversation& conversation,
                                     size_t shape_bytes_max = std::numeric_limits<size_t>::max());

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_OPEN_MESSAGE_H_
