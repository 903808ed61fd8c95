// LearnCalls: how a template writes calls of tools, found out by rendering small conversations
// whose names, arguments and ids are marks, and comparing what comes out.
//
//   one call              <tool_call>\n{"name": "NAMEA", "arguments": {"KEYA":
//   "VALA"}}\n</tool_call> two calls             the same, "\n", and the other one: so this stands
//   between two a text and a call     TEXT, "\n\n", and the same: so the call begins with
//   <tool_call>
//
// What was learned is written again and must be in every one of these renderings, byte for byte;
// otherwise nothing was learned. Never a guess.

#ifndef CAIRN_CHAT_LEARN_LEARN_CALLS_H_
#define CAIRN_CHAT_LEARN_LEARN_CALLS_H_

#include <memory>

#include "chat/learn/learned_calls.h"
#include "chat/template/chat_template.h"

namespace cairn {

// Null: the template writes no calls, or in a way that LearnedCalls has no words for, or it begins
// them with nothing that tells them from text. Renders some fifteen times. Any thread.
std::shared_ptr<const LearnedCalls> LearnCalls(const ChatTemplate& chat_template);

}  // namespace cairn

#endif  // CAIRN_CHAT_LEARN_LEARN_CALLS_H_
