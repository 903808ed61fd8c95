// Where the messages of a rendered prompt begin: the boundaries at which checkpoints are useful.
//
//   <|im_start|>system … <|im_start|>user\nHi<|im_end|> … <|im_start|>assistant\n
//                                         ^ header_end    ^ last_message_end
//
// The template engine tells of every byte which message it came from (template/rendered_text.h), so
// the boundaries are read off the prompt. A message begins at the first byte of its text. If
// nothing of it is shown, or if the template shows it twice, the boundary is earlier: at the end of
// what the messages before it said. A message in front of which nothing was said has no boundary
// then, and neither has one that stands before an earlier message; boundaries are never guessed.

#ifndef CAIRN_CHAT_SPANS_SPANS_H_
#define CAIRN_CHAT_SPANS_SPANS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chat/parse/reasoning.h"
#include "chat/template/chat_template.h"
#include "chat/template/rendered_text.h"
#include "chat/text/message.h"

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
  // From the first to the last byte of what each message said: content, reasoning, arguments of
  // calls. Empty ranges where nothing of it is shown.
  std::vector<TextRange> said;
  // Number of renderings of the conversation beside that of the text: 1 where the text does not
  // tell the end of the last message.
  size_t renders = 0;
};

// `rendered` must be what `chat_template` renders for `conversation` with the generation prompt. If
// the template prints the date, set now_unix_s. Any thread.
TextShape FindTextShape(const ChatTemplate& chat_template, const Conversation& conversation,
                        const RenderedText& rendered);

// Counters since the server started.
struct SpanStats {
  uint64_t prompts = 0;
  // User and tool messages of all prompts: with a boundary directly before their text, with an
  // earlier one, and with none.
  uint64_t boundaries_exact = 0;
  uint64_t boundaries_earlier = 0;
  uint64_t boundaries_unknown = 0;
  // Renderings beside those of the prompts.
  uint64_t renders = 0;
};

// Any thread.
class SpanCounter {
 public:
  void Count(const TextShape& shape);
  SpanStats stats() const;

 private:
  std::atomic<uint64_t> prompts_ = 0;
  std::atomic<uint64_t> exact_ = 0;
  std::atomic<uint64_t> earlier_ = 0;
  std::atomic<uint64_t> unknown_ = 0;
  std::atomic<uint64_t> renders_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_SPANS_H_
