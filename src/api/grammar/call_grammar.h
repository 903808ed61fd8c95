// Grammars for forced tool calls: in the call syntax of the model's family
// (chat/parse/answer_parser.h), with arguments that match the tool's schema.
//
//   Hermes  root ::= "<tool_call>\n{\"name\": \"a\", \"arguments\": " t0-root "}\n</tool_call>"
//
// The family's parser parses everything that such a grammar allows as a call of one of the tools.

#ifndef CAIRN_API_GRAMMAR_CALL_GRAMMAR_H_
#define CAIRN_API_GRAMMAR_CALL_GRAMMAR_H_

#include <string>

#include "api/api_error.h"
#include "api/grammar/json_schema.h"
#include "api/grammar/tool_choice.h"
#include "chat/template/chat_template.h"

namespace cairn {

// Maximum number of forced calls in one answer, so that a model cannot repeat calls forever.
inline constexpr size_t kForcedCallsMax = 16;

// Returns GBNF rules, the first of which is "root", and adds the places of keywords that they do
// not enforce to `loosened`, which may be null. Any thread. Errors, all 400: there is no such tool;
// its parameters are no schema, or no object fits them; the model's call syntax is unknown.
ApiResult<std::string> GrammarOfCalls(const ChatTemplate& chat_template, const Tools& offered,
                                      const ToolChoice& choice, Loosened* loosened = nullptr);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_CALL_GRAMMAR_H_
