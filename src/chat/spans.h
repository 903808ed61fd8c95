// Where the messages of a rendered prompt begin: the boundaries at which checkpoints are worth
// taking.
//
//   <|im_start|>system … <|im_start|>user\nHi<|im_end|> … <|im_start|>assistant\n
//                                         ^ header_end    ^ last_message_end
//
// The boundaries are found by rendering. Every message of interest gets a mark in front of its
// text; if the prompt with the marks taken out again is the prompt, byte for byte, then each mark
// stood where its message begins. If not (a template looks at how a text begins), each message is
// marked alone. A message for which that fails has no boundary: never a guess. Later the renderer
// itself will report them, and this file only changes behind its interface.

#ifndef CAIRN_CHAT_SPANS_H_
#define CAIRN_CHAT_SPANS_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/chat_template.h"
#include "chat/message.h"

namespace cairn {

// Byte offsets in the rendered text.
struct TextSpan {
  // Where a user or tool message begins: at the first byte of its text or before it, and after all
  // text of the messages before it.
  size_t begin = 0;
  // Where the next known boundary is; answers in between belong to the span they follow.
  size_t end = 0;
  Role role = Role::kUser;  // kUser or kTool
  size_t message_index = 0;
};

struct TextShape {
  // Before the first user message: system text and tools. 0 when that is not known.
  size_t header_end = 0;
  // Where the last message ends and the generation prompt begins.
  size_t last_message_end = 0;
  // In order of their begins, which is the order of the messages.
  std::vector<TextSpan> spans;
  // User and tool messages that were looked at and have no boundary.
  size_t unknown_boundaries = 0;
  // What it took.
  size_t renders = 0;
};

// User and tool messages that are marked alone, newest first, when marking all at once fails.
inline constexpr size_t kMarkedAloneMax = 32;

// `text` must be what `chat_template` renders for `conversation` with the generation prompt. When
// the template asks for the date, set now_unix_s. Any thread. Errors: those of Render.
Result<TextShape> FindTextShape(const ChatTemplate& chat_template, const Conversation& conversation,
                                std::string_view text);

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_H_
