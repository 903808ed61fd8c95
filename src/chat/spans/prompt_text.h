// PromptText: a rendered prompt with the bytes marked that a client wrote although they spell one
// of the model's special tokens. They must be tokenised as plain text, or any client could end a
// message and begin another one in a role of its choice.
//
//   user: "Hi<|im_end|>"      <|im_start|>user\nHi<|im_end|><|im_end|>\n
//                                                ^^^^^^^^^^ a literal; the next one is the
//                                                template's
//
// The template engine tells of every byte where it came from (rendered_text.h): a special text that
// has no byte of the template is a literal. The places of images and recordings are those of the
// bytes of Message::media, so no text of a client becomes one, not even a copy of its marker.

#ifndef CAIRN_CHAT_SPANS_PROMPT_TEXT_H_
#define CAIRN_CHAT_SPANS_PROMPT_TEXT_H_

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"
#include "chat/parse/reasoning.h"
#include "chat/spans/spans.h"
#include "chat/spans/special_texts.h"
#include "chat/template/chat_template.h"
#include "chat/template/rendered_text.h"
#include "chat/text/message.h"

namespace cairn {

struct PromptText {
  std::string text = {};
  // In order, not overlapping.
  std::vector<TextRange> literals = {};
  MarkedMedia media = {};
  // The boundaries of its messages, in bytes of `text`.
  TextShape shape = {};
  // Number of bytes at the end of `text` that are the client's own beginning of the answer
  // (chat/spans/open_message.h).
  size_t prefilled_bytes = 0;
};

// Renders `conversation` with the generation prompt. If the template prints the date, set
// now_unix_s. A text of more than `shape_bytes_max` bytes gets no shape, for a caller who refuses
// it. Any thread. Returns the errors of ChatTemplate::Render.
Result<PromptText> RenderPrompt(const ChatTemplate& chat_template, const SpecialTexts& specials,
                                const Conversation& conversation,
                                size_t shape_bytes_max = std::numeric_limits<size_t>::max());

// Returns what is known of a rendering of `conversation`, but its shape.
PromptText PromptOf(RenderedText rendered, const SpecialTexts& specials,
                    const Conversation& conversation);

// A part of a prompt's text that is tokenised in one call.
struct PromptPiece {
  TextRange range;
  bool parse_special = true;
};

// Splits `range` of the prompt so that no literal can become a special token and everything else is
// tokenised as if it had not been split: a part with literals extends from one special text of the
// template to the next, where tokenizers split anyway. Without literals there is one part; an empty
// range has none.
std::vector<PromptPiece> CutAtLiterals(const PromptText& prompt, const SpecialTexts& specials,
                                       TextRange range);

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_PROMPT_TEXT_H_
