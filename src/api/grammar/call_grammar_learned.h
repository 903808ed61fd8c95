// Grammars for forced tool calls in a syntax that was learned from a template: a part of
// api/grammar/call_grammar.cc.

#ifndef CAIRN_API_GRAMMAR_CALL_GRAMMAR_LEARNED_H_
#define CAIRN_API_GRAMMAR_CALL_GRAMMAR_LEARNED_H_

#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/grammar/json_schema.h"
#include "api/json.h"
#include "chat/syntax/learned_calls.h"

namespace cairn {

// A tool that may be called.
struct CallableTool {
  std::string name;
  Json schema;         // of its arguments, an object
  RulesTarget target;  // of its rules
};

// Returns GBNF rules, the first of which is "root": one to `calls_max` calls of the tools. Any
// thread. Errors, all 400: no object fits a tool's schema, or a name cannot be written in this
// syntax.
ApiResult<std::string> GrammarOfLearnedCalls(const LearnedCalls& syntax,
                                             const std::vector<CallableTool>& tools,
                                             size_t calls_max);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_CALL_GRAMMAR_LEARNED_H_
