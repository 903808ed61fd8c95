// Grammars for the arguments of a call one by one, for families that do not write them as one JSON
// object: parts of api/grammar/call_grammar.cc.

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
  Json schema;  // complete: it contains the definitions that it refers to
  bool required = false;
  std::string place;   // its name in errors
  std::string prefix;  // prefix of its rules
};

// Returns the properties of an object's schema in order. Another keyword that restricts the object
// is an error that names it.
ApiResult<std::vector<CallMember>> MembersOf(const Json& schema, const std::string& place,
                                             const std::string& prefix);

struct GbnfMember {
  std::string text;  // in GBNF
  bool required = false;
};

// Returns a sequence of members with `separator` between them; members that are not required are
// optional. Adds rules whose names begin with `prefix`.
std::string GbnfMembers(const std::vector<GbnfMember>& members, const std::string& separator,
                        const std::string& prefix, std::string* rules);

// Returns rules for a member's value with its opening and closing text, in a syntax of name-value
// pairs: strings verbatim, all else as JSON or in the syntax's own notation. The first rule is
// `prefix` + "bare". They use those of BareTextRules().
ApiResult<std::string> RulesOfBareValue(const CallMember& member, const LearnedCalls& syntax);
std::string BareTextRules(const LearnedCalls& syntax);

// Returns rules for any text up to and including the first `end`; the first rule is `name`. Nullopt
// if the first character of `end` occurs in it again, because the rules cannot express that.
std::string GbnfUntil(const std::string& name, std::string_view end);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_CALL_VALUES_H_
