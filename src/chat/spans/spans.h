// Finds where the messages of a rendered prompt begin: the boundaries at which checkpoints are
// useful.
//
//   <|im_start|>system … <|im_start|>user\nHi<|im_end|> … <|im_start|>assistant\n
//                                         ^ header_end    ^ last_message_end
//
// The template engine does not report which byte came from which message, so the boundaries are
// found by rendering:
//
//   1. Every message of interest gets a mark before its text. If the rendering without the marks
//      is the prompt, byte for byte, each mark was where its message begins.
//   2. Otherwise some messages do not tolerate a mark, because the template depends on how they
//      begin or whether they are empty. These messages are found by bisection.
//   3. For those, the rendering of the messages before them is compared with the prompt, and a mark
//      in the middle of their text is tried. The boundary may then be earlier: before what the
//      template writes in front of the message.
//
// A message for which all of that fails has no boundary; boundaries are never guessed.

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
  // The beginning of a user or tool message: at the first byte of its text or before it, and after
  // all text of the messages before it.
  size_t begin = 0;
  // The next known boundary; answers in between belong to the span that they follow.
  size_t end = 0;
  Role role = Role::kUser;  // kUser or kTool
  size_t message_index = 0;
  // The message's text does not begin at `begin`, but somewhere between it and the next boundary.
  bool earlier = false;
};

struct TextShape {
  // The end of the system prefix (system text and tools), before the first user message. 0 if not
  // known.
  size_t header_end = 0;
  // The end of the last message, where the generation prompt begins.
  size_t last_message_end = 0;
  // Ordered by `begin`, which is the order of the messages.
  std::vector<TextSpan> spans;
  // Number of user and tool messages that have no boundary.
  size_t unknown_boundaries = 0;
  // Number of renderings of the conversation or its beginning, and of its end only.
  size_t renders = 0;
  size_t short_renders = 0;
};

// Limit for the renderings of one search; messages not found by then have no boundary.
inline constexpr size_t kRendersMax = 32;

// `text` must be what `chat_template` renders for `conversation` with the generation prompt. If the
// template prints the date, set now_unix_s. Any thread. Returns the errors of Render.
//
// `known` holds the spans that an earlier search found for the first of these messages, in order,
// in a prompt with the same bytes up to the end of each of their texts. Only messages after the
// last of them are searched for, and usually only those are rendered again.
Result<TextShape> FindTextShape(const ChatTemplate& chat_template, const Conversation& conversation,
                                std::string_view text, const std::vector<TextSpan>& known = {});

// Returns the bytes of `span`'s message in `text`, after leading white space, if they are there as
// the client wrote them; empty if they are not, or if the message has none.
std::string_view SpanText(const TextSpan& span, const Message& message, std::string_view text);

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_SPANS_H_
