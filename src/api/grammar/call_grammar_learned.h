// Grammars for forced tool calls in a syntax that was learned from a template: a part of
// api/grammar/call_grammar.cc.

#ifndef CAIRN_API_GRAMMAR_CALL_GRAMMAR_LEARNED_H_
#define CAIRN_API_GRAMMAR_CALL_GRAMMAR_LEARNED_H_

#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/json.h"
#include "chat/learn/learned_calls.h"

namespace cairn {

// A tool that may be called, and the names of its rules.
struct CallableTool {
  std::string name;
  Json schema;         // of an object
  std::string place;   // its name in errors
  std::string prefix;  // prefix of its rules
};

// Returns GBNF rules, the first of which is "root": one to `calls_max` calls of the tools. Any
// thread. Errors, all 400: a tool's schema has a keyword that cannot be enforced in this syntax, or
// a name cannot be written in it.
ApiResult<std::string> GrammarOfLearnedCalls(const LearnedCalls& syntax,
                                             const std::vector<CallableTool>& tools,
                                             size_t calls_max);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_CALL_GRAMMAR_LEARNED_H_
