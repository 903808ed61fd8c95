// Calls of tools as a grammar, in a syntax that was learned from a template: a piece of
// api/grammar/call_grammar.cc.

#ifndef CAIRN_API_GRAMMAR_CALL_GRAMMAR_LEARNED_H_
#define CAIRN_API_GRAMMAR_CALL_GRAMMAR_LEARNED_H_

#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/json.h"
#include "chat/learn/learned_calls.h"

namespace cairn {

// A tool that may be called, and where its rules are.
struct CallableTool {
  std::string name;
  Json schema;         // of an object
  std::string place;   // in errors
  std::string prefix;  // of its rules
};

// Rules of which the first is "root": a call of one of the tools, or up to `calls_max` of them.
// Threads: any. Errors, all 400: a tool's schema has a keyword that cannot be enforced in this
// syntax, or a name cannot be written in it.
ApiResult<std::string> GrammarOfLearnedCalls(const LearnedCalls& syntax,
                                             const std::vector<CallableTool>& tools,
                                             size_t calls_max);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_CALL_GRAMMAR_LEARNED_H_
