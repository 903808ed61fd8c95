// The syntaxes of calls that a template may name without ever showing a call. For such a template
// nothing can be learned, and its tags tell which of these its model writes.

#ifndef CAIRN_CHAT_SYNTAX_NAMED_CALLS_H_
#define CAIRN_CHAT_SYNTAX_NAMED_CALLS_H_

#include "chat/syntax/learned_calls.h"

namespace cairn {

// Granite 3: <|tool_call|>[{"name": …, "arguments": {…}}], which Phi 4 mini closes.
const LearnedCalls& GraniteSyntax();
// Hermes, Qwen 2.5 and 3: <tool_call>{"name": …, "arguments": {…}}</tool_call>
const LearnedCalls& HermesSyntax();
// [TOOL_CALLS]weather[CALL_ID]…[ARGS]{…}, and the older [TOOL_CALLS][{…}].
const LearnedCalls& MistralSyntax();
// Qwen 3 Coder: <tool_call><function=…><parameter=…>…</parameter></function></tool_call>
const LearnedCalls& QwenXmlSyntax();

}  // namespace cairn

#endif  // CAIRN_CHAT_SYNTAX_NAMED_CALLS_H_
