// Arguments of a call one by one, for families that do not write them as one JSON object: pieces of
// api/grammar/call_grammar.cc.

#ifndef CAIRN_API_GRAMMAR_CALL_VALUES_H_
#define CAIRN_API_GRAMMAR_CALL_VALUES_H_

#include <string>
#include <string_view>
#include <vector>

#include "api/api_error.h"
#include "api/json.h"
#include "chat/learn/learned_calls.h"

namespace cairn {

struct CallMember {
  std::string name;
  Json schema;  // can be read alone: it holds what its references name
  bool required = false;
  std::string place;   // in errors
  std::string prefix;  // of its rules
};

// The properties of an object's schema, in its order. A keyword that narrows the object otherwise
// is an error that names it.
ApiResult<std::vector<CallMember>> MembersOf(const Json& schema, const std::string& place,
                                             const std::string& prefix);

struct GbnfMember {
  std::string text;  // in GBNF
  bool required = false;
};

// Members one after the other, of which those that are not required may be left out, with
// `separator` between two. Adds rules whose names begin with `prefix`.
std::string GbnfMembers(const std::vector<GbnfMember>& members, const std::string& separator,
                        const std::string& prefix, std::string* rules);

// Rules for a member's value with what opens and closes it, as a syntax that writes pairs has them:
// strings as they are, all else as JSON or in the syntax's own notation. The first is `prefix` +
// "bare". They name those of BareTextRules().
ApiResult<std::string> RulesOfBareValue(const CallMember& member, const LearnedCalls& syntax);
std::string BareTextRules(const LearnedCalls& syntax);

// Rules for any text up to the first `end`, and that: the first is `name`. Nothing: the first
// character of `end` stands in it again, so that this cannot be told.
std::string GbnfUntil(const std::string& name, std::string_view end);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_CALL_VALUES_H_
