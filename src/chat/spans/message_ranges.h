// The byte range of each message in a rendered prompt, including answers and system messages.
//
//   <|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYes…
//   | system                                          |user| assistant
//
// The range of a user or tool message is its text, and the template's text around it belongs to the
// adjacent system message or answer. Of two answers in a row the second begins at its text. Ranges
// follow each other without gaps; only before the first message and after the last there may be
// text that belongs to none.

#ifndef CAIRN_CHAT_SPANS_MESSAGE_RANGES_H_
#define CAIRN_CHAT_SPANS_MESSAGE_RANGES_H_

#include <optional>
#include <vector>

#include "chat/parse/reasoning.h"
#include "chat/spans/spans.h"
#include "chat/text/message.h"

namespace cairn {

// Returns one range per message. `shape` is that of a rendering of the messages. A message whose
// place is not known gets nullopt, never a guess; its text is then in the range of an adjacent
// message, or wherever the template has put it. Any thread.
std::vector<std::optional<TextRange>> FindMessageRanges(const std::vector<Message>& messages,
                                                        const TextShape& shape);

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_MESSAGE_RANGES_H_
