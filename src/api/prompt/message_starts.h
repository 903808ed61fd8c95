// FindMessageStarts: the special tokens with which a chat template begins messages, such as
// <|im_start|>. Prompts are cut behind them (tree/prompt_cuts.h).
//
// Found by rendering a short conversation:
//
//   <|start_header_id|>user<|end_header_id|>\n\nText<|eot_id|><|start_header_id|>assistant…
//                                                           ^ the generation prompt begins with one
//
// If none of those stands between two messages, the last special token before the second one's text
// is taken too. A template without special tokens has none.
//
// Any thread.

#ifndef CAIRN_API_PROMPT_MESSAGE_STARTS_H_
#define CAIRN_API_PROMPT_MESSAGE_STARTS_H_

#include <string>

#include "base/tokens.h"
#include "chat/spans/special_texts.h"
#include "chat/template/chat_template.h"
#include "engine/engine.h"

namespace cairn {

// In ascending order.
Tokens FindMessageStarts(const Engine& engine, const ChatTemplate& chat_template);

// Returns the text that the template writes before every reply of a conversation, if that is its
// generation prompt: then a prompt that ends in it is the beginning of the next one. Empty if it is
// not, or if the model reasons, because templates leave reasoning out later.
//
//   <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n
//                                   '--------------------' the opening
std::string FindReplyOpening(const SpecialTexts& specials, const ChatTemplate& chat_template);

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_MESSAGE_STARTS_H_
