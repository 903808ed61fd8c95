// LearnCalls: finds out how a template writes tool calls, by rendering small conversations whose
// names, arguments and ids are marks, and comparing the results.
//
//   one call            <tool_call>\n{"name": "NAMEA", "arguments": {"KEYA": "VALA"}}\n</tool_call>
//   two calls           the same, "\n", and the other call: so "\n" separates two calls
//   a text and a call   TEXT, "\n\n", and the same: so the call begins with <tool_call>
//
// The learned syntax is then used to write the calls again, and the result must occur in every one
// of these renderings, byte for byte; otherwise nothing is learned. The syntax is never guessed.

#ifndef CAIRN_CHAT_LEARN_LEARN_CALLS_H_
#define CAIRN_CHAT_LEARN_LEARN_CALLS_H_

#include <memory>

#include "chat/syntax/learned_calls.h"
#include "chat/text/message.h"

namespace cairn {

// Returns null if the template writes no calls, writes them in a form that LearnedCalls cannot
// describe, or begins them with nothing that separates them from text. Renders about fifteen times.
// Any thread.
std::shared_ptr<const LearnedCalls> LearnCalls(const RenderConversation& render);

}  // namespace cairn

#endif  // CAIRN_CHAT_LEARN_LEARN_CALLS_H_
