// Arguments of a call one by one, for families that do not write them as one JSON object: pieces of
// api/call_grammar.cc.

#ifndef CAIRN_API_CALL_VALUES_H_
#define CAIRN_API_CALL_VALUES_H_

#include <string>
#include <string_view>
#include <vector>

#include "api/api_error.h"
#include "api/json.h"

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

// Rules for a value as Qwen's XML has it, with its closing tag and the line break behind: text as
// it is, all else as JSON. The first is `prefix` + "bare". They name those of BareTextRules().
ApiResult<std::string> RulesOfBareValue(const CallMember& member);
std::string BareTextRules();

// Rules for any text up to the first `end`, and that: the first is `name`.
// REQUIRES: only the first byte of `end` begins it again.
std::string GbnfUntil(const std::string& name, std::string_view end);

}  // namespace cairn

#endif  // CAIRN_API_CALL_VALUES_H_
