// Where the messages of a rendered prompt begin: the boundaries at which checkpoints are worth
// taking.
//
//   <|im_start|>system … <|im_start|>user\nHi<|im_end|> … <|im_start|>assistant\n
//                                         ^ header_end    ^ last_message_end
//
// The template engine does not say which byte came from which message, so the boundaries are found
// by rendering:
//
//   1. Every message of interest gets a mark in front of its text. If the rendering with the marks
//      taken out again is the prompt, byte for byte, each mark stood where its message begins.
//   2. If not, some messages cannot bear a mark: a template looked at how they begin, or whether
//      they are empty. They are found by halving.
//   3. For those, what the messages before them render to is compared with the prompt, and a mark
//   in
//      the middle of the text is tried. The boundary may then be earlier: in front of what the
//      template writes before the message.
//
// A message for which all of that fails has no boundary: never a guess.

#ifndef CAIRN_CHAT_SPANS_SPANS_H_
#define CAIRN_CHAT_SPANS_SPANS_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/message.h"
#include "chat/template/chat_template.h"

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
  // The message's text does not begin here but somewhere between here and the next boundary.
  bool earlier = false;
};

struct TextShape {
  // Before the first user message: system text and tools. 0 when that is not known.
  size_t header_end = 0;
  // Where the last message ends and the generation prompt begins.
  size_t last_message_end = 0;
  // In order of their begins, which is the order of the messages.
  std::vector<TextSpan> spans;
  // User and tool messages that have no boundary.
  size_t unknown_boundaries = 0;
  // What it took: renderings of the conversation or of its beginning, and those of only its end.
  size_t renders = 0;
  size_t short_renders = 0;
};

// Of the conversation, in one look; then what is left is unknown.
inline constexpr size_t kRendersMax = 32;

// `text` must be what `chat_template` renders for `conversation` with the generation prompt. When
// the template asks for the date, set now_unix_s. Any thread. Errors: those of Render.
//
// `known`: what an earlier look found for the first of these messages, in order, in a prompt that
// had the same bytes up to the end of each of their texts. Only messages after the last of them
// are looked at, and as a rule only those are rendered again.
Result<TextShape> FindTextShape(const ChatTemplate& chat_template, const Conversation& conversation,
                                std::string_view text, const std::vector<TextSpan>& known = {});

// The bytes of `span`'s message in `text`, behind leading white space, if they stand there as the
// client wrote them; empty when they do not, or when there are none.
std::string_view SpanText(const TextSpan& span, const Message& message, std::string_view text);

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_SPANS_H_
