// A JSON schema as a grammar: the answers it allows, in GBNF (engine/grammar/grammar.h).
//
//   {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
//     ->  root ::= "{" ws "\"age\"" ":" sp integer "}" …
//
// What a grammar cannot say is refused, never passed over: an answer that was made to fit a schema
// fits all of it; save that oneOf is read as anyOf, and that where a schema leaves properties open
// without saying so, only those it names are written. Properties come in the order in which the
// schema names them.

#ifndef CAIRN_API_GRAMMAR_JSON_SCHEMA_H_
#define CAIRN_API_GRAMMAR_JSON_SCHEMA_H_

#include <string>

#include "api/json.h"

namespace cairn {

// Rules of which the first is "root". Threads: any.
// An error is a 400 whose field is the place of the keyword: `field` "response_format.schema",
// then "response_format.schema.properties.age.multipleOf".
ApiResult<std::string> GrammarOfSchema(const Json& schema, const std::string& field);

// The same, to stand beside the rules of other schemas: all names begin with `prefix`, of letters,
// digits and '-'; the first is `prefix` + "root". Those of JsonRules() are named but not in it.
ApiResult<std::string> RulesOfSchema(const Json& schema, const std::string& field,
                                     const std::string& prefix);

// Any JSON object: what response_format "json_object" asks for.
std::string GrammarOfAnyObject();

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_JSON_SCHEMA_H_
