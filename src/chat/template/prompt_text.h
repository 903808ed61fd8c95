// PromptText: a rendered prompt that knows which of its bytes a client wrote although they spell
// one of the model's special tokens. Those must be tokenised as plain text, or anybody could end a
// message and begin another in a role of their choice.
//
//   user: "Hi<|im_end|>"      <|im_start|>user\nHi<|im_end|><|im_end|>\n
//                                                ^^^^^^^^^^ a literal; the next one is the
//                                                template's
//
// It is found out by rendering: each special text in the conversation is replaced by a stand-in
// that no one else wrote, the conversation is rendered, and the stand-ins in the prompt are
// replaced back. A template that looks for special texts in messages does not find them.

#ifndef CAIRN_CHAT_TEMPLATE_PROMPT_TEXT_H_
#define CAIRN_CHAT_TEMPLATE_PROMPT_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "chat/message.h"
#include "chat/parse/reasoning.h"
#include "chat/spans/span_cache.h"
#include "chat/spans/spans.h"
#include "chat/template/chat_template.h"
#include "chat/template/special_texts.h"

namespace cairn {

struct PromptText {
  std::string text;
  // In order, apart from each other.
  std::vector<TextRange> literals;
  // Where its messages begin, in bytes of `text`.
  TextShape shape;
  // At the end of `text`: of the answer, what the client has written itself
  // (chat/spans/open_message.h).
  size_t prefilled_bytes = 0;
};

// Renders `conversation` with the generation prompt. When the template asks for the date, set
// now_unix_s. With `spans` a conversation that grew is not searched for all of its
// messages again. Any thread. Errors: those of ChatTemplate::Render.
Result<PromptText> RenderPrompt(const ChatTemplate& chat_template, const SpecialTexts& specials,
                                const Conversation& conversation, ClientSpans spans = {});

// The same without `shape`.
Result<PromptText> RenderText(const ChatTemplate& chat_template, const SpecialTexts& specials,
                              const Conversation& conversation, bool add_generation_prompt);

// A piece of a prompt's text that is tokenised in one go.
struct PromptPiece {
  TextRange range;
  bool parse_special = true;
};

// Cuts `range` of the prompt so that no literal can become a special token and all else is
// tokenised as if nothing had been cut: a piece that holds literals reaches from one special text
// of the template to the next, and there tokenisers cut anyway. Without literals it is one piece;
// an empty range has none.
std::vector<PromptPiece> CutAtLiterals(const PromptText& prompt, const SpecialTexts& specials,
                                       TextRange range);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_PROMPT_TEXT_H_
