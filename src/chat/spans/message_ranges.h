// Which bytes of a rendered prompt each of its messages takes, answers and system messages too.
//
//   <|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYes…
//   | system                                          |user| assistant
//
// Known for certain are the places of user and tool messages (chat/spans/spans.h), so the ranges
// hang on them: such a message takes its text, and what the template writes around it counts to the
// system message or the answer beside it. Ranges follow each other without gaps; only before the
// first message and after the last there may be text that is nobody's.

#ifndef CAIRN_CHAT_SPANS_MESSAGE_RANGES_H_
#define CAIRN_CHAT_SPANS_MESSAGE_RANGES_H_

#include <optional>
#include <string_view>
#include <vector>

#include "chat/message.h"
#include "chat/parse/reasoning.h"
#include "chat/spans/spans.h"

namespace cairn {

// One for each message. `shape` is that of `text`, which the messages were rendered to. Nothing
// for a message whose place is not known for certain, never a guess: then its text is in the range
// of a message beside it, or wherever the template has put it. Any thread.
std::vector<std::optional<TextRange>> FindMessageRanges(const std::vector<Message>& messages,
                                                        const TextShape& shape,
                                                        std::string_view text);

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_MESSAGE_RANGES_H_
