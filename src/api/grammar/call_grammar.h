// Calls of tools as a grammar, for answers that must be one: in the words in which a family of
// models writes calls (chat/parse/answer_parser.h), with arguments that fit the tool's schema.
//
//   Hermes  root ::= "<tool_call>\n{\"name\": \"weather\", \"arguments\": " t0-root
//   "}\n</tool_call>"
//
// Whatever such a grammar allows, the family's parser reads as a call of one of the tools.

#ifndef CAIRN_API_GRAMMAR_CALL_GRAMMAR_H_
#define CAIRN_API_GRAMMAR_CALL_GRAMMAR_H_

#include <string>
#include <string_view>

#include "api/api_error.h"
#include "api/grammar/tool_choice.h"
#include "api/openai/chat_request.h"
#include "chat/template/chat_template.h"

namespace cairn {

// One answer holds at most so many forced calls: a model that would go on for ever is stopped.
inline constexpr size_t kForcedCallsMax = 16;

// Rules of which the first is "root". Threads: any.
// Errors, all 400: there is no such tool; a tool's schema has a keyword that cannot be enforced;
// how the model writes calls is not known.
ApiResult<std::string> GrammarOfCalls(const ChatTemplate& chat_template, const Tools& offered,
                                      const ToolChoice& choice);

// Makes a request's tool_choice hold: sets its grammar when a call is forced. Returns the tools of
// which calls are looked for in the answer.
ApiResult<Tools> ApplyToolChoice(const ChatTemplate& chat_template, ChatRequest* request);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_CALL_GRAMMAR_H_
