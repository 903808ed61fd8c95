// Grammars for requests that offer tools and also want a format: an answer is either calls, in the
// model's own syntax, or a text in that format.
//
//   root  ::= calls | text-root
//   calls ::= "<tool_call>\n{\"name\": \"now\", \"arguments\": " t0-root "}\n</tool_call>"
//   text-root ::= "{" text-ws …

#ifndef CAIRN_API_GRAMMAR_CALL_OR_TEXT_GRAMMAR_H_
#define CAIRN_API_GRAMMAR_CALL_OR_TEXT_GRAMMAR_H_

#include <string>

#include "api/grammar/tool_choice.h"
#include "chat/template/chat_template.h"
#include "chat/text/tools.h"

namespace cairn {

// Returns GBNF rules with a rule "root". `format` are those of the text, with a rule "root" too;
// `choice` is not kRequired. Any thread.
//
// Never fails, because the model need not call any of the tools: where the schema of a tool cannot
// be enforced, its arguments are free, and where no grammar of the calls can be written, everything
// is allowed behind the text that a call begins with. Without callable tools, or where the model's
// syntax of calls is unknown, the result is `format`.
std::string GrammarOfCallsOrText(const ChatTemplate& chat_template, const Tools& offered,
                                 const ToolChoice& choice, const std::string& format);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_CALL_OR_TEXT_GRAMMAR_H_
